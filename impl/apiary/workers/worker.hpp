// worker: one worker of a crew: it finds ready work, runs it, shares it, steals, and sleeps if there is none.
//
// When to use it. Through a crew, which makes its workers of one kind. A kind's own parts, such as an inbox and timers,
// come in as its `sources`; events come in by the driver. The loop knows no kinds.
//
// One turn of run():
//   1  the driver's events, and the messages of others to this worker (sources.collect)
//   2  the sources' own tasks (sources.run_some)
//   3  own tasks, then a batch of the crew's pool, in turns (fairness)
//   4  a theft
// After a turn that found nothing come a second look, further ones where the user pays for them, a nap, or a sleep
// after a last look at every source (idle_policy, idle_spin, sleeper). Where another worker searches, the theft and
// that look may be left to it.
//
// concepts.hpp lists the calls of the sources (worker_sources).
//
// Threads.  run, post_local, help_until and the sources' calls: the thread that runs this worker. wake, claim,
//           counters: any. id: as its sources say. enter_service, ask_to_leave: the worker table, with the owner's
//           mutex held. drop_all: any, when no worker of the crew runs any more.
// Progress. A turn runs a bounded number of tasks (parameters.hpp); wake and counters never block.
//
// Invariants
//   I1  Only a stop drops tasks: when run() returns, every task that this worker held was run, handed over, or dropped
//       by a stop.
//   I2  A worker that blocks has announced its sleep, and has then looked at every source from which it may take
//       (sleeper); or at what is for it alone, and another worker searches (idle_set I6).
//   I3  After each push into its ready work it looks at the idle word, and is at rest (push_mark) only after that. A
//       post that a stop has refused puts its slot's task back without a look.
//
// Checked by model_check/schedulers/hive; tested by the hive's tests and crew_test.cpp. Stressed by
// stress/schedulers/hive. Not modelled: the yield and the second look, the timed yields, the processor of the waker,
// and that a thief insists while it watches the clock or spins.
// Decisions: impl/DECISIONS.md D5, D6, D8, D9, D31, D55, D71, D258, D259, D260, D261.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <apiary/parking/push_mark.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/workers/concepts.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/fairness.hpp>
#include <apiary/workers/helping.hpp>
#include <apiary/workers/idle_policy.hpp>
#include <apiary/workers/idle_spin.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/task_runner.hpp>

namespace apiary {

template <class Crew>
class worker : public any_worker, private Crew::template sources<worker<Crew>> {
public:
    using sync = typename Crew::sync;
    using driver_type = typename Crew::driver;
    using parts = typename Crew::parts;
    using trace = typename parts::trace;
    using task_type = typename Crew::task_type;
    using sources_type = typename Crew::template sources<worker>;
    friend sources_type;
    friend no_sources<Crew, worker>;  // the base of those that have little else
    friend helping<worker>;
    using ready_type = typename Crew::ready;
    static constexpr std::size_t max_batch = worker_parameters::max_batch;

    worker(Crew& c, unsigned index)
        : crew_(c),
          owner_(c.owner()),
          index_(index),
          sleeper_(c.sleepers().within(index), c.sleepers().join(index), driver_),
          random_(index + 1),
          driver_(make_driver(c.owner())) {
        static_assert(worker_sources<sources_type>);
        leaving_.store(false, std::memory_order_relaxed);
        has_thief_.store(false, std::memory_order_relaxed);
        if constexpr (!sync::checked) waker_processor_.store(unknown_processor, std::memory_order_relaxed);
    }
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Returns when the crew is stopped or this worker is detached. Then every task that this worker held was run,
    // dropped or handed over. If there is no memory for the worker's own books, the program ends.
    void run() noexcept {
        while (!owner_.stopping() && !leaving()) {
            if (turn())
                idle_.worked();
            else if (!spin_.spins() && idle_.look_again(runner_.tasks_run(), others_sleep(), displaced_waker()))
                yield();
            else if (crew_.parameters().idle_cpu == 0 || !looks_on())
                sleep();
        }
        end_spin();
        if (owner_.stopping() || !hand_over()) finish();
        push_mark_.rest();
        crew_.left(*this);
    }

