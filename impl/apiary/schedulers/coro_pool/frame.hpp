// co_frame: the pool's view of a coroutine: the part of its promise that does not depend on the result type.
//
// When to use it. As the base of co_task's promise. When not: from outside; a waiting coroutine is a `suspended`
// (tasks/suspended.hpp). The functions that need a worker's context are defined in context.hpp.
//
// A frame is a job: a worker that runs it resumes it. It is also a fork_job: a branch lies in its worker's private list
// until another worker asks.
//
// How a coroutine ends (`role`)
//   call     its parent awaits it alone; the parent goes on, on the same worker
//   branch   one of a group; co_group below finds which of them lets the parent go on
//   root     it has no parent; its co_root is told
// At its end the frame notes this in the context and is destroyed; after that the worker's loop acts on the note. The
// result lies with the awaiter.
//
// A group counts by chains. A chain is a run of branches of one group, one after the other; `done` counts those that
// have ended in it. When a branch ends and the newest job of this worker's list is of the same group, the chain goes on
// with that job, without a look at the common word. Otherwise (a thief has it, or the branch was suspended meanwhile
// and its siblings went elsewhere) the chain ends and takes its number off `pending`. The chain that the parent itself
// began by waiting carries the rest up to `all` as well. So a chain that has `all` was the only one, and a group that
// no thief stole from is counted without one atomic operation. Otherwise the chain that reaches zero goes on.
//
// Threads.   A frame belongs to one thread at a time, as a job does.
// Invariants
//   I1  pending is `all`, less the counts of the chains that have ended. The parent's share, all less the number of
//       branches, comes off only when it waits: so zero is reached once, after its wait.
//   I2  The thread that suspends a coroutine publishes it last, and touches neither frame nor awaiter after that.
//   I3  A coroutine runs on workers alone, of the pool to which it belongs. resume_on moves it, and at its end its
//       parent goes on where it was. A branch belongs to the pool where it was forked; its parent goes on where it
//       began to wait.
//   I4  A pool counts whatever must not outlive it: its roots, its guests until they leave, and branches that a scope
//       has forked there while its root lives elsewhere, since their parent may leave before them. Other branches and
//       children end before their parent goes on there.
//
// Synchronisation
//   S1  The end of a chain: fetch_sub (release) -> the last one, or a scope that forgets the chain: the same word
//       (acquire). The parent sees the results of all branches. Inside a chain the order is that of one thread, or of
//       the hand-over of a suspended branch.
//
// Checked by model_check/schedulers/coro_pool. Stressed by stress/schedulers/coro_pool.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <utility>

#include <apiary/coroutines/stop_hooks.hpp>
#include <apiary/queues/fork_list.hpp>
#include <apiary/schedulers/coro_pool/lanes.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

template <class Sync>
class co_frame;
template <class Sync>
class co_context;

// The pool, as frames and contexts know it.
template <class Sync>
class co_host : public home<Sync> {
public:
    explicit co_host(bool priorities = false) : lanes_(priorities) {
        high_.of(*this, co_priority::high);
        background_.of(*this, co_priority::background);
    }

    // Where a coroutine of this priority comes back.
    home<Sync>& home_of(co_priority p) {
        if (p == co_priority::normal || !lanes_.on()) [[likely]]
            return *this;
        return p == co_priority::high ? high_ : background_;
    }
    inline void bring(co_frame<Sync>& what) noexcept;
    // The hooks of this pool's coroutines that wait as guests of another pool.
    stop_hooks<Sync>& stops_elsewhere() { return stops_elsewhere_; }
    co_lanes<Sync>& lanes() { return lanes_; }
    const co_lanes<Sync>& lanes() const { return lanes_; }

