// Branches and suspensions between few workers, as they ship, without the engine around them: every branch runs once, its parent goes
// on once and behind all of them, what they did is seen there, and no frame is touched when it has gone.
#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include <apiary/coroutines/async_event.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/core.hpp>
#include <apiary/schedulers/coro_pool/when_all.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

namespace coro_frame_check {
namespace {

using namespace apiary;

// Workers that run what their context has, and look for the others' offers. What is brought back lies in one place, for whichever looks.
template <class Sync, unsigned Workers>
class bare_pool final : public co_host<Sync> {
public:
    bare_pool() {
        for (unsigned i = 0; i != Workers; ++i) contexts_[i].belongs_to(*this, i);
        brought_back_.store(nullptr, std::memory_order_relaxed);
    }
    co_context<Sync>& context(unsigned i) { return contexts_[i]; }
    void enter_thread(unsigned i) { Sync::set_current(&contexts_[i]); }
    // What is private or offered, until there is none.
    void run_own(unsigned i) {
        job<Sync>* t = nullptr;
        while (contexts_[i].pop(t)) (void)t->run();
    }
    bool steal(unsigned thief, unsigned from) {
        const auto stolen = contexts_[thief].steal_from(contexts_[from], false);
        if (stolen.status != steal_status::taken) return false;
        (void)stolen.value->run();
        run_own(thief);
        return true;
    }
    // Waits for what is brought back, and runs it.
    void run_brought_back(unsigned i) {
        Sync::spin_until(brought_back_, [](job<Sync>* j) { return j != nullptr; });
        (void)brought_back_.exchange(nullptr, std::memory_order_acquire)->run();
        run_own(i);
    }

    void resume(job<Sync>& what) noexcept override { brought_back_.store(&what, std::memory_order_release); }
    void resume_behind(job<Sync>& what) noexcept override { resume(what); }
    void wake_one() noexcept override {}
    bool enter() noexcept override { return true; }
    void enter_inside() noexcept override {}
    void leave() noexcept override {}

private:
    std::array<co_context<Sync>, Workers> contexts_;
    typename Sync::template atomic<job<Sync>*> brought_back_;
};

template <class Sync, unsigned Workers, std::size_t Branches>
struct frames : co_root<Sync> {
    static constexpr unsigned threads = Workers;
    static constexpr std::array engine_laws{"lifetime"};
    template <class T = void>
    using task = co_task<T, Sync>;

    bare_pool<Sync, Workers> pool;
    co_outcome<void, Sync> outcome;
    std::array<typename Sync::template cell<int>, Branches> written;
    // Goes with the frame of its branch, which must be before the parent goes on.
    struct parameter {
        frames* check;
        std::size_t id;
        parameter(frames* c, std::size_t i) : check(c), id(i) {}
        parameter(parameter&& other) noexcept : check(std::exchange(other.check, nullptr)), id(other.id) {}
        ~parameter() {
            if (check != nullptr) check->gone[id].write(1);
        }
    };
    std::array<typename Sync::template cell<int>, Branches> gone;
    std::array<std::atomic<unsigned>, Branches> ran{};  // std::atomic: the oracle is no part of what is checked
    std::atomic<unsigned> went_on = 0, ended = 0;

    frames()
        : co_root<Sync>(
              pool, {}, [](co_root<Sync>& r) noexcept { ++static_cast<frames&>(r).ended; },
              [](co_root<Sync>&, std::exception_ptr) noexcept {}) {
        for (auto& g : gone) g.write(0);
    }