    void enter_service(unsigned id) {
        sources().enter(id);
        leaving_.store(false, std::memory_order_relaxed);
        sources().open();
    }
    void ask_to_leave() {
        sources().leave();                                // a post to it is refused from now on
        leaving_.store(true, std::memory_order_relaxed);  // the wake publishes it
        driver_.wake();
    }
    bool leaving() const { return leaving_.load(std::memory_order_relaxed); }

    // Called from a task on this worker, of a kind that has ready work. False: the crew has been stopped, and the task
    // is still the caller's.
    [[nodiscard]] bool post_local(task_type* t) {
        if (owner_.stopping()) return false;
        push_mark_.before_push();
        if (!ready_.slot_is_vacant()) return post_in_front(t);
        const bool lone = ready_.in_deque() == 0;
        ready_.put(t);  // it runs next here, unless the task that posts it is long
        crew_.wake_one(lone);
        return true;
    }

    // Called from a task on this worker: runs other jobs until the latch, which names this worker, is open, as long as
    // `may_help()` is true. helping.hpp has the rest.
    template <class MayHelp>
    void help_until(latch<worker>& l, MayHelp may_help) {
        helping<worker>::until(*this, l, may_help);
    }

    unsigned index() const { return index_; }
    unsigned id() const { return sources().id(); }
    // The id in service, for the worker's own thread, also while it leaves.
    unsigned incarnation() const { return sources().incarnation(); }
    typename Crew::owner_type& owner() { return owner_; }
    const typename Crew::owner_type& owner() const { return owner_; }
    Crew& crew() { return crew_; }
    const Crew& crew() const { return crew_; }
    driver_type& driver() { return driver_; }
    ready_type& ready() { return ready_; }
    sources_type& sources() { return *this; }
    const sources_type& sources() const { return *this; }
    // Called by the thread that has claimed this worker, or that opens the latch at which it waits.
    void wake() {
        if constexpr (!sync::checked) waker_processor_.store(parts::processor(), std::memory_order_relaxed);
        driver_.wake();
    }
    // Any thread. True: it slept, and the caller must wake it.
    [[nodiscard]] bool claim() { return sleeper_.claim(); }
    // Called by a task on it. True if its next own task is the oldest, as it is while tasks are long (fairness.hpp);
    // false if it is the newest.
    bool takes_its_oldest() const { return fairness_.oldest_first(); }
    const task_runner<sync>& books() const { return runner_; }
    worker_tallies<sync>& tallies() { return tallies_; }
    worker_counters counters() const {
        return {.kind = Crew::counted_as,
                .slot = index_,
                .run = runner_.tasks_run(),
                .exceptions = runner_.exceptions(),
                .discarded = runner_.tasks_dropped(),
                .cancelled = runner_.tasks_cancelled(),
                .parked = tallies_.parked.get(),
                .woken = tallies_.woken.get(),
                .spurious = tallies_.spurious.get(),
                .stolen = tallies_.stolen.get(),
                .batches = tallies_.batches.get(),
                .overflows = tallies_.overflows.get(),
                .timers_fired = tallies_.timers_fired.get(),
                .timer_lateness_ns = tallies_.timer_lateness_ns.get(),
                .timer_lateness_max_ns = tallies_.timer_lateness_max_ns.get(),
                .timers_pending = sources().pending()};
    }
    const trace& events() const { return trace_; }  // after the crew has ended

    // When no worker of the crew runs any more: drops the tasks that this one never ran, and those posted to it after
    // its end.
    void drop_all() {
        sources().drop_all();
        while (task_type* t = next_own()) drop(t);
    }

