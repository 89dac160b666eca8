// co_context: the state of a worker that its coroutines use: its ready work, its private branches, and the transfer
// from one coroutine to the next.
//
// When to use it. As the ready work of a coroutine pool's workers. When not: in programs that use coroutines.
//
// A worker's ready work is, newest first: its slot, its private branches (fork_list), the branch that it offers, its
// deque. A branch is private until a hungry worker asks; then the oldest is offered to all, and its thief runs it like
// any stolen job. After an interval of the engine the oldest has a turn, alternately the branch and the deque's: so
// neither waits for ever while new branches come.
//
// From one coroutine to the next: symmetric transfer. Every `most_transfers`th transfer unwinds the worker's stack
// instead, and go() resumes the next. If the compiler makes no tail calls (g++ without optimisation, or under
// ThreadSanitizer), each transfer is a call, so this bounds the stack in every build.
//
// A coroutine of high priority (lanes.hpp) makes the running one stand back at its next resumption: the running one
// then goes into the queue of its own priority, and the worker takes the newcomer first.
//
// Threads.   here(), and every call not named here: the worker's own. steal_from: on a victim. hurry, ask, the looks:
//            any.
// Progress.  Wait-free, except for the deque's growth and a wake.
// Synchronisation
//   S1  hurry: store (release), after the push into the lane -> meet_the_hurry: exchange (acquire), before the look at
//       it. A worker that has met a hurry sees the coroutine that it was for.
// Checked by model_check/schedulers/coro_pool.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <apiary/contract/stats.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/fork_list.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/schedulers/coro_pool/frame.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/workers/ready_work.hpp>
#include <apiary/workers/two_doors.hpp>

namespace apiary {

// Small under a checker, so that a run with a few coroutines meets growth and overflow.
template <class Sync>
struct co_deque_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = Sync::checked ? 1 : 256;
    static constexpr std::size_t max_capacity = Sync::checked ? 2 : 4096;  // beyond it coroutines go to the pool
};

template <class Sync>
class co_context : public ready_work<Sync, chase_lev_deque<job<Sync>*, Sync, co_deque_limits<Sync>>, job<Sync>> {
    using base = ready_work<Sync, chase_lev_deque<job<Sync>*, Sync, co_deque_limits<Sync>>, job<Sync>>;
    using frame = co_frame<Sync>;
    using group = co_group<Sync>;
    using list = fork_list<Sync>;

public:
    using task_type = job<Sync>;

    // The context of the calling thread; null if that thread is no worker of a pool.
    static co_context* here() noexcept { return Sync::template current<co_context>(); }

    // `steals`: this worker takes from other workers, and they may take from it.
    void belongs_to(co_host<Sync>& h, unsigned index, bool steals = true) {
        fixed_.host = &h, fixed_.index = index, fixed_.steals = steals;
    }
    bool steals() const { return fixed_.steals; }
    co_host<Sync>* host() const { return fixed_.host; }
    unsigned index() const { return fixed_.index; }

    // Resumes the coroutine, and those that it leads to, until one of them leaves this worker.
    void go(frame* next) noexcept {
        for (;;) {
            next_ = nullptr;
            next->handle().resume();
            next = next_;
            if (next == nullptr) [[unlikely]] {
                next = after_the_frame();
                if (next == nullptr) return;
            }
            // A branch may be long without forking: a worker that has asked since the last fork gets the oldest branch
            // now.
            if (list_.asked(next) && !list_.empty()) [[unlikely]]
                answer();
            // Checked after a resumption, so that each job makes at least one, even while a job of high priority waits.
            if (hurried() && next->root_->priority != co_priority::high) [[unlikely]]
                return stand_back(*next);
        }
    }
    // As go, after the end of a frame that has already noted what follows.
    void go_on() noexcept {
        frame* const next = next_ != nullptr ? next_ : after_the_frame();
        if (next != nullptr) go(next);
    }
    // Returns the handle for an await_suspend that goes on with `to`.
    [[nodiscard, gnu::always_inline]] std::coroutine_handle<> transfer(frame& to) noexcept {
        if (--transfers_ != 0) [[likely]]
            return to.handle();
        transfers_ = most_transfers;
        next_ = &to;
        return std::noop_coroutine();
    }