    void branch_runs(std::size_t id) {
        ++ran[id];
        written[id].write(static_cast<int>(id) + 1);
    }
    task<int> branch_with(parameter p) {
        branch_runs(p.id);
        co_return static_cast<int>(p.id) + 1;
    }
    task<int> branch(std::size_t id) { return branch_with(parameter(this, id)); }
    void goes_on() {
        ++went_on;
        for (std::size_t i = 0; i != Branches; ++i) {
            (void)gone[i].read();  // a race, if its frame still goes
            Sync::law(written[i].read() == static_cast<int>(i) + 1, "what a branch did is not seen after the join");
        }
    }
    // On worker 0.
    void run(task<> root) {
        pool.enter_thread(0);
        auto& f = root.begin_into(outcome);
        f.root_of(*this);
        (void)static_cast<job<Sync>&>(f).run();
        pool.run_own(0);
    }
    void after() {
        for (std::size_t i = 0; i != Branches; ++i) Sync::law(ran[i] == 1, "a branch did not run once");
        Sync::law(went_on == 1 && ended == 1, "the parent did not go on once, and end once");
    }
};

template <class Sync, std::size_t Branches>
struct all_of : frames<Sync, 2, Branches> {
    using base = frames<Sync, 2, Branches>;
    typename base::template task<> parent()
        requires(Branches == 2)
    {
        const auto [x, y] = co_await when_all(this->branch(0), this->branch(1));
        Sync::law(x == 1 && y == 2, "the result of a branch got lost");
        this->goes_on();
    }
    typename base::template task<> parent()
        requires(Branches == 3)
    {
        const auto [x, y, z] = co_await when_all(this->branch(0), this->branch(1), this->branch(2));
        Sync::law(x == 1 && y == 2 && z == 3, "the result of a branch got lost");
        this->goes_on();
    }
};

template <class Sync>
struct branch_against_thief : all_of<Sync, 2> {
    static constexpr const char* what = "two branches, a thief that looks once: the last of them lets the parent go on";
    static constexpr std::array must_reach{"co_context.took_an_offer", "co_context.looked_at_its_offer",
                                           "co_context.last_of_several_chains"};
    void thread(unsigned i) {
        if (i == 0) return this->run(this->parent());
        this->pool.enter_thread(1);
        (void)this->pool.steal(1, 0);
    }
};
APIARY_CHECK(branch_against_thief);

template <class Sync>
struct three_branches_and_a_thief : all_of<Sync, 3> {
    static constexpr const char* what = "three branches, a thief that looks twice: chains of one and of two";
    static constexpr std::array must_reach{"co_context.took_an_offer", "co_context.last_of_several_chains"};
    void thread(unsigned i) {
        if (i == 0) return this->run(this->parent());
        this->pool.enter_thread(1);
        (void)this->pool.steal(1, 0);
        (void)this->pool.steal(1, 0);
    }
};
APIARY_CHECK(three_branches_and_a_thief);

// Says that it waits, and leaves the rest to the pool.
template <class Sync>
struct brought_back_elsewhere {
    using comes_home = void;
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
        h.promise().suspended_here().resume();  // the last that is done here
    }
    void await_resume() const noexcept {}
};

// The first branch is suspended: its worker takes the second from its list, another brings the first back.
template <class Sync>
struct branch_is_suspended : frames<Sync, 2, 2> {
    static constexpr const char* what =
        "a branch is suspended, and brought back by another worker, while its sibling runs";
    static constexpr std::array must_reach{"co_context.last_of_several_chains"};
    using base = frames<Sync, 2, 2>;
    typename base::template task<int> suspends() {
        co_await brought_back_elsewhere<Sync>();
        this->branch_runs(0);
        co_return 1;
    }
    typename base::template task<> parent() {
        const auto [x, y] = co_await when_all(suspends(), this->branch(1));
        Sync::law(x == 1 && y == 2, "the result of a branch got lost");
        this->goes_on();
    }
    void thread(unsigned i) {
        if (i == 0) return this->run(parent());
        this->pool.enter_thread(1);
        this->pool.run_brought_back(1);
    }
};
APIARY_CHECK(branch_is_suspended);

// The same below another group, whose branch lies deeper in the list: it is no sibling of those above it.
template <class Sync>
struct groups_lie_upon_each_other : frames<Sync, 2, 3> {
    static constexpr const char* what =
        "a group inside another; its branch is suspended, and the newest job is of the outer group";
    static constexpr std::array must_reach{"co_context.last_of_several_chains"};
    using base = frames<Sync, 2, 3>;
    typename base::template task<int> suspends() {
        co_await brought_back_elsewhere<Sync>();
        this->branch_runs(0);
        co_return 1;
    }
    typename base::template task<int> inner() {
        const auto [x, y] = co_await when_all(suspends(), this->branch(1));
        Sync::law(x == 1 && y == 2, "the result of a branch got lost");
        Sync::law(this->written[1].read() == 2, "what a branch did is not seen after the join");
        co_return x + y;
    }
    typename base::template task<> parent() {
        const auto [sum, z] = co_await when_all(inner(), this->branch(2));
        Sync::law(sum == 3 && z == 3, "the result of a branch got lost");
        this->goes_on();
    }
    typename base::template task<> nothing() { co_return; }
    typename base::template task<> forks_once() { co_await when_all(nothing(), nothing()); }
    // Answers the request that every list begins with, so that the branches stay private.
    void before() {
        this->run(forks_once());
        this->ended = 0;
    }
    void thread(unsigned i) {
        if (i == 0) return this->run(parent());
        this->pool.enter_thread(1);
        this->pool.run_brought_back(1);
    }
};
APIARY_CHECK(groups_lie_upon_each_other);

// A scope: its branch may have ended before the parent waits.
template <class Sync>
struct co_scope_against_thief : frames<Sync, 2, 1> {
    static constexpr const char* what =
        "a scope of one branch that throws: it ends before, at, or behind the parent's wait";
    static constexpr std::array must_reach{"co_context.took_an_offer", "co_context.last_of_several_chains"};
    using base = frames<Sync, 2, 1>;
    typename base::template task<> fails() {
        this->branch_runs(0);
        throw std::runtime_error("branch");
        co_return;
    }
    typename base::template task<> parent() {
        co_scope<Sync> branches(co_await this_frame());
        branches.fork(fails());
        bool threw = false;
        try {
            co_await branches.join();
        } catch (const std::runtime_error&) {
            threw = true;
        }
        Sync::law(threw, "the exception of a branch got lost");
        this->goes_on();
    }
    void thread(unsigned i) {
        if (i == 0) return this->run(parent());
        this->pool.enter_thread(1);
        (void)this->pool.steal(1, 0);
    }
};
APIARY_CHECK(co_scope_against_thief);

template <class Sync>
struct co_scope_of_two_that_throw : frames<Sync, 2, 2> {
    static constexpr const char* what =
        "both branches of a scope throw beside a thief: one exception leaves the join, the other is counted";
    static constexpr std::array must_reach{"co_context.took_an_offer", "co_context.last_of_several_chains"};
    using base = frames<Sync, 2, 2>;
    typename base::template task<> fails(std::size_t id) {
        this->branch_runs(id);
        throw std::runtime_error("branch");
        co_return;
    }
    typename base::template task<> parent() {
        co_scope<Sync> branches(co_await this_frame());
        branches.fork(fails(0));
        branches.fork(fails(1));
        bool threw = false;
        try {
            co_await branches.join();
        } catch (const std::runtime_error&) {
            threw = true;
        }
        Sync::law(threw, "the exceptions of both branches got lost");
        this->goes_on();
    }
    void thread(unsigned i) {
        if (i == 0) return this->run(parent());
        this->pool.enter_thread(1);
        (void)this->pool.steal(1, 0);
    }
    void after() {
        base::after();
        Sync::law(this->pool.context(0).lost_exceptions.get() + this->pool.context(1).lost_exceptions.get() == 1,
                  "an exception was lost uncounted, or counted and not lost");
    }
};
APIARY_CHECK(co_scope_of_two_that_throw);

// Over a checker eight branches are too many for the count of a group, as 2^30 are where it ships.
template <class Sync>
struct co_scope_outlives_its_count : frames<Sync, 2, 9> {
    static constexpr const char* what =
        "a scope forks more branches than a group can count, and the earlier ones have ended: its parent goes on once, "
        "behind all of them";
    static constexpr std::array must_reach{"co_context.took_an_offer", "co_scope.forgot"};
    using base = frames<Sync, 2, 9>;
    typename base::template task<> runs(std::size_t id) {
        (void)co_await this->branch(id);
    }
    typename base::template task<> parent() {
        co_scope<Sync> branches(co_await this_frame());
        for (std::size_t id = 0; id != 8; ++id) {
            branches.fork(runs(id));
            if (id % 2 == 1) co_await brought_back_elsewhere<Sync>();  // they run meanwhile
        }
        branches.fork(runs(8));
        co_await branches.join();
        this->goes_on();
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->run(parent());
            for (int n = 0; n != 4; ++n) this->pool.run_brought_back(0);
        } else {
            this->pool.enter_thread(1);
            (void)this->pool.steal(1, 0);
        }
    }
};
APIARY_CHECK(co_scope_outlives_its_count);

