// io_worker: one IO worker of a hive: private queue, stealable slot and deque, timers, inbox, and the beat in
// which it looks at them.
//
// Threads. run, post_local, post_self: the thread that runs this worker. mail, core().wake, timers_pending,
//          the counts: any. The other workers of the hive steal from the slot and the deque. enter_service,
//          ask_to_leave: the roster.
//
// The beat (seed 002 section 2.3), one turn of run():
//   1  events of the core                     5  a batch from the global pool
//   2  inbox -> private queue and timers      6  steal
//   3  timers that are due                    7  sleep, after a last look at every source
//   4  private queue, then deque
//
// Where this departs from the seed's listing, and why: DECISIONS.md D5 to D9 and D31.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

#include <apiary/parking/sleeper.hpp>
#include <apiary/queues/lifo_slot.hpp>
#include <apiary/schedulers/hive/counters.hpp>
#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/schedulers/hive/idle_policy.hpp>
#include <apiary/schedulers/hive/parts.hpp>
#include <apiary/schedulers/hive/task_runner.hpp>
#include <apiary/tasks/task.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

template <class Sync, class Core, class Storage, class Parts = hive_parts<Sync>>
class hive_core;

template <class Sync, class Core, class Storage, class Parts>
class io_worker {
public:
    using task_type = task<Sync>;
    using hive = hive_core<Sync, Core, Storage, Parts>;
    using deque_type = typename Parts::template deque<task_type>;
    using inbox_type = typename Parts::template inbox<task_type>;
    using trace = typename Parts::trace;
    static constexpr unsigned no_worker = UINT_MAX;
    static constexpr std::size_t max_batch = 64;  // the largest hive_parameters::global_batch
    static constexpr std::size_t max_room = deque_type::limits::max_capacity + 1;

    // Where others post to this worker. One for each of its lives, closed at the end of that life and kept until
    // the end of all: a post that comes late finds it closed, and never the next life's.
    struct mailbox {
        mailbox(unsigned worker_id, mailbox* before) : id(worker_id), older(before) {}
        const typename Sync::template cell<unsigned> id;  // the checked policies see who reads it unpublished
        mailbox* const older;
        inbox_type inbox;
    };

    io_worker(hive& h, unsigned slot)
        : hive_(h),
          slot_(slot),
          sleeper_(slot, h.idle_io(), core_),
          random_(slot + 1),
          core_(make_core(h)),
          own_(deque_.own()) {
        (void)gone_.inbox.close();
        mail_.store(&gone_, std::memory_order_relaxed);
        leaving_.store(false, std::memory_order_relaxed);
        if constexpr (!Sync::checked) waker_processor_.store(unknown_processor, std::memory_order_relaxed);
    }

    // Until the hive is stopped or this worker is detached. At the end every task this worker held was run,
    // dropped or handed over. A worker that gets no memory for its own books ends the program.
    void run() noexcept {
        while (!hive_.stopping() && !leaving_.load(std::memory_order_relaxed)) {
            if (turn())
                idle_.worked();
            else if (idle_.look_again(runner_.tasks_run(), others_sleep(), displaced_waker()))
                yield();
            else
                sleep();
        }
        if (hive_.stopping() || !hand_over()) finish();
        hive_.left(*this);
    }

    // What was posted to a worker that never ran.
    ~io_worker() {
        if (own_mail_ != nullptr) collect_inbox();
        while (task_type* t = private_.pop_front()) runner_.drop(t);
        while (task_type* t = lone_.pop_front()) runner_.drop(t);
        while (task_type* t = timers_.pop()) runner_.drop(t);
        while (own_mail_ != nullptr) Sync::destroy(std::exchange(own_mail_, own_mail_->older));
    }

    void enter_service(unsigned id) {
        own_mail_ = Sync::template create<mailbox>(id, own_mail_);
        leaving_.store(false, std::memory_order_relaxed);
        mail_.store(own_mail_, std::memory_order_release);  // -> mail()
    }
    void ask_to_leave() {
        mail_.store(&gone_, std::memory_order_relaxed);   // who detached it is refused from now on
        leaving_.store(true, std::memory_order_relaxed);  // the wake publishes it
        core_.wake();
    }
    io_worker(const io_worker&) = delete;
    io_worker& operator=(const io_worker&) = delete;