    // Forks a branch, which other workers may take.
    [[gnu::always_inline]] void fork(frame& f) noexcept {
        list_.push(f);
        if (list_.asked(&f)) [[unlikely]]
            answer();
    }
    // For several forks in a row, followed by transfer_behind_forks(to): the requests of other workers are checked once
    // for all.
    [[gnu::always_inline]] void fork_unasked(frame& f) noexcept { list_.push(f); }
    [[nodiscard, gnu::always_inline]] std::coroutine_handle<> transfer_behind_forks(frame& to) noexcept {
        if (list_.asked(&to)) [[unlikely]]
            return answer_and_transfer(to);
        return transfer(to);
    }
    // After this frame ends, resumes its parent.
    [[gnu::always_inline]] void then(frame& parent) noexcept { next_ = &parent; }
    // After this frame ends, tells its root.
    void then(co_root<Sync>& r) noexcept { root_over_ = &r; }
    // After this branch ends, goes on with its chain, whose count is `done`. If that is `all`, the parent
    // is next; otherwise a private sibling; without one the chain ends.
    [[gnu::always_inline]] void then(group& g, std::uint32_t done) noexcept {
        if (done == group::all) return then(*g.waiter.read());
        if (frame* next = newest_of(g)) [[likely]] {
            next->as_.done = done;
            next_ = next;
            return;
        }
        chain_over_ = &g;
        done_ = done;
    }
    // As then, for a branch that this pool counts. Its chain always ends with it.
    void then_leave(group& g, std::uint32_t done) noexcept {
        chain_over_ = &g;
        done_ = done;
        leaves_ = true;
    }
    // The parent of a group begins to wait. This begins a chain that carries the parent's share.
    [[nodiscard]] std::coroutine_handle<> join(group& g, frame& waiter, std::uint32_t forked) noexcept {
        g.waiter.write(&waiter);
        g.at.write(fixed_.host);
        if (frame* next = newest_of(g)) [[likely]] {
            next->as_.done = group::all - forked;
            return transfer(*next);
        }
        if (frame* const mine = chain_over(g, group::all - forked)) return transfer(*mine);
        return std::noop_coroutine();
    }

    // The calls of ready_work, for the engine.
    std::size_t in_deque() const { return base::in_deque() + (list_.empty() && list_.look() == 0 ? 0 : 1); }
    bool waits() const { return base::waits() || !list_.empty() || list_.look() != 0; }
    [[nodiscard]] bool pop(task_type*& t) {
        t = has_branches() ? own_branch() : nullptr;
        return t != nullptr || base::pop(t);
    }
    // Alternates between the oldest branch and the oldest job of the deque.
    [[nodiscard]] steal_result<task_type*> steal_oldest() {
        branch_has_turn_ = !branch_has_turn_;
        if (task_type* const t = branch_has_turn_ ? oldest_branch() : nullptr) return {steal_status::taken, t};
        return base::steal_oldest();
    }
    [[nodiscard]] steal_half_result<task_type*> steal_from(co_context& victim, bool any) {
        if (const typename list::word offer = victim.list_.look(); offer == 0) {
            victim.list_.ask();
        } else if (auto* const j = victim.list_.take(offer)) {
            Sync::reach("co_context.took_an_offer");
            return {steal_status::taken, static_cast<frame*>(j), 0};
        }
        return base::steal_from(victim, any);
    }
    // The engine asks this before a worker sleeps or ends a search; so the lanes, from which any worker may take, are
    // asked too.
    bool deque_looks_empty() { return fixed_.host->lanes().look_empty() && (!fixed_.steals || !offers()); }
    bool offers() { return list_.look() != 0 || !base::deque_looks_empty(); }
    void ask() {
        if (fixed_.steals) list_.ask();
    }
    // Any thread. A coroutine of high priority waits: the running coroutine is to stand back at its next resumption.
    void hurry() { hurry_.store(true, std::memory_order_release); }  // S1
    [[gnu::always_inline]] bool hurried() const {
        if constexpr (Sync::checked)
            if (!fixed_.host->lanes().on()) return false;
        return hurry_.load(std::memory_order_relaxed);
    }
    // The worker calls this before it looks at the lane: a post after that look sets the flag again.
    void meet_the_hurry() {
        if (hurry_.load(std::memory_order_relaxed)) (void)hurry_.exchange(false, std::memory_order_acquire);  // S1
    }
    // True if a worker without work has asked since the last answer. The next fork, or the next coroutine that ends,
    // then offers the oldest branch.
    bool asked() const { return list_.asked(this); }