// when_any: a place for each contender, in the order in which they are started, and one for whatever is brought back.
template <class Sync>
struct contenders {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    template <class T = void>
    using task = co_task<T, Sync>;

    struct places final : co_host<Sync> {
        std::array<typename Sync::template atomic<job<Sync>*>, 4> there;
        typename Sync::template atomic<unsigned> taken{0};
        std::atomic<int> living = 0;
        void resume(job<Sync>& what) noexcept override {
            there[taken.fetch_add(1, std::memory_order_relaxed)].store(&what, std::memory_order_release);
        }
        void resume_behind(job<Sync>& what) noexcept override { resume(what); }
        void wake_one() noexcept override {}
        bool enter() noexcept override { return true; }
        void enter_inside() noexcept override { ++living; }
        void leave() noexcept override { --living; }
        void run(std::size_t i) {
            if (job<Sync>* const j = there[i].exchange(nullptr, std::memory_order_acquire)) (void)j->run();
        }
    } pool;
    std::array<co_context<Sync>, 2> contexts;
    std::optional<co_root<Sync>> root;
    co_outcome<void, Sync> outcome;
    std::atomic<unsigned> went_on = 0;

    contenders() {
        for (auto& p : pool.there) p.store(nullptr, std::memory_order_relaxed);
        for (unsigned i = 0; i != 2; ++i) contexts[i].belongs_to(pool, i);
        root.emplace(
            pool, std::stop_token(), [](co_root<Sync>&) noexcept {},
            [](co_root<Sync>&, std::exception_ptr) noexcept {});
    }
    // Worker 0 begins the parent; each runs a contender.
    void contend(unsigned i, task<> (*parent)(contenders&)) {
        Sync::set_current(&contexts[i]);
        if (i == 0) {
            auto t = parent(*this);
            auto& f = t.begin_into(outcome);
            f.root_of(*root);
            (void)static_cast<job<Sync>&>(f).run();
        }
        Sync::spin_until(pool.there[i], [](job<Sync>* j) { return j != nullptr; });
        pool.run(i);
    }
    void after() {
        Sync::law(went_on == 1, "the parent did not go on once");
        Sync::law(pool.living == 0, "a contender did not end once");
    }
};

