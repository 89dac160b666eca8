// Each await that a service ends, in each situation: on_compute, readable and writable, stopped before, cancelled
// meanwhile, refused, dropped, closed, without memory, its frame gone, and two of these at once. await_matrix_test.cpp
// has the awaits that wait in lists.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/on_compute.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace service_matrix_test {
namespace {

using apiary::awaited;
using apiary::coroutine_place;
using apiary::job;
using apiary::plain_coroutine;
using apiary::real_sync;

// How an await ended, and what ends the program.
enum class answer { none, done, cancelled, closed, threw, no_memory, death };
void PrintTo(answer a, std::ostream* out) {
    static constexpr const char* names[] = {"none", "done", "cancelled", "closed", "threw", "no_memory", "death"};
    *out << names[static_cast<std::size_t>(a)];
}
using enum answer;

struct subject {
    apiary::resume_later home;
    answer how = none;
    int times = 0;
    void is(answer a) { how = a, ++times; }

    virtual ~subject() = default;
    virtual plain_coroutine<> waits(coroutine_place<>) = 0;
    virtual void happens(char what) = 0;
    virtual bool nothing_left() const = 0;
};

// P what was posted runs   T the callable throws   E what was posted is dropped, and nothing is taken in any more   M
// no memory
struct computes final : subject {
    struct scheduler {
        std::function<void()> posted;
        bool over = false, no_memory = false;
        template <class C>
        bool post_compute(C c) {
            auto kept = std::make_shared<C>(std::move(c));
            if (no_memory) throw std::bad_alloc();
            if (over) return false;
            posted = [kept] { (*kept)(); };
            return true;
        }
    };
    scheduler s;
    bool throws = false;
    int ran = 0;
    plain_coroutine<> waits(coroutine_place<>) override {
        try {
            const auto seven = co_await apiary::on_compute(s, [this] {
                ++ran;
                if (throws) throw std::runtime_error("the callable");
                return std::make_unique<int>(7);
            });
            EXPECT_EQ(*seven, 7);
            is(done);
        } catch (const apiary::wait_cancelled&) {
            is(cancelled);
        } catch (const std::bad_alloc&) {
            is(no_memory);
        } catch (const std::runtime_error&) {
            is(threw);
        }
    }
    void happens(char what) override {
        if (what == 'P') std::exchange(s.posted, nullptr)();
        if (what == 'T') throws = true;
        if (what == 'E') s.over = true, s.posted = nullptr;
        if (what == 'M') s.no_memory = true;
    }
    bool nothing_left() const override { return ran == (how == done || how == threw ? 1 : 0) || how == none; }
};

// r the service runs what it has   P the descriptor is ready   L it was closed   E the service ends   M no memory for a
// message W neither, and the job is dropped   N the descriptor cannot be watched   F no memory to watch it
struct watcher {
    using sync = real_sync;
    struct timed {};
    std::int64_t now_ns() const { return 0; }
    void at(std::int64_t, timed&, job<>& what) {
        if (dropped) (void)what.drop();
        if (no_memory) throw std::bad_alloc();
        if (over)
            (void)what.drop();
        else
            pending.push_back(&what);
    }
    void cancel(timed&) {}
    void there(timed& t, job<>& what) { at(0, t, what); }
    apiary::watch_result watch(apiary::event_source& s, apiary::interest i) {
        if (no_memory_to_watch) throw std::bad_alloc();
        if (refuses) return apiary::watch_result::watched_before;
        asked = i;
        watched = &s;
        return apiary::watch_result::watched;
    }
    bool unwatch(apiary::event_source& s) {
        EXPECT_EQ(watched, &s);
        EXPECT_FALSE(over) << "what is dropped is dropped on any thread, and the driver is the service's alone";
        watched = nullptr;
        return true;
    }
    void run_all() {
        while (!pending.empty()) {
            job<>* const first = pending.front();
            pending.erase(pending.begin());
            (void)(over ? first->drop() : first->run());
        }
    }
    void is_gone(apiary::gone why) {
        if (watched != nullptr) std::exchange(watched, nullptr)->on_gone(why);
    }
    bool over = false, no_memory = false, dropped = false, refuses = false, no_memory_to_watch = false;
    apiary::interest asked;
    apiary::event_source* watched = nullptr;
    std::vector<job<>*> pending;
};
template <bool Reads>
struct waits_for_descriptor final : subject {
    watcher w;
    plain_coroutine<> waits(coroutine_place<>) override {
        try {
            const awaited end = co_await make();
            is(end == awaited::done ? done : end == awaited::closed ? closed : cancelled);
        } catch (const std::bad_alloc&) {
            is(no_memory);
        }
    }
    auto make() {
        if constexpr (Reads)
            return apiary::readable(w, 0);
        else
            return apiary::writable(w, 0);
    }
    void happens(char what) override {
        if (what == 'r') w.run_all();
        if (what == 'P' && w.watched != nullptr) {
            EXPECT_EQ(w.asked.read, Reads);
            EXPECT_EQ(w.asked.write, !Reads);
            w.watched->on_ready({.readable = Reads, .writable = !Reads});
        }
        if (what == 'L') w.is_gone(apiary::gone::descriptor_closed);
        if (what == 'E') w.over = true, w.run_all(), w.is_gone(apiary::gone::worker_ended);
        if (what == 'M') w.no_memory = true;
        if (what == 'W') w.no_memory = w.dropped = true;
        if (what == 'N') w.refuses = true;
        if (what == 'F') w.no_memory_to_watch = true;
    }
    bool nothing_left() const override { return w.watched == nullptr && w.pending.empty(); }
};

// Beside the letters of the subject: B begins to wait   S stop   R what was let go on runs   D it is dropped   X its
// frame goes after it: how it has ended, and whether it was suspended.
struct situation {
    const char* name;
    const char* script;
    answer end;
    bool suspended;
};
const situation of_computations[] = {
    {"computed_later", "BPR", done, true},
    {"it_throws", "TBPR", threw, true},
    {"stopped_before", "SBPR", cancelled, true},
    {"stopped_before_its_turn", "BSPR", cancelled, true},
    {"computed_and_stopped_before_it_goes_on", "BPSR", done, true},
    {"it_throws_and_was_stopped_behind_that", "TBPSR", threw, true},
    {"stopped_and_dropped", "BSER", cancelled, true},
    {"dropped", "BER", cancelled, true},
    {"dropped_and_stopped", "BESR", cancelled, true},
    {"stopped_before_and_dropped", "SBER", cancelled, true},
    {"computed_and_the_scheduler_ends", "BPER", done, true},
    {"refused", "EB", cancelled, false},
    {"stopped_before_and_refused", "SEB", cancelled, false},
    {"no_memory", "MB", no_memory, false},
    {"stopped_before_and_no_memory", "SMB", no_memory, false},
    {"computed_and_dropped_by_its_home", "BPD", none, true},
    {"thrown_and_dropped_by_its_home", "TBPD", none, true},
    {"cancelled_and_dropped_by_its_home", "BSPD", none, true},
    {"dropped_twice", "BED", none, true},
    {"gone_while_it_waits", "BX", death, true},
    {"gone_while_it_waits_behind_a_stop", "BSX", death, true},
};
const situation of_descriptors[] = {
    {"ready_later", "BrPR", done, true},
    {"stopped_before", "SBrR", cancelled, true},
    {"stopped_before_it_is_watched", "BSrR", cancelled, true},
    {"cancelled", "BrSrR", cancelled, true},
    {"ready_and_stopped_before_it_goes_on", "BrPSR", done, true},
    {"stopped_and_ready_before_the_message", "BrSPrR", cancelled, true},
    {"stopped_and_closed_before_the_message", "BrSLrR", cancelled, true},
    {"stopped_and_the_service_ends", "BrSER", cancelled, true},
    {"stopped_before_it_is_watched_and_the_service_ends", "BSER", cancelled, true},
    {"closed_meanwhile", "BrLR", closed, true},
    {"closed_and_stopped_before_it_goes_on", "BrLSR", closed, true},
    {"the_service_ends", "BrER", cancelled, true},
    {"the_service_ends_and_stopped", "BrESR", cancelled, true},
    {"the_service_ends_before_it_is_watched", "BER", cancelled, true},
    {"the_service_over", "EB", cancelled, false},
    {"stopped_before_and_the_service_over", "SEB", cancelled, false},
    {"cannot_be_watched", "NBrR", closed, true},
    {"cannot_be_watched_and_stopped_before_the_look", "NBSrR", cancelled, true},
    {"cannot_be_watched_and_stopped_before_it_goes_on", "NBrSR", closed, true},
    {"no_memory_to_watch", "FBrR", closed, true},
    {"no_memory_to_watch_and_stopped_before", "FSBrR", cancelled, true},
    {"no_memory", "MB", no_memory, false},
    {"stopped_before_and_no_memory", "SMB", no_memory, false},
    {"no_memory_and_the_job_was_dropped", "WB", no_memory, false},
    {"ready_and_dropped_by_its_home", "BrPD", none, true},
    {"cancelled_and_dropped_by_its_home", "BrSrD", none, true},
    {"gone_while_it_waits", "BrX", death, true},
    {"gone_before_it_is_watched", "BX", death, true},
    {"gone_behind_a_stop", "BrSX", death, true},
    {"no_memory_for_a_cancel", "BrMS", death, true},
};

struct await {
    const char* name;
    std::unique_ptr<subject> (*make)();
};
struct cell {
    await of;
    const situation* in;
};
void PrintTo(const cell& c, std::ostream* out) { *out << c.in->script; }
template <class S>
std::unique_ptr<subject> make() {
    return std::make_unique<S>();
}
std::vector<cell> cells() {
    std::vector<cell> all;
    for (const situation& s : of_computations) all.push_back({{"on_compute", make<computes>}, &s});
    for (const situation& s : of_descriptors) {
        all.push_back({{"readable", make<waits_for_descriptor<true>>}, &s});
        all.push_back({{"writable", make<waits_for_descriptor<false>>}, &s});
    }
    return all;
}

// Named before the subject: a frame that waits at the end leaves the hooks.
struct played {
    apiary::stop_hooks<> stop;
    bool suspended = false;
    std::coroutine_handle<> frame;
    std::unique_ptr<subject> of;