    // The hooks of coroutines that began to wait on this worker and have no stop source of their own.
    stop_hooks<Sync> stops;
    // How many of the pool's coroutines entered on this worker, less those that left here.
    typename two_doors<Sync>::share living;
    // Counts of this pool's coroutines on this worker.
    tally<Sync> run, cancelled, exceptions, lost_exceptions;

private:
    static constexpr unsigned most_transfers = 64;

    // Lets others run first: hands `next` to any worker. Private branches stay here.
    [[gnu::noinline, gnu::cold]] void stand_back(frame& next) noexcept {
        Sync::reach("co_context.stood_back");
        next_ = nullptr;  // `next` no longer belongs to this worker
        fixed_.host->bring(next);
    }
    // A separate function, so that the caller need not keep anything in registers across a call.
    [[gnu::noinline, gnu::cold]] std::coroutine_handle<> answer_and_transfer(frame& to) noexcept {
        answer();
        return transfer(to);
    }
    [[gnu::noinline, gnu::cold]] void answer() noexcept {
        if (list_.hand_out()) fixed_.host->wake_one();
    }

    [[gnu::always_inline]] frame* newest_of(const group& g) noexcept {
        if (list_.empty()) return nullptr;
        auto& f = static_cast<frame&>(const_cast<fork_job<Sync>&>(*list_.newest()));
        if (f.up_.of != &g) return nullptr;
        list_.pop_newest();
        return &f;
    }
    bool has_branches() const { return !list_.empty() || list_.look() != 0; }
    // The newest private branch, or the one on offer if there is none. Used when no chain goes on with them.
    [[gnu::noinline]] frame* own_branch() noexcept {
        if (!list_.empty()) {
            auto* const f = static_cast<frame*>(const_cast<fork_job<Sync>*>(list_.newest()));
            list_.pop_newest();
            if (list_.asked(f)) answer();
            return f;
        }
        if (const typename list::word offer = list_.look(); offer != 0) {
            Sync::reach("co_context.looked_at_its_offer");
            return static_cast<frame*>(list_.take(offer));
        }
        return nullptr;
    }
    // The offer is older than the private branches.
    [[gnu::noinline, gnu::cold]] frame* oldest_branch() noexcept {
        if (const typename list::word offer = list_.look(); offer != 0)
            if (auto* const f = list_.take(offer)) return static_cast<frame*>(f);
        return list_.empty() ? nullptr : static_cast<frame*>(list_.pop_oldest());
    }
    // Ends a chain. Returns the parent if this chain was the last and the parent goes on here; otherwise null.
    [[nodiscard, gnu::noinline, gnu::cold]] frame* chain_over(group& g, std::uint32_t done) noexcept {
        if (!g.less(done)) return nullptr;
        frame& waiter = *g.waiter.read();
        if (done != group::all) Sync::reach("co_context.last_of_several_chains");
        co_host<Sync>* const at = g.at.read();
        if (at == fixed_.host) return &waiter;
        Sync::reach("co_context.brought_the_waiter");
        at->bring(waiter);  // the parent has moved to another pool since it forked
        return nullptr;
    }
    // As chain_over, for a branch that this pool counts.
    [[nodiscard, gnu::noinline, gnu::cold]] frame* chain_over_and_leave(group& g) noexcept {
        leaves_ = false;
        frame* const next = chain_over(g, done_);
        fixed_.host->leave();  // last: the waiter is on its way to its own pool by now
        return next;
    }
    // Called when the frame is gone: only now other threads may learn that the coroutine has ended.
    [[nodiscard, gnu::noinline]] frame* after_the_frame() noexcept {
        if (group* const g = std::exchange(chain_over_, nullptr))
            return leaves_ ? chain_over_and_leave(*g) : chain_over(*g, done_);
        if (co_root<Sync>* const r = std::exchange(root_over_, nullptr)) r->ended(*r);
        return nullptr;
    }

    list list_;
    // Peers read these as they look for work, and belongs_to alone writes them. The owner writes what follows at each
    // resumption (impl/DECISIONS.md D166).
    struct alignas(cache_line) fixed {
        co_host<Sync>* host = nullptr;
        unsigned index = 0;
        bool steals = true;
    };
    fixed fixed_;
    static_assert(sizeof(fixed) % cache_line == 0 && alignof(fixed) == cache_line);
    frame* next_ = nullptr;
    group* chain_over_ = nullptr;
    std::uint32_t done_ = 0;  // the branches that have ended in that chain
    bool leaves_ = false;     // true: this pool counts the branch that has ended
    co_root<Sync>* root_over_ = nullptr;
    unsigned transfers_ = most_transfers;
    bool branch_has_turn_ = true;  // true: the deque has the next turn
    typename Sync::template atomic<bool> hurry_{false};
};