template <class Sync>
struct first_of_two : contenders<Sync> {
    static constexpr const char* what =
        "two contenders on two workers: one lets the parent go on, once; the other may outlive it";
    static constexpr std::array must_reach{"co_race.lost"};
    using base = contenders<Sync>;
    std::array<typename Sync::template cell<int>, 2> written;

    typename base::template task<int> contends(int i) {
        written[static_cast<std::size_t>(i)].write(i + 1);
        co_return i + 1;
    }
    static typename base::template task<> parent(base& b) {
        auto& me = static_cast<first_of_two&>(b);
        const auto [which, value] = co_await when_any(me.contends(0), me.contends(1));
        Sync::law(me.written[which].read() == value && value == static_cast<int>(which) + 1,
                  "the winner's result got lost");
        ++me.went_on;
    }
    void thread(unsigned i) {
        this->contend(i, &parent);
        this->pool.run(2);
    }
};
APIARY_CHECK(first_of_two);

// The winner's end asks for it, so whatever is brought back is brought by worker 0. The other has begun by then: std::stop_source,
// which decides that, is out of the engines' sight.
template <class Sync>
struct first_ends_a_wait : contenders<Sync> {
    static constexpr const char* what =
        "a contender ends while the other begins to wait: that wait is cancelled, and the record goes after both";
    static constexpr std::array must_reach{"co_race.lost", "waiter.brought_back", "cancel.came_before"};
    using base = contenders<Sync>;
    async_event<Sync> never;
    typename Sync::template atomic<bool> begun{false};