    // From a task on this worker. False: the hive has been stopped, and the task is still the caller's.
    [[nodiscard]] bool post_local(task_type* t) {
        if (hive_.stopping()) return false;
        if (alone()) {  // nobody to steal it, and nobody to wake: no fence
            lone_.push_back(t);
            return true;
        }
        if (!next_.vacant()) return post_in_front(t);
        const bool lone = own_.size() == 0;
        next_.put(t);  // it runs next here, unless the task that posts it is long
        hive_.wake_one_io(lone);
        return true;
    }

    // From a task on this worker, to this worker's private queue: behind what others have posted there before. False:
    // the hive has been stopped or this worker is detached, and the task is still the caller's.
    [[nodiscard]] bool post_self(task_type* t) {
        if (hive_.stopping() || leaving_.load(std::memory_order_relaxed)) return false;
        if (!inbox().looks_empty()) collect_inbox();
        private_.push_back(t);
        return true;
    }

    // From a task on this worker; never early.
    [[nodiscard]] bool post_local_delayed(task_type* t) {
        if (hive_.stopping()) return false;
        keep_timer(t);
        return true;
    }

    // Of another id when this worker is not in service.
    mailbox& mail() { return *mail_.load(std::memory_order_acquire); }
    unsigned slot() const { return slot_; }
    unsigned id() const { return mail_.load(std::memory_order_acquire)->id.read(); }
    unsigned life() const { return own_mail_->id.read(); }  // the same, from its own thread, also while it leaves
    Core& core() { return core_; }
    // By the thread that has claimed it.
    void wake() {
        if constexpr (!Sync::checked) waker_processor_.store(Parts::processor(), std::memory_order_relaxed);
        core_.wake();
    }
    hive& owner() { return hive_; }
    std::size_t timers_pending() const { return timers_.size(); }
    const task_runner<Sync, Storage>& books() const { return runner_; }
    worker_counters counters() const {
        return {.kind = worker_kind::io,
                .slot = slot_,
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
                .timers_pending = timers_.size()};
    }
    const trace& events() const { return trace_; }  // when the hive has ended

    // What run() is made of, for checks of one handshake: a hive that also ends has too many behaviours.
    bool turn_once() { return turn(); }  // false: there was nothing to do
    void sleep_once() { sleep(); }

private:
    // One beat. False when there was nothing to do. Whatever there is of a kind, at least one of it runs, and no more than
    // the parameters allow: this bounds how long the others wait (README.md, "How long a task waits").
    bool turn() {
        core_.poll();
        collect_inbox();
        bool worked = run_due_timers();
        worked |= run_private();
        worked |= run_own_and_pool();
        return worked || steal();
    }

    // The newest task takes the place of the one before. Out of line: a call in post_local would make it save registers for it.
    [[gnu::noinline]] bool post_in_front(task_type* t) {
        task_type* before = next_.take();
        if (before != nullptr && !own_.try_push(before) && !post_overflow(before)) [[unlikely]] {
            Sync::reach("hive.put_back");
            next_.put(before);
            return false;
        }
        next_.put(t);
        hive_.wake_one_io();
        return true;
    }

    [[gnu::noinline]] bool post_overflow(task_type* t) {
        tallies_.overflows.add();
        return hive_.post(t);
    }

    void collect_inbox() noexcept { sort_in(inbox().drain()); }

    void sort_in(fifo_list<task_type> arrived) {
        while (task_type* t = arrived.pop_front()) {
            if (t->deadline_ns == 0)
                private_.push_back(t);
            else
                keep_timer(t);
        }
    }

    // Those that were cancelled stay in the heap, and are swept out when it has grown to twice what the last sweep left: a constant
    // for each timer, and no more cancelled ones than twice the live ones and first_sweep.
    void keep_timer(task_type* t) {
        if (timers_.held() >= sweep_at_) {
            Sync::reach("hive.swept_timers");
            timers_.remove_if(
                [](const task_type& held) {
                    const auto* entry = held.template target<delayed_entry<Sync>>();
                    return entry != nullptr && entry->looks_cancelled();
                },
                [this](task_type* gone) { runner_.drop(gone); });
            sweep_at_ = std::max(first_sweep, 2 * timers_.held());
        }
        timers_.add(t);
    }

