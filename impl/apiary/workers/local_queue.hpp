// local_queue: gives the queue of one worker's ready tasks the same calls, whichever queue it is. ready_work puts a
// slot in front of it.
//
// When to use it. Through ready_work, whose `Queue` names it: chase_lev_deque, steal_half_queue, or one with the
// handles of either. The loop of a worker sees no difference between them; these are the differences:
//
//                         chase_lev_deque                      steal_half_queue
//   a thief takes         the oldest                           the older half: runs the oldest, and keeps the others in
//                                                              its own queue, for itself and for thieves
//   a push that finds it  posts this task to the pool; only    posts the older half to the pool, or this task alone
//   full                  beyond a large limit, it grows       while a thief is at work
//   room in an empty one  all                                  half: a thief may still be copying the other
//
// For both: the owner pops the newest, and may take the oldest.
//
// The calls, for a queue q of Task*.
//   owner   q.size()                exact, except for concurrent thefts, which only make it smaller
//           q.push(t, post)         puts t into the queue. Tasks without room go to post(list), oldest first; post
//                                   takes all of the list, or refuses and leaves it. False: post refused; q holds the
//                                   same tasks as before (perhaps in another order), and t is the caller's
//           q.push_all(tasks)       all or none; afterwards the first is the newest
//           q.pop(t)                the newest. False: empty
//           q.steal_oldest()        the oldest, as a thief would
//           q.steal_from(victim)    another worker's queue. `moved`: that many more are in q now; the caller then looks
//                                   for a sleeper, as after a push
//   any     q.looks_empty()         a hint, as the queue's own
//           room_when_empty         that many fit if the owner has found it empty (unless an allocation fails)
//           thefts_push             a theft may move tasks into the thief's own queue
//
// Synchronisation: the queues' own. ready_work.hpp argues what a worker that looks before it sleeps may miss.
// Checked by model_check/schedulers/hive, on both. Tested by local_queue_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/steal_result.hpp>

namespace apiary {

// A thief takes one: chase_lev_deque.
template <class Task, class Queue>
class local_queue_of_ones {
public:
    static constexpr std::size_t room_when_empty = Queue::limits::max_capacity;
    static constexpr bool thefts_push = false;

    std::size_t size() const { return own_.size(); }
    template <class Post>
    [[nodiscard]] bool push(Task* t, Post post) {
        if (own_.try_push(t)) return true;
        fifo_list<Task> rest;
        rest.push_back(t);
        return post(rest);
    }
    [[nodiscard]] bool push_all(std::span<Task* const> tasks) { return own_.try_push_all(tasks); }
    [[nodiscard]] bool pop(Task*& t) { return own_.try_pop(t); }
    [[nodiscard]] steal_result<Task*> steal_oldest() { return queue_.share().steal(); }
    [[nodiscard]] steal_half_result<Task*> steal_from(local_queue_of_ones& victim) {
        const auto [status, stolen] = victim.queue_.share().steal();
        return {status, stolen, 0};
    }
    bool looks_empty() { return queue_.share().looks_empty(); }

private:
    Queue queue_;
    typename Queue::owner own_ = queue_.own();
};

// A thief takes half: steal_half_queue.
template <class Task, class Queue>
class local_queue_of_halves {
    static constexpr std::size_t half = Queue::limits::capacity / 2;
    static_assert(half > 0);

public:
    static constexpr std::size_t room_when_empty = half;
    static constexpr bool thefts_push = true;

    std::size_t size() const { return own_.size(); }
    template <class Post>
    [[nodiscard]] bool push(Task* t, Post post) {
        return own_.try_push(t) || push_when_full(t, post);
    }
    [[nodiscard]] bool push_all(std::span<Task* const> tasks) { return own_.try_push_all(tasks); }
    [[nodiscard]] bool pop(Task*& t) { return own_.try_pop(t); }
    [[nodiscard]] steal_result<Task*> steal_oldest() {
        Task* oldest = nullptr;
        return {own_.try_pop_oldest(oldest) ? steal_status::taken : steal_status::lost_race, oldest};
    }
    [[nodiscard]] steal_half_result<Task*> steal_from(local_queue_of_halves& victim) {
        return own_.steal_half(victim.queue_.share());
    }
    bool looks_empty() { return queue_.share().looks_empty(); }

private:
    template <class Post>
    [[gnu::noinline]] bool push_when_full(Task* t, Post& post) {
        std::array<Task*, half> older;
        const std::size_t n = own_.try_pop_oldest(std::span(older));
        fifo_list<Task> rest;
        for (std::size_t i = 0; i != n; ++i) rest.push_back(older[i]);
        if (n == 0) rest.push_back(t);  // a thief is at work
        const bool posted = post(rest);
        if (n == 0) return posted;
        // There is room now: no other thread pushes here.
        if (posted) return own_.try_push(t);
        while (Task* back = rest.pop_front()) (void)own_.try_push(back);
        return false;
    }

    Queue queue_;
    typename Queue::owner own_ = queue_.own();
};

template <class Queue>
concept gives_half = requires(typename Queue::owner own, typename Queue::thief victim) { own.steal_half(victim); };

template <class Task, class Queue>
using local_queue =
    std::conditional_t<gives_half<Queue>, local_queue_of_halves<Task, Queue>, local_queue_of_ones<Task, Queue>>;

}  // namespace apiary
