// B50 and B53 on the shipped scheduler of processes; b50_to_b54_policies.cpp has them on the hive.
//
// B50: a process that is woken by another lies in its worker's slot, which is looked at before all else; two that
//      write to each other starve those that are older, in the worker's queue and in the pool.
// B53: a process that is woken lies with the worker whose step woke it, and that step goes on until it has run.
//
// Seen by: both engines. B50 needs one thread.
// Fixed twins: the shipped scheduler; in B50's wrong form its turn of the old end and of the pool never comes. B53's wrong form is
// the hive's inbox; that of processes is their engine without the wake in post_local, with which b53_process_fixed deadlocks.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "../schedulers/processes/processes_scenario.hpp"

namespace b50_b53_processes {
namespace {

using namespace apiary;
using namespace apiary::model;

// Players 0 and 1 send each other a ball, until the third process has begun, which is older than each of their later turns.
template <class Sync, std::size_t Interval, bool InPool>
struct two_that_play {
    static constexpr unsigned threads = 1;
    static constexpr unsigned bound = 16;  // turns that may come before the third process has begun
    using core_type = process_core<Sync>;
    using worker_type = typename core_type::worker_type;
    using base = basic_process<Sync>;

    struct player : base {
        player(two_that_play& g, unsigned n) : game(g), number(n) {}
        init_answer init(typename base::context&, std::string_view, payload) override { return init_answer::ready; }
        void step(typename base::events& batch, typename base::output& out) override {
            while (batch.next() != nullptr) {
            }
            game.turn(number, out);
        }
        two_that_play& game;
        const unsigned number;
    };

    std::unique_ptr<core_type> core;
    std::array<pid, 2> players;
    unsigned turns = 0;
    bool third_is_there = false, third_began = false;

    pid spawn(unsigned number) {
        const spawn_answer made = core->spawn(std::make_unique<player>(*this, number));
        Sync::law(bool(made), "a player was refused");
        return made.id;
    }
    void spawn_third() {
        worker_type* const here = Sync::template current<worker_type>();
        if (InPool) Sync::set_current(static_cast<worker_type*>(nullptr));  // as by a thread outside
        (void)spawn(2);
        third_is_there = true;
        core->close_the_door();
        Sync::set_current(here);
    }
    void turn(unsigned number, typename base::output& out) {
        if (number == 2) third_began = true;
        if (third_began) out.finish();
        if (number == 2) return;
        Sync::law(third_began || ++turns != bound,
                  "starved: two processes play on, and one that is older never begins");
        if (turns == 4 && !third_is_there) spawn_third();
        (void)out.send(players[1 - number], 0);
    }
    void before() {
        basic_process_config<Sync> c;
        c.parameters = handshake_parameters;
        c.parameters.global_probe_interval = Interval;
        core = std::make_unique<core_type>(1, c);
        players = {spawn(0), spawn(1)};
    }
    void thread(unsigned) {
        worker_type* const w = core->crew().table()[0];
        Sync::set_current(w);
        w->run();
        Sync::set_current(static_cast<worker_type*>(nullptr));
    }
    void after() { Sync::law(core->over() && third_is_there, "the worker left before the end"); }
};
template <class Sync>
struct b50_slot_starves_a_process : two_that_play<Sync, SIZE_MAX, false> {
    static constexpr const char* what = "the process woken last first, always: one in the worker's queue starves";
};
APIARY_EXHIBIT(b50_slot_starves_a_process, "starved");
template <class Sync>
struct b50_slot_starves_the_pool : two_that_play<Sync, SIZE_MAX, true> {
    static constexpr const char* what = "the process woken last first, always: one in the pool starves";
};
APIARY_EXHIBIT(b50_slot_starves_the_pool, "starved");
template <class Sync>
struct b50_process_fixed : two_that_play<Sync, 3, false> {
    static constexpr const char* what = "twin of B50: the oldest of the worker's queue has its turn";
    static constexpr const char* exhibit = "b50_slot_starves_a_process";
};
APIARY_CHECK(b50_process_fixed);
template <class Sync>
struct b50_pool_fixed : two_that_play<Sync, 3, true> {
    static constexpr const char* what = "twin of B50: the pool has its turn";
    static constexpr const char* exhibit = "b50_slot_starves_the_pool";
};
APIARY_CHECK(b50_pool_fixed);

template <class Sync>
struct b53_process_fixed : processes_scenario<Sync, 2, 0> {
    static constexpr std::array must_reach{"worker.stole"};
    static constexpr const char* what = "twin of B53: a process woken by a long step is stolen from that worker";
    static constexpr const char* exhibit = "b53_trapped_in_an_inbox";
    typename Sync::template atomic<unsigned> gate{0};
    void before() {
        this->make();
        const pid other = this->spawn(1, {}, [this](event&, auto& out) {
            gate.store(1, std::memory_order_release);
            out.finish();
        });
        this->turn();  // it waits
        (void)this->spawn(0, [this, other](event&, auto& out) {
            Sync::law(out.send(other, 1) == send_answer::accepted, "a living process was not found");
            Sync::spin_until(gate, [](unsigned v) { return v == 1; });
            out.finish();
        });
        this->core->close_the_door();
    }
    void thread(unsigned i) { this->work(i); }
    void after() { this->end(); }
};
APIARY_CHECK(b53_process_fixed);

}  // namespace
}  // namespace b50_b53_processes