    // Those that are due now; what they start is due later.
    bool run_due_timers() {
        if (timers_.empty()) return false;
        const std::int64_t now = hive_.now_ns();
        std::size_t left = hive_.parameters().local_budget;
        for (; left > 0; --left) {
            task_type* t = timers_.pop_due(now);
            if (t == nullptr) break;
            tallies_.fired(now - t->deadline_ns);
            run_task(t);
            if (hive_.stopping()) return true;
        }
        return left != hive_.parameters().local_budget;
    }

    // What nobody else may run, as far as it was there at the start of the turn.
    bool run_private() {
        const std::size_t there = std::min(private_.size(), hive_.parameters().local_budget);
        for (std::size_t left = there; left > 0 && !hive_.stopping(); --left) {
            run_task(private_.pop_front());
            if (timer_due()) break;
        }
        return there > 0;
    }

    // What it has posted or taken for itself, and others may steal: the newest first, until the old end's turn has
    // come, or something for this worker alone.
    bool run_own() {
        if (own_tasks_are_long() && own_interval_ == 1 && run_oldest_own()) {  // like a queue
            end_interval();
            return true;
        }
        const std::size_t most = own_to_probe_;
        std::size_t left = most;
        while (!hive_.stopping()) {
            task_type* t = lone_.pop_front();
            if (t == nullptr) t = next_.take();
            if (t == nullptr && !own_.try_pop(t)) {
                begin_interval(hive_.parameters().global_probe_interval, unknown);  // nothing has been left to wait
                return left != most;
            }
            run_task(t);
            if (--left == 0) {
                if (!own_tasks_are_long() || own_interval_ > 1) (void)run_oldest_own();
                end_interval();
                return true;
            }
            if (!inbox().looks_empty() || timer_due()) break;
        }
        own_to_probe_ = left;
        return left != most;
    }

    // Asks the clock only when there is something to ask for.
    bool timer_due() const { return !timers_.empty() && timers_.next_deadline() <= hive_.now_ns(); }

    // An interval is counted in tasks, and shortened while that many take longer than probe_ns. The clock is asked once for each.
    void end_interval() {
        const auto& p = hive_.parameters();
        const std::int64_t now = hive_.now_ns();
        std::size_t tasks = own_interval_;
        if (interval_began_ns_ != unknown) {
            const auto took = static_cast<double>(std::max<std::int64_t>(now - interval_began_ns_, 1));
            const double fit = static_cast<double>(own_interval_) * static_cast<double>(p.probe_ns) / took;
            tasks = fit < static_cast<double>(p.global_probe_interval)
                        ? std::max<std::size_t>(static_cast<std::size_t>(fit), 1)
                        : p.global_probe_interval;
        }
        begin_interval(tasks, now);
    }
    void begin_interval(std::size_t tasks, std::int64_t now_ns) {
        own_interval_ = own_to_probe_ = tasks;
        interval_began_ns_ = now_ns;
    }
    bool own_tasks_are_long() const { return own_interval_ < hive_.parameters().global_probe_interval; }

    // The deque is last in, first out: without this a task that posts its successor for ever would bury
    // the others. The owner's thread may steal like any other. Seldom when the deque is long: each time begins another
    // branch of a tree of tasks, and the deque would grow by them.
    bool run_oldest_own() {
        const auto& p = hive_.parameters();
        if (hive_.stopping()) return false;
        if (own_.size() > p.short_deque && ++old_end_passed_ % p.long_deque_probes != 0) return false;
        const auto oldest = deque_.share().steal();
        if (oldest.status != steal_status::taken) return false;
        run_task(oldest.value);
        return true;
    }

    // The pool's turn lasts for several visits while nothing comes for this worker alone, and there is no own work, or only long
    // tasks: beside those, or long ones of the private queue, one visit for each of their turns would be little.
    bool run_own_and_pool() {
        bool worked = false, behind_own = false;
        for (std::size_t visits = hive_.parameters().pool_visits;;) {
            if (!behind_own) worked |= run_own();
            behind_own = own_waits();
            if (!run_from_pool()) return worked;
            worked = true;
            if ((behind_own && !own_tasks_are_long()) || --visits == 0 || !inbox().looks_empty() || timer_due() ||
                leaving_.load(std::memory_order_relaxed))
                return true;
        }
    }