    // The parts of run(), for checks of one handshake: a crew that also ends has too many executions to check.
    bool turn_once() { return turn(); }  // false: it ran nothing
    void sleep_once() { sleep(); }
    bool look_on_once() { return looks_on(); }

    // For the sources. `left_more`: the caller has taken the task from among others, or has just made others visible.
    // Then, or if posts have relied on this worker's search, it wakes the next worker before the task runs, since the
    // task may take long.
    [[gnu::always_inline]] void run_task(task_type* t, bool left_more = false) {
        if (left_more || sleeper_.owes_a_look()) [[unlikely]]
            wake_the_next(left_more);
        std::int64_t from = 0;
        if constexpr (trace::on) from = owner_.now_ns();
        runner_.run(t, this);
        if constexpr (trace::on) trace_.span(trace::kind::task, from, owner_.now_ns());
    }
    void drop(task_type* t) { runner_.drop(t, this); }

private:
    // False if it ran nothing. If there is work of a kind, it runs at least one task of that kind and no more than the
    // parameters allow: this bounds how long the others wait (schedulers/hive/README.md, "How long a task waits"). A
    // theft may be left to another worker that searches.
    bool turn() {
        driver_.poll();
        sources().collect();
        bool worked = sources().run_some();
        worked |= run_own_and_pool();
        return worked || (!others_look() && steal());
    }

    // A hint: the theft is left to those that search. Not after a look that has seen work.
    bool others_look() const {
        if (!ready_type::shared || insists_ || sleeper_.searching()) return false;
        const idle_word seen = crew_.sleepers().of(index_).snapshot();
        return may_leave_it_to(seen.searching(), seen);
    }
    // Where threads share processors, a searcher may have none.
    bool may_leave_it_to(unsigned searchers, idle_word seen) const {
        if (!ready_type::shared || searchers == 0) return false;
        const unsigned all = crew_.table().size();
        return all <= processors_ && idle_.leaves_it_to(searchers, seen, crew_.sleepers().beside(index_, all));
    }

    // The newest task takes the former one's place. Out of line: a call in post_local would make that save registers
    // for it.
    [[gnu::noinline]] bool post_in_front(task_type* t) {
        task_type* before = ready_.take_slot();
        if (before != nullptr && !ready_.push(before, overflow())) [[unlikely]] {
            sync::reach("worker.put_back");
            ready_.put(before);
            return false;
        }
        ready_.put(t);
        crew_.wake_one();
        return true;
    }

    // For a push that finds no room.
    auto overflow() {
        return [this](fifo_list<task_type>& tasks) { return post_overflow(tasks); };
    }
    [[gnu::noinline]] bool post_overflow(fifo_list<task_type>& tasks) {
        tallies_.overflows.add();
        return crew_.post_list(tasks);
    }

    // Runs tasks that it has posted or taken for itself, and that others may steal: the newest first, until the old
    // end's turn has come, or work for this worker alone.
    bool run_own() {
        if (fairness_.tasks_are_long() && begin_long_ones()) return true;
        std::size_t most = fairness_.left();
        std::size_t left = most;
        while (!owner_.stopping()) {
            task_type* t = ready_.take_slot();
            if (t == nullptr && !ready_.pop(t)) {
                fairness_.ran_dry();
                return left != most;
            }
            run_task(t);
            if (--left == 0) {
                left = go_on_or_end_interval();
                if (left == 0) return true;
                most = left + 1;  // some have run
            }
            if (sources().urgent()) break;
        }
        fairness_.pause(left);
        return left != most;
    }

    // Times own tasks without what ran since the last of them. True: each is an interval, and the oldest has run.
    [[gnu::noinline]] bool begin_long_ones() {
        fairness_.begin_interval(owner_.now_ns());
        if (!fairness_.oldest_first() || !run_oldest_own()) return false;
        fairness_.end_interval(owner_.now_ns());
        return true;
    }