    virtual void resume_in_lane(job<Sync>& what, co_priority) noexcept { this->resume(what); }  // never normal
    virtual void resume_behind(job<Sync>& what) noexcept = 0;  // queues it after all that waits there now
    virtual void wake_one() noexcept = 0;
    // A coroutine comes from another pool. False: this pool is stopped, and takes no guest.
    [[nodiscard]] virtual bool enter() noexcept = 0;
    virtual void enter_inside() noexcept = 0;  // as enter, for a coroutine whose root lives here; never refused
    virtual void leave() noexcept = 0;

protected:
    ~co_host() = default;

private:
    struct lane final : home<Sync> {
        void of(co_host& h, co_priority p) { host = &h, priority = p; }
        void resume(job<Sync>& what) noexcept override { host->resume_in_lane(what, priority); }
        co_host* host;
        co_priority priority;
    };
    co_lanes<Sync> lanes_;
    lane high_, background_;
    stop_hooks<Sync> stops_elsewhere_;
};

// Shared by all coroutines of one tree.
template <class Sync>
struct co_root {
    const typename Sync::template cell<co_host<Sync>*> host;  // a cell: a checker sees a read that comes too late
    const std::stop_token its_own;  // or none
    // A reference: a copy of the pool's token would change a reference count that all roots share.
    const std::stop_token& token;
    stop_hooks<Sync>* stops = nullptr;  // the hooks that `token` asks; null: those of the workers, which the pool asks
    void (*ended)(co_root&) noexcept;   // called when the frame is gone and the outcome is written
    void (*cancelled)(co_root&, std::exception_ptr) noexcept;  // called if it never began
    co_priority priority;

    // The token outlives the root (the pool's does), or moves into it.
    co_root(co_host<Sync>& h, const std::stop_token& t, void (*e)(co_root&) noexcept,
            void (*c)(co_root&, std::exception_ptr) noexcept, co_priority p = co_priority::normal)
        : host(&h), token(t), ended(e), cancelled(c), priority(p) {}
    co_root(co_host<Sync>& h, std::stop_token&& t, void (*e)(co_root&) noexcept,
            void (*c)(co_root&, std::exception_ptr) noexcept, co_priority p = co_priority::normal)
        : host(&h), its_own(std::move(t)), token(its_own), ended(e), cancelled(c), priority(p) {}
};

template <class Sync>
struct co_group {
    // Larger than any number of branches that live at a time (co_scope::forget_ended).
    static constexpr std::uint32_t all = Sync::checked ? 8 : 1U << 30;

    typename Sync::template cell<co_frame<Sync>*> waiter{nullptr};
    typename Sync::template cell<co_host<Sync>*> at;  // the pool where it waits; a chain that has `all` is there, too
    typename Sync::template atomic<std::uint32_t> pending{all};

    // Takes n off: a chain of n has ended, or the parent begins to wait. True: this was the last.
    [[nodiscard]] bool less(std::uint32_t n) { return pending.fetch_sub(n, std::memory_order_acq_rel) == n; }  // S1
};

// A group that also keeps the first exception of its branches without an outcome.
template <class Sync>
struct co_error_group : co_group<Sync> {
    typename Sync::template atomic<bool> failed{false};
    typename Sync::template cell<std::exception_ptr> error;  // of the branch that set `failed`; the join sees it (S1)

    // False: another branch has left its exception before.
    [[nodiscard]] bool keep(std::exception_ptr e) noexcept {
        if (failed.exchange(true, std::memory_order_relaxed)) return false;
        error.write(std::move(e));
        return true;
    }
    void rethrow() {
        if (!failed.load(std::memory_order_relaxed)) return;
        failed.store(false, std::memory_order_relaxed);
        std::rethrow_exception(error.take());
    }
};

template <class Sync>
class co_frame : public job<Sync>, public fork_job<Sync> {
    friend co_context<Sync>;

public:
    using sync = Sync;
    using context = co_context<Sync>;
    using group = co_group<Sync>;

    // For awaitables: the handle by which this coroutine is resumed. Called on the worker that runs it.
    suspended<Sync> suspended_here() noexcept;
    std::stop_token stop_token() const noexcept { return root_->token; }
    // The hooks through which a stop ends an await.
    stop_hooks<Sync>* stops() noexcept;

    co_root<Sync>& root() const { return *root_; }
    // A promise begins with its frame (co_promise checks that), so this address gives the handle.
    [[gnu::always_inline]] std::coroutine_handle<> handle() noexcept {
        return std::coroutine_handle<co_frame>::from_promise(*this);
    }