    void play(const cell& c) {
        of = c.of.make();
        for (const char what : std::string_view(c.in->script)) happens(what);
    }
    void happens(char what) {
        switch (what) {
            case 'B':
                frame = of->waits({of->home, &stop}).frame;
                suspended = of->times == 0;
                return;
            case 'S':
                return (void)stop.ask();
            case 'R':
                return (void)of->home.run_all();
            case 'D':
                while (!of->home.waiting.empty()) (void)of->home.next()->drop();
                return;
            case 'X':
                return frame.destroy();
            default:
                return of->happens(what);
        }
    }
};

struct service_matrix : testing::TestWithParam<cell> {};

TEST_P(service_matrix, gives_the_one_answer_that_is_allowed_and_leaves_nothing) {
    const situation& in = *GetParam().in;
    if (in.end == death) {
        const bool throws = std::string_view(in.script).find('M') != std::string_view::npos;
        EXPECT_DEATH(played().play(GetParam()), throws ? "bad_alloc" : "a frame was destroyed while it waits");
        return;
    }
    played p;
    p.play(GetParam());
    EXPECT_EQ(p.of->how, in.end);
    EXPECT_EQ(p.of->times, in.end == none ? 0 : 1);
    EXPECT_EQ(p.suspended, in.suspended);
    EXPECT_TRUE(p.of->home.waiting.empty());
    EXPECT_TRUE(p.of->nothing_left());
    (void)p.stop.ask();
    EXPECT_TRUE(p.of->home.waiting.empty()) << "a stop has found one that had gone on";
    EXPECT_TRUE(p.of->nothing_left());
}

INSTANTIATE_TEST_SUITE_P(each, service_matrix, testing::ValuesIn(cells()), [](const testing::TestParamInfo<cell>& c) {
    return std::string(c.param.of.name) + "_" + c.param.in->name;
});

// A service whose jobs the test ends.
struct keeps_jobs {
    using sync = real_sync;
    struct timed {};
    std::int64_t now_ns() const { return 0; }
    void at(std::int64_t, timed&, job<>& what) { jobs.push_back(&what); }
    void cancel(timed&) noexcept {
        if (drops) ended = jobs.back()->drop();
    }
    void there(timed& t, job<>& what) { at(0, t, what); }
    apiary::watch_result watch(apiary::event_source&, apiary::interest) { return apiary::watch_result::watched; }
    bool unwatch(apiary::event_source&) { return true; }
    std::vector<job<>*> jobs;
    bool drops = false;  // a cancelled timer's job
    apiary::job_end ended{};
};

// A job that answers `cancelled` is in no worker's count of what it has run.
TEST(service_jobs, answer_that_they_have_run_or_were_dropped) {
    using apiary::job_end;
    struct coroutines {
        static plain_coroutine<> sleeps(coroutine_place<>, keeps_jobs& s, awaited& how) {
            how = co_await apiary::sleep_until(s, 10);
        }
        static plain_coroutine<> waits(coroutine_place<>, keeps_jobs& s, apiary::async_event<>& e, awaited& how) {
            how = co_await e.wait_until(s, 10);
        }
        static plain_coroutine<> reads(coroutine_place<>, keeps_jobs& s, awaited& how) {
            how = co_await apiary::readable(s, 0);
        }
    };
    apiary::resume_here<> home;
    keeps_jobs s;
    awaited how = awaited::closed;
    coroutines::sleeps({home}, s, how);
    EXPECT_EQ(s.jobs.back()->run(), job_end::run);
    EXPECT_EQ(how, awaited::done);
    const auto sleeper = coroutines::sleeps({home}, s, how);
    s.drops = true;
    sleeper.frame.destroy();
    EXPECT_EQ(s.ended, job_end::drop);
    s.drops = false;
    apiary::async_event<> event;
    coroutines::waits({home}, s, event, how);
    EXPECT_EQ(s.jobs.back()->run(), job_end::run);
    EXPECT_EQ(how, awaited::timed_out);
    apiary::stop_hooks<> stop;
    coroutines::reads({home, &stop}, s, how);
    EXPECT_EQ(s.jobs.back()->run(), job_end::run) << "it is watched";
    EXPECT_TRUE(stop.ask());
    EXPECT_EQ(s.jobs.back()->run(), job_end::run) << "and is no more";
    EXPECT_EQ(how, awaited::cancelled);
}

TEST(service_jobs, a_deadline_that_was_no_arm_is_withdrawn_at_once) {
    keeps_jobs s;
    apiary::timed_arm<keeps_jobs> arm(s, 10);
    EXPECT_TRUE(arm.withdraw());
    EXPECT_TRUE(s.jobs.empty());
}

}  // namespace
}  // namespace service_matrix_test