    typename base::template task<int> wins() {
        Sync::spin_until(begun, [](bool b) { return b; });
        co_return 1;
    }
    typename base::template task<int> waits() {
        begun.store(true, std::memory_order_release);
        const awaited how = co_await never.wait();
        Sync::law(how == awaited::cancelled, "it was not cancelled");
        co_return 2;
    }
    static typename base::template task<> parent(base& b) {
        auto& me = static_cast<first_ends_a_wait&>(b);
        const auto [which, value] = co_await when_any(me.wins(), me.waits());
        Sync::law(which == 0 && value == 1, "the one that waited won");
        ++me.went_on;
    }
    void thread(unsigned i) {
        this->contend(i, &parent);
        if (i != 0) return;
        this->pool.run(2);
        this->pool.run(3);
    }
};
APIARY_CHECK(first_ends_a_wait);

// The engines do not see std::stop_callback. Its rules, which the race relies on: its end takes the call back, or waits for one
// that another thread has begun.
template <class Sync>
struct race_below_ends_as_it_is_asked {
    static constexpr const char* what =
        "a stop reaches a race below a race while that ends: it is asked later and kept until then, or has gone";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"co_race.asked_later", "race.went_before", "race.waited", "race.was_kept"};

    struct registration {
        static constexpr int waits = 0, runs = 1, over = 2, gone = 3;
        typename Sync::template atomic<int> call{waits};
        typename Sync::template atomic<bool> asked{false};
    };
    struct record : detail::co_race_below<Sync> {
        registration& at_stop;

        explicit record(registration* r) : at_stop(*r) {
            this->refs_.store(1, std::memory_order_relaxed);
            this->let_go_ = [](detail::co_race_below<Sync>& me) noexcept {
                auto& kept = static_cast<record&>(me);
                Sync::reach("race.was_kept");
                Sync::law(kept.at_stop.asked.load(std::memory_order_relaxed), "a race was kept, and not asked");
                kept.release();
            };
        }
        std::stop_source& source() { return this->stop_; }
        void ask() noexcept { this->ask_from_above(); }
        void release() {
            if (this->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
            int seen = registration::waits;
            if (at_stop.call.compare_exchange_strong(seen, registration::gone, std::memory_order_acq_rel,
                                                     std::memory_order_acquire)) {
                Sync::reach("race.went_before");
            } else if (seen == registration::runs) {
                Sync::reach("race.waited");
                Sync::spin_until(at_stop.call, [](int c) { return c == registration::over; });
            }
            Sync::destroy(this);
        }
    };
    struct calls {
        registration& at_stop;
        record* r;
        void operator()() const noexcept {
            int seen = registration::waits;
            if (!at_stop.call.compare_exchange_strong(seen, registration::runs, std::memory_order_acq_rel,
                                                      std::memory_order_acquire))
                return;
            r->ask();
            at_stop.call.store(registration::over, std::memory_order_release);
        }
    };
    struct notes {
        registration& at_stop;
        void operator()() const noexcept { at_stop.asked.store(true, std::memory_order_relaxed); }
    };

    registration at_above, at_below;
    record above{&at_above};
    record* below = Sync::template create<record>(&at_below);
    std::stop_callback<calls> from_above{above.source().get_token(), calls{at_below, below}};
    std::stop_callback<notes> from_below{below->source().get_token(), notes{at_below}};

    void thread(unsigned i) {
        if (i == 1) return below->release();
        above.ask();
        const bool went_before = at_below.call.load(std::memory_order_relaxed) == registration::gone;
        const bool asked = at_below.asked.load(std::memory_order_relaxed);
        Sync::law(!(went_before && asked), "a race was asked that had gone");
    }
    void after() {
        Sync::law(at_below.call.load(std::memory_order_relaxed) >= registration::over, "a call did not end");
    }
};
APIARY_CHECK(race_below_ends_as_it_is_asked);

}  // namespace
}  // namespace coro_frame_check