    // One of these three says how the coroutine will end. Called before it begins.
    [[gnu::always_inline]] void call_of(co_frame& parent) {
        root_ = parent.root_;
        up_.waiter = &parent;
        as_ = {0, call};
    }
    [[gnu::always_inline]] void branch_of(group& g, co_root<Sync>* r, std::uint32_t done = 0) {
        root_ = r;
        up_.of = &g;
        as_ = {done, branch};
    }
    void root_of(co_root<Sync>& r) {
        root_ = &r;
        as_ = {0, root_role | unbegun};
    }
    group& group_of() const { return *up_.of; }
    // For a branch: that pool counts it until its end (I4). Called by a coroutine that lives there.
    [[gnu::noinline, gnu::cold]] void is_counted_at(co_host<Sync>& h) noexcept {
        h.enter_inside();
        as_.kind |= counted;
    }

    // Destroys a frame that has never begun, with all that it holds, such as tasks among its arguments. Frames nested
    // more than `most_nested` deep are destroyed after the outermost, so a long chain does not overflow the stack.
    [[gnu::noinline, gnu::cold]] void drop_unbegun() noexcept;

    // For an await that may resume on any thread: at its end the coroutine first returns to this pool.
    void must_end_at(co_host<Sync>& h) {
        origin_ = &h;
        is_unusual(astray);
    }
    // For resume_on. True: the coroutine is on its way to x (see I2). False: it is there already, or x refuses it
    // (`refused` is set).
    [[nodiscard]] bool move_to(co_host<Sync>& x, bool& refused) noexcept;

    // Called at the end. True: the frame is destroyed at once, and its context knows what follows. False: call
    // goes_home_first.
    [[nodiscard]] bool over() noexcept;
    // True: the frame is on its way home, and ends there (I2). False: it is destroyed at once.
    [[nodiscard, gnu::noinline, gnu::cold]] bool goes_home_first() noexcept;

protected:
    [[gnu::always_inline]] co_frame() : job<Sync>(&run_it) {}
    ~co_frame() = default;

private:
    // How it ends, and rare states, in one byte, so that one comparison finds a plain call or branch.
    static constexpr std::uint8_t call = 0, branch = 1, root_role = 2, roles = 3;
    static constexpr std::uint8_t unbegun = 4;   // a root that no worker has begun
    static constexpr std::uint8_t ending = 8;    // it has ended elsewhere, and finishes at home
    static constexpr std::uint8_t away = 16;     // on another pool, which counts it; its own pool is origin_
    static constexpr std::uint8_t astray = 32;   // may run on any thread; its own pool is origin_
    static constexpr std::uint8_t counted = 64;  // a branch that the pool where it was forked counts
    void is_unusual(std::uint8_t what) { as_.kind = static_cast<std::uint8_t>((as_.kind & (roles | counted)) | what); }
    bool is(std::uint8_t what) const { return (as_.kind & what) != 0; }

    // Lies on the stack of a thread that destroys frames.
    struct dropping {
        co_frame* deeper;  // frames to destroy later; linked by up_.waiter, which an unbegun frame does not use
        unsigned nested;
    };
    static constexpr unsigned most_nested = Sync::checked ? 2 : 64;

    static bool run_it(job<Sync>& j, job_end how, any_worker*);
    [[gnu::noinline, gnu::cold]] void run_unusual(context& here);
    void leave_to(context& here) noexcept;

    // Both members are written at once, when the frame becomes a call, a branch or a root.
    struct what_it_is {
        std::uint32_t done;  // for a branch: how many branches of its chain have ended
        std::uint8_t kind;
    };

    co_root<Sync>* root_;
    union {
        co_frame* waiter;
        group* of;
    } up_;
    what_it_is as_;
    co_host<Sync>* origin_;  // used with away, astray and ending
};

template <class Sync>
inline void co_host<Sync>::bring(co_frame<Sync>& what) noexcept {
    home_of(what.root().priority).resume(what);
}

}  // namespace apiary
