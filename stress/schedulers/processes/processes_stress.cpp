// Processes under stress: they spawn, send, call, complete, kill and end each other, while threads outside send to pids
// of all ages and stop everything at a moment that the seed chooses. No accepted message is lost without a report, and
// no process gets a message that was sent to another.
#include <apiary/schedulers/processes/processes.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::event;
using apiary::event_type;
using apiary::payload;
using apiary::pid;
using apiary::send_answer;
using scheduler = apiary::basic_processes<chaos_sync>;
using process = apiary::basic_process<chaos_sync>;

constexpr std::uint32_t echo = 1, lost = 2;

// Pids that some process knows, of all ages: a pid read here may have died long ago.
struct board {
    std::array<std::atomic<std::uint64_t>, 64> slots{};
    void pin(pid id) { slots[id.value % slots.size()].store(id.value, std::memory_order_relaxed); }
    pid any(std::uint32_t n) const { return {slots[n % slots.size()].load(std::memory_order_relaxed)}; }
};

struct books {
    std::atomic<std::uint64_t> accepted = 0, received = 0, buried = 0, spawned = 0, closed = 0, refused_spawns = 0;
};

struct letter {
    pid to;
    std::unique_ptr<int> weight = std::make_unique<int>(1);  // of the heap: a leak is seen
};

class member : public process {
public:
    member(apiary::stress::run& r, board& b, books& k, std::uint64_t seed, unsigned depth)
        : r_(r), board_(b), books_(k), random_(seed), depth_(depth) {}