    // How many more own tasks may run. 0: the old end has had its turn, and another interval begins.
    [[gnu::noinline]] std::size_t go_on_or_end_interval() {
        if (!fairness_.is_over())
            if (const std::size_t more = fairness_.go_on(owner_.now_ns()); more != 0) return more;
        if (!fairness_.oldest_first()) (void)run_oldest_own();
        fairness_.end_interval(owner_.now_ns());
        return 0;
    }

    // The next own task at the worker's end, where time does not matter. Out of line, so that the loop above does not
    // change.
    [[gnu::noinline]] task_type* next_own() {
        task_type* t = ready_.take_slot();
        if (t == nullptr && !ready_.pop(t)) return nullptr;  // a thief was faster: what pop has read is the thief's
        return t;
    }

    // The deque is last in, first out: without this a task that posts its successor for ever would bury the others.
    bool run_oldest_own() {
        if (owner_.stopping() || fairness_.passes_over_the_old_end(ready_.in_deque())) return false;
        const auto oldest = ready_.steal_oldest();
        if (oldest.status != steal_status::taken) return false;
        run_task(oldest.value);
        return true;
    }

    // The pool's turn lasts for several visits as long as nothing comes for this worker alone, and there is no own
    // work, or only long tasks: beside those, or long tasks of the sources, one visit for each of their turns would be
    // too little. Beside long own tasks it lasts for probe_ns at least: a number of visits alone would let the pool
    // grow without end if more short tasks come in the time of one long one.
    bool run_own_and_pool() {
        bool worked = false, behind_own = false;
        for (std::size_t visits = crew_.parameters().pool_visits;;) {
            if (!behind_own) worked |= run_own();
            behind_own = ready_.waits();
            if (!run_from_pool()) return worked;
            worked = true;
            if ((behind_own && !fairness_.tasks_are_long()) || sources().urgent() || leaving()) return true;
            if (--visits == 0) {
                if (!behind_own || !fairness_.pool_goes_on(owner_.now_ns())) return true;
                visits = crew_.parameters().pool_visits;
            }
        }
    }

    // One task if there is own work, for which the rest of a batch would have to wait; else a batch.
    bool run_from_pool() { return !crew_.pool().looks_empty() && !owner_.stopping() && take_from_pool(); }
    bool take_from_pool() {
        std::array<task_type*, max_batch> batch;
        // Takes no more than can be made stealable; the first task runs at once.
        const std::size_t most =
            ready_.waits() ? 1 : std::min({crew_.parameters().global_batch, max_batch, ready_type::max_room});
        const std::size_t n = crew_.pool().take(std::span(batch).first(most), crew_.table().size());
        if (n == 0) return false;
        tallies_.batches.add();
        if constexpr (trace::on) trace_.instant(trace::kind::batch, owner_.now_ns(), n);
        // The producer's core wrote them last: ask for all their lines at once.
        for (std::size_t i = 0; i < n; ++i) sync::prefetch(batch[i]);
        // All but the first become stealable before that one runs, and the owner pops them in the order in which they
        // were posted.
        if (n > 1 && !push_all(std::span<task_type* const>(batch).subspan(1, n - 1)))
            for (std::size_t i = n; i-- > 1;) sources().keep(batch[i]);  // no memory: this worker runs them itself
        if (n > 1) fairness_.took_a_batch(n - 1);
        run_task(batch[0], n > 1 || !crew_.pool().looks_empty());
        return true;
    }

    [[nodiscard]] bool push_all(std::span<task_type* const> tasks) {
        push_mark_.before_push();
        return ready_.push_all(tasks);
    }

    static unsigned processors() {
        if constexpr (requires { sync::processors(); }) return sync::processors();
        return std::numeric_limits<unsigned>::max();
    }

