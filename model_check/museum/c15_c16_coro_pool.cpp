// C15 and C16 on the shipped coroutine pool: when_any's record that goes with the parent, and a guest by the wrong door.
//
// From: this project's own when_any (C15) and resume_on (C16).
// Seen by: both engines, plain interleaving.
// Fixed twins: the calls as when_any.hpp and frame.hpp make them.
#include <array>
#include <coroutine>
#include <exception>
#include <optional>
#include <stop_token>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include "../workers/handshake.hpp"

namespace c15_c16_coro_pool {
namespace {

using namespace apiary;
using namespace apiary::model;

// C15. The first has ended, and the parent goes on. It lets go of the record for itself alone, or for the loser as well, whose result
// nobody wants.
template <class Sync, bool ForTheLoser>
struct loser_beside_its_parent {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    using race_type = detail::co_race<int, Sync, 2>;

    // A place for each contender, in the order in which they are started, and one for the parent.
    struct places final : co_host<Sync> {
        std::array<typename Sync::template atomic<job<Sync>*>, 3> there;
        typename Sync::template atomic<unsigned> taken{0};
        places() {
            for (auto& p : there) p.store(nullptr, std::memory_order_relaxed);
        }
        void resume(job<Sync>& what) noexcept override {
            there[taken.fetch_add(1, std::memory_order_relaxed)].store(&what, std::memory_order_release);
        }
        void resume_behind(job<Sync>& what) noexcept override { resume(what); }
        void wake_one() noexcept override {}
        bool enter() noexcept override { return true; }
        void enter_inside() noexcept override {}
        void leave() noexcept override {}
        void run(std::size_t i) {
            if (job<Sync>* const j = there[i].exchange(nullptr, std::memory_order_acquire)) (void)j->run();
        }
    };
    // when_any of two, but for how it ends.
    class first_of_two {
    public:
        using comes_home = void;
        first_of_two(co_task<int, Sync> a, co_task<int, Sync> b) : tasks_{std::move(a), std::move(b)} {}
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) {
            co_host<Sync>& host = *co_context<Sync>::here()->host();
            race_type* const race = race_type::make(host, h.promise().suspended_here(), h.promise().root());
            race_ = race;
            std::array<co_frame<Sync>*, 2> frames;
            for (std::size_t i = 0; i != 2; ++i) {
                auto& f = tasks_[i].begin_into(race->of(i).outcome);
                f.root_of(race->of(i));
                frames[i] = &f;
            }
            for (co_frame<Sync>* f : frames) host.bring(*f);
            race->release();
        }
        int await_resume() {
            const int value = race_->of(race_->winner()).outcome.take();
            race_->release();
            if constexpr (ForTheLoser) race_->release();
            return value;
        }

    private:
        std::array<co_task<int, Sync>, 2> tasks_;
        race_type* race_ = nullptr;
    };

    places pool;
    std::array<co_context<Sync>, 2> contexts;
    std::optional<co_root<Sync>> root;
    co_outcome<void, Sync> outcome;

    loser_beside_its_parent() {
        for (unsigned i = 0; i != 2; ++i) contexts[i].belongs_to(pool, i);
        root.emplace(
            pool, std::stop_token(), [](co_root<Sync>&) noexcept {},
            [](co_root<Sync>&, std::exception_ptr) noexcept {});
    }
    static co_task<int, Sync> contends(int value) { co_return value; }
    static co_task<void, Sync> parent() {
        const int value = co_await first_of_two(contends(1), contends(2));
        Sync::law(value == 1 || value == 2, "the winner's result got lost");
    }
    void thread(unsigned i) {
        Sync::set_current(&contexts[i]);
        if (i == 0) {
            auto t = parent();
            auto& f = t.begin_into(outcome);
            f.root_of(*root);
            (void)static_cast<job<Sync>&>(f).run();
        }
        Sync::spin_until(pool.there[i], [](job<Sync>* j) { return j != nullptr; });
        pool.run(i);
        pool.run(2);
    }
};
template <class Sync>
struct c15_record_goes_with_the_parent : loser_beside_its_parent<Sync, true> {
    static constexpr const char* what = "the parent lets go of the record for the loser, too, which still runs";
};
APIARY_EXHIBIT(c15_record_goes_with_the_parent, "access to freed memory");
template <class Sync>
struct c15_record_fixed : loser_beside_its_parent<Sync, false> {
    static constexpr const char* what = "twin of C15: the record goes when the last of all has let go of it";
    static constexpr const char* exhibit = "c15_record_goes_with_the_parent";
};
APIARY_CHECK(c15_record_fixed);

// C16. A coroutine goes to another pool and back. That pool is stopped meanwhile.
template <class Sync, bool ByTheOuterDoor>
struct guest_beside_a_stop {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    using core = co_core<Sync, crew_parts<Sync>>;

    struct goes_there {
        using comes_home = void;
        core& there;
        bool await_ready() const noexcept { return false; }
        template <class P>
        bool await_suspend(std::coroutine_handle<P> h) noexcept {
            if constexpr (ByTheOuterDoor) {
                if (!there.enter()) return false;
            } else {
                there.enter_inside();
            }
            there.bring(h.promise());
            return true;
        }
        void await_resume() const noexcept {}
    };
    struct comes_back {
        using comes_home = void;
        core& home;
        bool await_ready() const noexcept { return co_context<Sync>::here()->host() == &home; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) noexcept {
            co_host<Sync>& there = *co_context<Sync>::here()->host();
            home.bring(h.promise());
            there.leave();
        }
        void await_resume() const noexcept {}
    };
    std::optional<core> pool, other;
    guest_beside_a_stop() {
        pool.emplace(1U, handshake_parameters);
        other.emplace(1U, handshake_parameters);
    }
    co_task<void, Sync> visits() {
        co_await goes_there{*other};
        co_await comes_back{*pool};
    }
    void before() {
        (void)pool->spawn(visits());
        pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) return pool->run_worker(0);
        other->request_stop(co_stop::drain);
        other->run_worker(0);
    }
    void after() { Sync::law(pool->report().run == 1, "the coroutine did not end"); }
};
template <class Sync>
struct c16_guest_by_the_inner_door : guest_beside_a_stop<Sync, false> {
    static constexpr const char* what =
        "a coroutine of another pool does not ask whether this one is stopped: its workers have gone";
};
APIARY_EXHIBIT(c16_guest_by_the_inner_door, "a coroutine that lives was refused");
template <class Sync>
struct c16_guest_fixed : guest_beside_a_stop<Sync, true> {
    static constexpr const char* what = "twin of C16: a guest comes by the outer door, which refuses after a stop";
    static constexpr const char* exhibit = "c16_guest_by_the_inner_door";
};
APIARY_CHECK(c16_guest_fixed);

}  // namespace
}  // namespace c15_c16_coro_pool
