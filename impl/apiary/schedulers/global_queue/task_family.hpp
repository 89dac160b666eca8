// task_family: a task in the global queue, and the family of tasks that share a parent. Plain data: all of it is read
// and written with the scheduler's lock held.
//
// The families are a tree. Its root is the scheduler itself; each other one is a task_scope, which lies on the stack of
// the parent: the task, or the thread outside, that opened it.
//
// Invariants
//   F1  `unfinished` counts the tasks of the family and of all families below it, queued or running.
//   F2  A family is in its parent's `inner` while it has unfinished tasks.
//   F3  `queued` has the family's own queued tasks in the order of their posts; each is in the scheduler's queue, too.
//       So the oldest task in the scheduler's queue is the oldest of its family.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/linked_list.hpp>
#include <apiary/tasks/task.hpp>

namespace apiary {

template <class Sync>
struct task_family;

template <class Sync>
struct queued_task {
    template <class F>
    queued_task(task_family<Sync>& family, F&& callable) : of(&family), call(std::forward<F>(callable)) {}

    typename Sync::template cell<queued_task*> next;            // the next one in its family
    typename Sync::template cell<queued_task*> before, behind;  // its neighbours in the queue
    task_family<Sync>* const of;
    task<Sync> call;
};

template <class Sync>
struct task_family {
    explicit task_family(task_family* above) : parent(above), depth(above == nullptr ? 0 : above->depth + 1) {}
    task_family(const task_family&) = delete;
    task_family& operator=(const task_family&) = delete;

    task_family* const parent;                                  // null for the root
    const unsigned depth;                                       // the number of families above it
    typename Sync::template cell<task_family*> before, behind;  // its neighbours in the parent's `inner`
    linked_list<task_family> inner;
    fifo_list<queued_task<Sync>> queued;
    std::size_t unfinished = 0;
    unsigned sleepers = 0;     // threads asleep in a wait for this family
    bool cut = false;          // a stop has dropped a task of this family or of one below, since the last wait
    std::exception_ptr error;  // the first that left a task of this family, since the last wait
};

// How a task has ended. For a whole family: whether a stop dropped some of its tasks, and the first exception.
template <class Sync>
struct task_ending {
    task_family<Sync>* of = nullptr;
    bool threw = false, cut = false;
    std::exception_ptr error = nullptr;
};

// A scheduler's queue, in the order of the posts, and the families of the tasks in it.
template <class Sync>
class family_queue {
    using family = task_family<Sync>;
    using item = queued_task<Sync>;

public:
    bool empty() const { return queue_.empty(); }

    // Adds a task. True: a thread that waits for this task's family, or for one above, sleeps and should run it.
    bool push(item* t) {
        queue_.append(t);
        t->of->queued.push_back(t);
        bool awaited = false;
        for (family* f = t->of; f != nullptr; f = f->parent) {
            if (f->unfinished++ == 0 && f->parent != nullptr) f->parent->inner.append(f);
            if (f->sleepers != 0) awaited = true;
        }
        return awaited;
    }

    // Takes the oldest task of all; null if there is none.
    item* pop() { return queue_.empty() ? nullptr : take(queue_.front()); }

    // Takes the oldest task of this family, or else of a family below it. Null: all its unfinished tasks are running.
    item* pop_of(const family& of) {
        item* const t = oldest(of);
        return t == nullptr ? nullptr : take(t);
    }

    // A task of this family has ended. True: that ended a family for which a thread waits asleep.
    static bool leave(family* of, bool dropped) {
        bool awaited = false;
        for (family* f = of; f != nullptr; f = f->parent) {
            if (dropped) f->cut = true;
            if (--f->unfinished != 0) continue;
            if (f->sleepers != 0) awaited = true;
            if (f->parent != nullptr) f->parent->inner.remove(f);
        }
        return awaited;
    }

    family root{nullptr};

private:
    // A loop and no recursion: the stack of the thread that waits may be shorter than the tree is deep.
    static item* oldest(const family& of) {
        const family* f = &of;
        while (f->queued.empty()) {
            const family* next = f->inner.front();
            while (next == nullptr) {  // nothing below f: go on beside it, or beside one above it
                if (f == &of) return nullptr;
                next = f->behind.read();
                if (next == nullptr) f = f->parent;
            }
            f = next;
        }
        return f->queued.front();
    }

    // By F3 it is also the oldest of its family.
    item* take(item* t) {
        queue_.remove(t);
        return t->of->queued.pop_front();
    }

    linked_list<item> queue_;
};

// The family whose task the calling thread runs. If it runs several tasks, one inside the other, that of the innermost.
template <class Sync>
class running_family {
    using family = task_family<Sync>;

public:
    // Returns the previous family.
    static family* enter(family* f) {
        family* const before = innermost();
        Sync::set_current(f);
        return before;
    }
    static family* innermost() { return Sync::template current<family>(); }
    static bool is_below(const family& of) {
        for (const family* f = innermost(); f != nullptr; f = f->parent)
            if (f == &of) return true;
        return false;
    }
};

}  // namespace apiary