    // `any`: also takes a task from a slot whose owner may be about to take it.
    // Thieves that meet at a victim make each other's compare-exchanges fail, and the victim's accesses wait. So a
    // thief passes over a worker at which another one is. It insists after a look before a sleep that has seen work,
    // and after each yield of a spin: a thief that has lost its processor at a victim holds up nobody.
    bool steal(bool any = false) {
        if constexpr (!ready_type::shared) return false;
        const auto& peers = crew_.table();
        const unsigned count = peers.size();
        if (count == 1) return false;
        if constexpr (ready_type::thefts_push) push_mark_.before_push();
        const bool takes_turns = !std::exchange(insists_, false) && !any && takes_turns_;
        for (unsigned round = 0; round < crew_.parameters().steal_rounds; ++round) {
            const unsigned start = random_.below(count);
            bool contended = false;
            for (unsigned i = 0; i < count; ++i) {
                const unsigned victim = (start + i) % count;
                if (victim == index_) continue;
                worker& from = *peers[victim];
                if (takes_turns && from.has_thief_.load(std::memory_order_relaxed)) {
                    sync::reach("worker.left_to_another");
                    continue;
                }
                if (takes_turns) from.has_thief_.store(true, std::memory_order_relaxed);
                const auto [status, stolen, moved] = ready_.steal_from(from.ready_, any);
                if (takes_turns) from.has_thief_.store(false, std::memory_order_relaxed);
                if (status == steal_status::taken) {
                    sync::reach("worker.stole");
                    tallies_.stolen.add(1 + moved);
                    if constexpr (trace::on) trace_.instant(trace::kind::steal, owner_.now_ns(), victim);
                    run_task(stolen, moved != 0);  // they were in no queue for a moment, so perhaps no look saw them
                    return true;
                }
                contended |= status == steal_status::lost_race;
            }
            if (!contended) return false;
        }
        return false;
    }

    // A sleep ends some 50 us late. A program that wants less pays in processor time, up to timer_spin_ns for each
    // deadline. The worker is awake meanwhile: no post wakes it, and it sees the posts here. False: there is time to
    // sleep, or no timer is set: a watch without an end would keep events waiting for ever.
    bool watch_the_clock(std::int64_t deadline, std::int64_t spin_ns) {
        if (deadline == driver_type::forever || spin_ns == 0 || deadline - owner_.now_ns() > spin_ns) return false;
        while (owner_.now_ns() < deadline && !(insists_ = work_visible())) sync::relax();
        return true;
    }

    // After a turn that found nothing: begins a spin, or goes on with it (idle_spin.hpp). False: it is time to sleep.
    // Out of line, for the sake of programs that do not spin.
    [[gnu::noinline]] bool looks_on() {
        std::int64_t now = owner_.now_ns();
        if (!spin_.spins()) {
            const std::int64_t least = spin_.wants(now, runner_.tasks_run());
            if (least == 0 || idle_.contended() || !spin_.begin(crew_.account().lend(now, least))) return false;
            sleeper_.search();
            crew_.search_goes_on(now);
            return true;
        }
        sync::relax();
        bool displaced = sync::checked;  // a checker's time stands still: one look
        if (!sync::checked && spin_.yields_now()) {
            const std::int64_t from = now;
            sync::yield();
            now = owner_.now_ns();
            displaced = now - from > crew_.parameters().long_yield_ns;
            if (displaced) idle_.yielded(now - from, runner_.tasks_run());
            insists_ = true;
        }
        spin_.idle_until(now);
        crew_.search_goes_on(now);
        if (!displaced && !spin_.over()) return true;
        end_spin();
        return false;
    }
    void end_spin() {
        if (spin_.spins()) spin_.end(crew_.account());
    }