    apiary::init_answer init(context& c, std::string_view method, payload) override {
        self_ = c.self;
        if (const std::uint32_t what = random_.below(6); what < 3)
            c.mailbox = {.most = 1 + random_.below(4), .then = static_cast<apiary::when_full>(what)};
        if (method == "fails") {
            send(c.scheduler.send(self_, letter{self_}));
            return apiary::init_answer::failed;
        }
        board_.pin(self_);
        return apiary::init_answer::ready;
    }
    void step(events& batch, output& out) override {
        r_.progress();
        ++plain_;  // a race detector watches it
        while (event* e = batch.next()) {
            if (e->type == event_type::cancel) ends_ = true;
            if (e->type == event_type::ended) {
                const auto at = std::find(watched_.begin(), watched_.end(), e->from());
                if (at == watched_.end()) r_.fail("told of the end of a process twice, or of one that was not watched");
                watched_.erase(at);
            }
            if (e->type == event_type::completed && (calls_ == 0 || calls_-- == 0)) r_.fail("a completion of nothing");
            if (e->is_mail()) {
                ++books_.received;
                const letter* const l = e->data.get<letter>();
                if (l == nullptr || l->to != self_) r_.fail("a message reached another process than it was sent to");
            }
            if (e->type == event_type::request && random_.below(4) != 0) (void)out.answer(e->reply(), 1);
        }
        act(out);
    }
    void close() noexcept override {
        ++books_.closed;
        if (closed_) r_.fail("closed twice");
        closed_ = true;
    }

private:
    void send(send_answer a) { books_.accepted += a == send_answer::accepted ? 1U : 0U; }
    void act(output& out) {
        const std::uint32_t what = random_.below(16);
        for (std::uint32_t n = random_.below(4); n != 0; --n) {
            const pid to = board_.any(random_.below(1000));
            send(out.send(to, letter{to}));
        }
        if (what < 3 && depth_ != 0) {
            auto child = std::make_unique<member>(r_, board_, books_, random_.below(UINT32_MAX), depth_ - 1);
            if (const auto made = out.spawn(std::move(child), what == 0 ? "fails" : "")) {
                ++books_.spawned;
                send(out.send(made.id, letter{made.id}));
            } else if (made.error != apiary::spawn_error::failed) {
                ++books_.refused_spawns;
            }
        }
        if (what == 3) {
            const pid to = board_.any(random_.below(1000));
            const std::uint32_t then = random_.below(4);
            if (then == 0) (void)out.link(to);
            if (then == 1) (void)out.unlink(to);
            if (then == 2) (void)out.scheduler().look(to, 1);
            if (then == 3) {
                const apiary::send_answer a = out.request(to, static_cast<std::uint32_t>(tag_++), letter{to});
                send(a);
                calls_ += a == send_answer::accepted ? 1U : 0U;
            }
        }
        if (what == 4) (void)out.scheduler().kill(board_.any(random_.below(1000)));
        if (what == 5) (void)out.scheduler().cancel(board_.any(random_.below(1000)));
        // With a tag that probably no process uses, or that a process will get later.
        if (what == 6) (void)out.scheduler().complete_yield(board_.any(random_.below(1000)), random_.below(8), 1);
        if (what == 7) throw 7;
        if (what == 8) {
            const pid which = board_.any(random_.below(1000));
            if (which && out.watch(which) == send_answer::accepted) watched_.push_back(which);
        }
        if (what >= 12) out.call(what == 15 ? lost : echo, tag_++), ++calls_;
        if (what == 11) out.sleep(random_.below(200'000), tag_++), ++calls_;
        if (++steps_ > 40 || ends_) return out.finish();
        if (calls_ != 0 && random_.below(2) == 0) return out.block();
        if (random_.below(2) == 0) out.again();
    }

    apiary::stress::run& r_;
    board& board_;
    books& books_;
    chaos_sync::random_source random_;
    const unsigned depth_;
    pid self_;
    std::uint64_t tag_ = 100, plain_ = 0;
    unsigned calls_ = 0, steps_ = 0;
    std::vector<pid> watched_;
    bool ends_ = false, closed_ = false;
};

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    board b;
    books k;
    std::atomic<std::uint64_t> listened = 0;
    const unsigned workers = 1 + random.below(r.opts.threads);
    scheduler all({.workers = workers,
                   .wakes_into_pool = random.below(4) == 0,
                   .stop_ns = 2'000'000,
                   .force_ns = 60'000'000'000,
                   .handlers = {{echo, [](auto& s, auto&& c) { (void)s.complete_yield(c.from, c.tag, 1); }},
                                {lost, [](auto&, auto&&) {}}},
                   .on_dead_letter = [&](pid to, apiary::dead_letter, event& e) {
                       const letter* const l = e.data.get<letter>();
                       if (l == nullptr || l->to != to) r.fail("a dead letter of another process");
                       ++listened;
                   }});
    r.describe = [&] {
        const auto c = all.counters();
        return std::to_string(workers) + " workers: " + std::to_string(c.living) + " live of " +
               std::to_string(c.spawned) + ", " + std::to_string(k.accepted) + " accepted, " +
               std::to_string(k.received) + " received, " + std::to_string(c.dead_letters) + " dead letters, " +
               std::to_string(c.parked) + " parked";
    };
    std::vector<std::thread> others;
    for (unsigned t = 0; t != 2; ++t)
        others.emplace_back([&, t] {
            chaos::enter(t);
            chaos_sync::random_source mine(r.seed + 17 * t + 1);
            for (unsigned n = 0; n != 300; ++n) {
                r.progress();
                if (n % 8 == 0) {
                    auto one = std::make_unique<member>(r, b, k, mine.below(UINT32_MAX), 3);
                    if (all.spawn(std::move(one))) ++k.spawned;
                }
                const pid to = b.any(mine.below(1000));
                k.accepted += all.send(to, letter{to}) == send_answer::accepted ? 1U : 0U;
                if (n % 16 == 0) (void)all.complete_yield(to, mine.below(8), 1);
                if (n % 32 == 0) (void)all.kill(to);
                if (n % 32 == 16) (void)all.look(to, 1'000'000);
            }
        });
    // Within a limit: a thread may wait for the mailbox of a process that waits for a message that never comes.
    if (random.below(2) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random.below(20)));
    all.request_stop();
    for (std::thread& t : others) t.join();
    const auto report = all.stop();
    if (!report.over) r.fail("a scheduler whose steps return did not come to its end");
    const auto c = all.counters();
    if (c.living != 0) r.fail("something lives after the end");
    if (k.closed != k.spawned) r.fail("spawned " + std::to_string(k.spawned) + ", closed " + std::to_string(k.closed));
    if (c.dead_letters != listened) r.fail("a dead letter was counted and not told, or told twice");
    if (k.accepted != k.received + c.dead_letters)
        r.fail(std::to_string(k.accepted) + " accepted, but " + std::to_string(k.received) + " received and " +
               std::to_string(c.dead_letters) + " buried");
    if (report.ended + report.forced.size() > k.spawned) r.fail("more ended than were spawned");
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "processes that come and go", body); }