    bool own_waits() const { return !next_.looks_empty() || own_.size() != 0 || !lone_.empty(); }

    // One task while there is own work, which it would otherwise wait behind; else a batch.
    bool run_from_pool() {
        if (hive_.pool().looks_empty() || hive_.stopping()) return false;
        std::array<task_type*, max_batch> batch;
        // No more than can be made stealable; the first one runs at once.
        const std::size_t most = own_waits() ? 1 : std::min({hive_.parameters().global_batch, max_batch, max_room});
        const std::size_t n = hive_.pool().take(std::span(batch).first(most), hive_.io().size());
        if (n == 0) return false;
        tallies_.batches.add();
        if constexpr (trace::on) trace_.instant(trace::kind::batch, hive_.now_ns(), n);
        // The producer's core wrote them last: ask for all their lines at once.
        for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(batch[i]);
        if (alone()) {
            for (std::size_t i = 1; i < n; ++i) lone_.push_back(batch[i]);
            run_task(batch[0]);
            return true;
        }
        // All but the first become stealable before it runs, and the owner pops them in the order they were posted.
        if (n > 1 && !own_.try_push_all(std::span<task_type* const>(batch).subspan(1, n - 1)))
            for (std::size_t i = n; i-- > 1;) private_.push_front(batch[i]);  // no memory: this worker runs them itself
        run_task(batch[0], n > 1 || !hive_.pool().looks_empty());
        return true;
    }

    // `any`: also the newest task of a worker that may be about to take it.
    bool steal(bool any = false) {
        const auto& peers = hive_.io();
        const unsigned count = peers.size();
        if (count == 1) return false;
        for (unsigned round = 0; round < hive_.parameters().steal_rounds; ++round) {
            const unsigned start = random_.below(count);
            bool contended = false;
            for (unsigned i = 0; i < count; ++i) {
                const unsigned victim = (start + i) % count;
                if (victim == slot_) continue;
                auto [status, stolen] = peers[victim]->deque_.share().steal();
                if (status == steal_status::empty && !peers[victim]->next_.looks_empty()) {
                    stolen = !any && fleeting(peers[victim]->next_) ? nullptr : peers[victim]->next_.steal();
                    status = stolen != nullptr ? steal_status::taken : steal_status::lost_race;
                }
                if (status == steal_status::taken) {
                    Sync::reach("hive.stole");
                    tallies_.stolen.add();
                    if constexpr (trace::on) trace_.instant(trace::kind::steal, hive_.now_ns(), victim);
                    run_task(stolen);
                    return true;
                }
                contended |= status == steal_status::lost_race;
            }
            if (!contended) return false;
        }
        return false;
    }

    // There was a task in the slot, and a moment later it was another or none: a chain of successors, which would be torn from
    // processor to processor. One that stays, behind a long task, is met again.
    static bool fleeting(const lifo_slot<task_type, Sync>& next) {
        const auto met = next.met();
        if constexpr (!Sync::checked) std::this_thread::yield();
        if (next.met() == met) return false;
        Sync::reach("hive.left_a_chain");
        return true;
    }

    // A sleep ends some 50 us late; who wants less pays for it in processor time, up to timer_spin_ns for each timer. It is
    // awake meanwhile: a post wakes nobody for it, and is seen here. False: there is time to sleep.
    bool watch_the_clock(std::int64_t deadline, std::int64_t spin_ns) {
        if (spin_ns == 0 || deadline - hive_.now_ns() > spin_ns) return false;
        while (hive_.now_ns() < deadline && !work_visible()) Sync::relax();
        return true;
    }