    void sleep() {
        sleep_unless([this] { return own_work_visible(); });
    }
    // `look`: looks at what would be a reason to stay awake for this worker alone.
    template <class Look>
    void sleep_unless(Look look) {
        const std::int64_t deadline = sources().next_deadline(), spin_ns = crew_.parameters().timer_spin_ns;
        if (watch_the_clock(deadline, spin_ns)) return idle_.slept(runner_.tasks_run());
        const std::int64_t until = deadline == driver_type::forever ? deadline : deadline - spin_ns;
        tallies_.parked.add();
        if (sleeper_.claimed()) tallies_.spurious.add();
        push_mark_.rest();
        const bool naps = idle_.naps(sleeper_.claimed(), sleeper_.searching(), others_sleep());
        std::int64_t from = 0;
        if constexpr (trace::on) from = owner_.now_ns();
        if constexpr (!sync::checked) waker_processor_.store(unknown_processor, std::memory_order_relaxed);
        const auto in_sight = [&] { return insists_ = look() || shared_work_visible(); };
        if (!naps) {
            sleeper_.sleep(
                until,
                [&] {
                    if (leaves_the_look()) return look();
                    fence_against_pushers();
                    return in_sight();
                },
                [this] { return counts_as_searcher(); });
        } else {
            sleeper_.nap(std::min(until, owner_.now_ns() + crew_.parameters().nap_ns), in_sight);
        }
        idle_.slept(runner_.tasks_run());
        if (crew_.parameters().idle_cpu != 0) spin_.idle_until(owner_.now_ns());
        if (sleeper_.claimed()) tallies_.woken.add();
        if constexpr (trace::on) {
            trace_.span(trace::kind::park, from, owner_.now_ns());
            if (sleeper_.claimed()) trace_.instant(trace::kind::woken, owner_.now_ns(), index_);
        }
    }

    // After the announcement of a sleep: another worker looks for what any worker may take (idle_set I6), and has not
    // been searching for so long that posts no longer rely on it.
    bool leaves_the_look() const {
        if (!may_leave_it_to(sleeper_.others_searching(), sleeper_.before()) || crew_.search_is_overdue()) return false;
        sync::reach("worker.left_the_look");
        return true;
    }

    bool counts_as_searcher() const {
        const unsigned all = crew_.table().size();
        return ready_type::shared && all <= processors_ &&
               idle_.counts_as_searcher(sleeper_.before(), crew_.sleepers().beside(index_, all));
    }

    // For idle_policy.
    auto others_sleep() const {
        return [this] { return crew_.sleepers().asleep() + 1 >= crew_.table().size(); };
    }
    // True if the wake that ended its last sleep came from this processor: the thread that woke it now waits for this
    // processor.
    auto displaced_waker() const {
        return [this] {
            if constexpr (!sync::checked) {
                const int waker = waker_processor_.load(std::memory_order_relaxed);
                return waker != unknown_processor && waker == parts::processor();
            }
            return false;
        };
    }
    void yield() {
        if constexpr (sync::checked) return;
        if (!idle_.times_this_yield()) return sync::yield();
        const std::int64_t from = owner_.now_ns();
        sync::yield();
        idle_.yielded(owner_.now_ns() - from, runner_.tasks_run());
    }

    // Every source from which this worker may take. Timers are in the deadline of the sleep.
    bool work_visible() const { return own_work_visible() || shared_work_visible(); }
    // Of these, what only this worker can take, and what ends its run.
    bool own_work_visible() const {
        return sources().visible() || owner_.stopping() ||
               leaving();  // a poll may have taken the wake that came with the order to leave
    }

    [[gnu::noinline]] void wake_the_next(bool left_more) {
        end_spin();
        if (sleeper_.found_work()) left_more = left_more || more_to_take();
        if (left_more) crew_.wake_one();
        push_mark_.rest();  // wherever something was pushed, wake_one has looked at the word since
    }