template <class Sync>
suspended<Sync> co_frame<Sync>::suspended_here() noexcept {
    return {this, &context::here()->host()->home_of(root_->priority)};
}

template <class Sync>
stop_hooks<Sync>* co_frame<Sync>::stops() noexcept {
    if (root_->stops != nullptr) return root_->stops;
    context& here = *context::here();
    co_host<Sync>* const home = root_->host.read();
    return here.host() == home ? &here.stops : &home->stops_elsewhere();
}

template <class Sync>
bool co_frame<Sync>::run_it(job<Sync>& j, job_end how, any_worker*) {
    if (how != job_end::run) Sync::fail("a coroutine that lives was dropped");
    auto& me = static_cast<co_frame&>(j);
    context& here = *context::here();
    if (me.is(unbegun | ending)) [[unlikely]]
        me.run_unusual(here);
    else
        here.go(&me);
    return true;
}

template <class Sync>
void co_frame<Sync>::run_unusual(context& here) {
    const bool begins = is(unbegun);
    is_unusual(0);
    if (!begins) {  // it has come home to end
        if (is(counted))
            here.then_leave(*up_.of, as_.done + 1);
        else
            leave_to(here);
        handle().destroy();
        return here.go_on();
    }
    co_root<Sync>& r = *root_;
    if (!r.token.stop_requested()) return here.go(this);
    Sync::reach("co_frame.cancelled_before_it_began");
    handle().destroy();
    r.cancelled(r, std::make_exception_ptr(wait_cancelled()));
}

template <class Sync>
void co_frame<Sync>::drop_unbegun() noexcept {
    up_.waiter = nullptr;
    dropping* const outer = Sync::template current<dropping>();
    if (outer == nullptr) {
        dropping all{this, 0};
        Sync::set_current(&all);
        while (co_frame* const f = all.deeper) {
            all.deeper = f->up_.waiter;
            f->handle().destroy();
        }
        Sync::template set_current<dropping>(nullptr);
    } else if (outer->nested != most_nested) {
        ++outer->nested;
        handle().destroy();
        --outer->nested;
    } else {
        Sync::reach("co_frame.dropped_later");
        up_.waiter = outer->deeper;
        outer->deeper = this;
    }
}

template <class Sync>
[[gnu::always_inline]] inline bool co_frame<Sync>::over() noexcept {
    if (as_.kind > branch) [[unlikely]]
        return false;
    leave_to(*context::here());
    return true;
}
template <class Sync>
bool co_frame<Sync>::goes_home_first() noexcept {
    if (as_.kind == root_role) {
        context::here()->then(*root_);
        return false;
    }
    if (!is(away | astray)) {  // a branch that is counted
        context::here()->then_leave(*up_.of, as_.done + 1);
        return false;
    }
    co_host<Sync>* const guest_of = is(away) ? context::here()->host() : nullptr;
    is_unusual(ending);
    origin_->bring(*this);  // frame.hpp I2
    if (guest_of != nullptr) guest_of->leave();
    return true;
}

template <class Sync>
[[gnu::always_inline]] inline void co_frame<Sync>::leave_to(context& here) noexcept {
    if ((as_.kind & roles) == branch)
        here.then(*up_.of, as_.done + 1);
    else if ((as_.kind & roles) == call)
        here.then(*up_.waiter);
    else
        here.then(*root_);
}

template <class Sync>
bool co_frame<Sync>::move_to(co_host<Sync>& x, bool& refused) noexcept {
    co_host<Sync>& from = *context::here()->host();
    refused = false;
    if (&x == &from) return false;
    const bool was_away = is(away);
    if (!was_away) origin_ = &from;
    if (&x != origin_) {
        if (!x.enter()) {
            if (root_->host.read() != &x) {
                refused = true;
                return false;
            }
            x.enter_inside();
        }
        is_unusual(away);
    } else {
        is_unusual(0);
    }
    x.bring(*this);  // frame.hpp I2
    if (was_away) from.leave();
    return true;
}

}  // namespace apiary