    void sleep() {
        const std::int64_t deadline = timers_.next_deadline(), spin_ns = hive_.parameters().timer_spin_ns;
        if (watch_the_clock(deadline, spin_ns)) return idle_.slept(runner_.tasks_run());
        const std::int64_t until = deadline == timers_.never ? deadline : deadline - spin_ns;
        tallies_.parked.add();
        if (sleeper_.claimed()) tallies_.spurious.add();
        const bool naps = idle_.naps(sleeper_.claimed(), sleeper_.searching(), others_sleep());
        std::int64_t from = 0;
        if constexpr (trace::on) from = hive_.now_ns();
        if constexpr (!Sync::checked) waker_processor_.store(unknown_processor, std::memory_order_relaxed);
        if (!naps) {
            sleeper_.sleep(until, [this] {
                meet_pushers();
                return work_visible();
            });
        } else {
            sleeper_.nap(std::min(until, hive_.now_ns() + hive_.parameters().nap_ns),
                         [this] { return work_visible(); });
        }
        idle_.slept(runner_.tasks_run());
        if (sleeper_.claimed()) tallies_.woken.add();
        if constexpr (trace::on) {
            trace_.span(trace::kind::park, from, hive_.now_ns());
            if (sleeper_.claimed()) trace_.instant(trace::kind::woken, hive_.now_ns(), slot_);
        }
    }

    // For idle_policy.
    auto others_sleep() const {
        return [this] {
            const auto asleep = static_cast<unsigned>(std::popcount(hive_.idle_io().snapshot().sleepers()));
            return asleep + 1 >= hive_.io().size();
        };
    }
    // The wake that ended its last sleep came from this processor: its waker waits for it.
    auto displaced_waker() const {
        return [this] {
            if constexpr (Sync::checked) return false;
            const int waker = waker_processor_.load(std::memory_order_relaxed);
            return waker != unknown_processor && waker == Parts::processor();
        };
    }
    void yield() {
        if constexpr (Sync::checked) return;
        if (!idle_.times_this_yield()) return std::this_thread::yield();
        const std::int64_t from = hive_.now_ns();
        std::this_thread::yield();
        idle_.yielded(hive_.now_ns() - from, runner_.tasks_run());
    }

    // Every source that this worker may take from. Timers are in the deadline of the sleep.
    bool work_visible() const {
        return (Sync::recheck("hive.io.inbox") && !inbox().looks_empty()) || shared_work_visible() ||
               hive_.stopping() ||
               leaving_.load(std::memory_order_relaxed);  // a poll may have met the wake that came with it
    }

    // `left_more`: the caller has taken the task from among others, or has just made others visible.
    // Then, or when posts have counted on this worker's search, the next worker is woken before the
    // task runs, since it may take long.
    void run_task(task_type* t, bool left_more = false) {
        if (!lone_.empty() && !alone()) [[unlikely]]  // it may wait for them
            share_lone();
        if (left_more || sleeper_.owes_a_look()) [[unlikely]]
            wake_the_next(left_more);
        std::int64_t from = 0;
        if constexpr (trace::on) from = hive_.now_ns();
        runner_.run(t);
        if constexpr (trace::on) trace_.span(trace::kind::task, from, hive_.now_ns());
    }

    [[gnu::noinline]] void wake_the_next(bool left_more) {
        if (sleeper_.found_work()) left_more = left_more || more_to_take();
        if (left_more) hive_.wake_one_io();
    }

    // After found_work: posts have counted on this worker until now.
    bool more_to_take() const {
        meet_pushers();
        return shared_work_visible();
    }
    void meet_pushers() const {
        sleeper_.meet_pushers([this] { return hive_.io().size(); });
    }

    // The main worker before any other was attached.
    bool alone() const { return hive_.io().size() == 1; }

    // Somebody has come who can steal them: to the deque, or the pool.
    [[gnu::noinline]] void share_lone() {
        while (task_type* t = lone_.pop_front())
            if (!own_.try_push(t) && !hive_.post(t)) {
                lone_.push_front(t);  // a stop has closed the pool: finish() runs or drops it
                break;
            }
        hive_.wake_one_io();
    }

    void end_sources() {
        if constexpr (requires { core_.end_sources(); }) core_.end_sources();
    }

    // What any worker may take.
    bool shared_work_visible() const {
        if (Sync::recheck("hive.io.pool") && !hive_.pool().looks_empty()) return true;
        const auto& peers = hive_.io();
        for (unsigned i = 0; Sync::recheck("hive.io.deques") && i < peers.size(); ++i)
            if (!peers[i]->deque_.share().looks_empty()) return true;
        for (unsigned i = 0; Sync::recheck("hive.io.slots") && i < peers.size(); ++i)
            if (!peers[i]->next_.looks_empty()) return true;
        return false;
    }