    // After found_work: posts have relied on this worker until now.
    bool more_to_take() const {
        fence_against_pushers();
        return shared_work_visible();
    }
    void fence_against_pushers() const {
        if constexpr (ready_type::shared && requires { owner_.pass_fence(); })
            sleeper_.fence_against_pushers([this] { return crew_.table().size(); },
                                           [this] { return owner_.pass_fence(), false; });
        else if constexpr (ready_type::shared)
            sleeper_.fence_against_pushers([this] { return crew_.table().size(); },
                                           [this] { return others_may_push(); });
    }
    bool others_may_push() const {
        const auto& peers = crew_.table();
        for (unsigned i = 0; i < peers.size(); ++i)
            if (i != index_ && peers[i]->push_mark_.may_push()) return true;
        sync::reach("worker.spared_the_fence");
        return false;
    }

    // Work that any worker may take.
    bool shared_work_visible() const {
        if (sync::recheck("worker.pool") && !crew_.pool().looks_empty()) return true;
        const auto& peers = crew_.table();
        for (unsigned i = 0; sync::recheck("worker.deques") && i < peers.size(); ++i)
            if (!peers[i]->ready_.deque_looks_empty()) return true;
        for (unsigned i = 0; sync::recheck("worker.slots") && i < peers.size(); ++i)
            if (!peers[i]->ready_.slot_looks_empty()) return true;
        return false;
    }

    void end_event_sources() {
        if constexpr (requires { driver_.end_sources(); }) driver_.end_sources();
    }

    // After a detach: hands all tasks of this worker to the others, the oldest first. False: a stop has closed their
    // doors, and this worker must end the rest.
    bool hand_over() {
        end_event_sources();
        // If this worker was searching, posts have relied on it; the search is passed on below.
        const bool searched = sleeper_.found_work();
        if (!sources().hand_over_timed()) return false;
        while (task_type* t = next_own()) sources().keep(t);
        if (!sources().hand_over_kept()) return false;
        if (searched && more_to_take()) {
            sync::reach("worker.search_passed_on");
            crew_.wake_one();
        }
        return true;
    }

    // After the stop: runs or drops everything that this worker holds, and what is left in the pool.
    void finish() {
        end_event_sources();
        sources().close();
        for (;;) {
            task_type* t = sources().take();
            if (t == nullptr) t = next_own();
            if (t == nullptr) t = crew_.pool().take_one();
            if (t == nullptr) {
                // Posts are refused by now, so the others' work only shrinks.
                if (!owner_.discarding() && steal(true)) continue;
                break;
            }
            if (owner_.discarding())
                drop(t);
            else
                run_task(t);
        }
        (void)sleeper_.found_work();  // leaves the idle set as a running worker
    }

    // A driver that asks for the clock gets the owner's.
    static driver_type make_driver(typename Crew::owner_type& owner) {
        if constexpr (std::constructible_from<driver_type, typename parts::clock&>)
            return driver_type(owner.clock());
        else
            return driver_type();
    }

    // Only this worker uses the following.
    Crew& crew_;
    typename Crew::owner_type& owner_;
    const unsigned index_;
    sleeper<sync, driver_type> sleeper_;
    typename parts::random random_;
    fairness fairness_{crew_.parameters()};
    idle_policy idle_{crew_.parameters()};
    idle_spin spin_{crew_.parameters()};
    task_runner<sync> runner_{owner_.on_exception()};
    worker_tallies<sync> tallies_;
    const unsigned processors_ = processors();
    const bool takes_turns_ = crew_.parameters().thieves_take_turns && processors_ > 2;  // two thieves and their victim
    bool insists_ = false;  // its next theft passes over nobody
    [[no_unique_address]] trace trace_;

    // Other threads use the following, too.
    static constexpr int unknown_processor = -1;
    typename sync::template atomic<int> waker_processor_;  // from which the wake came that ended the last sleep; a hint
    typename sync::template atomic<bool> leaving_;
    [[no_unique_address]] std::conditional_t<Crew::marks_pushes, push_mark<sync>, always_pushes> push_mark_;
    driver_type driver_;
    ready_type ready_;
    alignas(cache_line) typename sync::template atomic<bool> has_thief_;  // a hint
};

}  // namespace apiary