    // After a detach: all that this worker holds goes to the others, the oldest first. False: a stop has closed
    // their doors, and what is left here is this worker's to end.
    bool hand_over() {
        end_sources();
        // Posts have counted on this worker's search, if it was searching: it is passed on below.
        const bool searched = sleeper_.found_work();
        sort_in(inbox().close());  // from here on post_to is refused
        while (task_type* t = timers_.pop())
            if (!hive_.post_to(main_id, t)) {
                timers_.add(t);
                return false;
            }
        if (task_type* t = next_.take()) private_.push_front(t);
        for (task_type* t = nullptr; own_.try_pop(t);) private_.push_front(t);
        if (!private_.empty()) {
            if (!hive_.post_list(private_)) {
                Sync::reach("hive.hand_over_met_the_stop");
                return false;
            }
            Sync::reach("hive.handed_over");
        }
        if (searched && more_to_take()) {
            Sync::reach("hive.search_passed_on");
            hive_.wake_one_io();
        }
        return true;
    }

    // After the stop: everything that this worker holds, and what is left in the pool, is run or dropped.
    void finish() {
        end_sources();
        sort_in(inbox().close());  // from here on post_to is refused
        if (!hive_.discarding()) {
            const std::int64_t now = timers_.empty() ? 0 : hive_.now_ns();
            while (task_type* t = timers_.pop_due(now)) private_.push_back(t);
        }
        while (task_type* t = timers_.pop()) runner_.drop(t);
        for (;;) {
            task_type* t = private_.pop_front();
            if (t == nullptr) t = lone_.pop_front();
            if (t == nullptr) t = next_.take();
            if (t == nullptr && !own_.try_pop(t)) t = hive_.pool().take_one();
            if (t == nullptr) {
                // Posts are refused by now, so what others still hold only gets less.
                if (!hive_.discarding() && steal(true)) continue;
                break;
            }
            if (hive_.discarding())
                runner_.drop(t);
            else
                run_task(t);
        }
        (void)sleeper_.found_work();  // leave the idle set as a running worker
    }

    // This worker's own.
    static constexpr std::size_t first_sweep = Sync::checked ? 1 : 64;
    static constexpr unsigned main_id = 0;  // never leaves while the hive runs
    inbox_type& inbox() const { return own_mail_->inbox; }

    // A core that asks for the clock gets the hive's.
    static Core make_core(hive& h) {
        if constexpr (std::constructible_from<Core, typename Parts::clock&>)
            return Core(h.clock());
        else
            return Core();
    }

    hive& hive_;
    const unsigned slot_;
    mailbox gone_{no_worker, nullptr};
    mailbox* own_mail_ = nullptr;
    sleeper<Sync, Core> sleeper_;
    typename Parts::random random_;
    fifo_list<task_type> private_;
    fifo_list<task_type> lone_;  // what its tasks posted while it was alone
    timer_heap<task_type, Sync> timers_;
    std::size_t sweep_at_ = first_sweep;
    static constexpr std::int64_t unknown = INT64_MIN;
    std::size_t own_interval_ = hive_.parameters().global_probe_interval;  // own tasks between two probes
    std::size_t own_to_probe_ = own_interval_;                             // of those, how many it may still run
    std::int64_t interval_began_ns_ = unknown;
    std::size_t old_end_passed_ = 0;  // because the deque was long
    idle_policy idle_{hive_.parameters()};
    task_runner<Sync, Storage> runner_{hive_.on_exception()};
    worker_tallies<Sync> tallies_;
    [[no_unique_address]] trace trace_;

    // Others' too.
    static constexpr int unknown_processor = -1;
    typename Sync::template atomic<int> waker_processor_;  // of the wake that ended the last sleep; a hint
    typename Sync::template atomic<mailbox*> mail_;
    typename Sync::template atomic<bool> leaving_;
    Core core_;
    lifo_slot<task_type, Sync> next_;
    deque_type deque_;
    typename deque_type::owner own_;
};

}  // namespace apiary
