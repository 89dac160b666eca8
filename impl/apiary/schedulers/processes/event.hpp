// event: what a process is told, and the batch of events that a step gets.
//
// When to use it. event and event_batch: in step(). The nodes: by the scheduler.
// Threads. A node belongs to one thread or one mailbox at a time. A batch: the worker that runs the step.
// Memory.  A node is a 64-byte block: of the pool that tasks have, or of the heap where a sanitizer or a checker watches.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <apiary/schedulers/processes/payload.hpp>
#include <apiary/schedulers/processes/pid.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

enum class event_type : std::uint8_t {
    message,    // from(), data
    request,    // from(), data: a message whose sender waits for an answer to reply()
    completed,  // tag, error, data: what the process has called for is over
    cancel,     // the process shall end; it is told once
    ended,      // from() has, which was watched; data: how, a process_end
    kill,       // of the scheduler, as all below: no step is told of it
    watch,
    unwatch,
    link,
    unlink,
    linked_end,  // data: how
    room,        // what it had sent to a full mailbox has been taken
    look,        // data: whom to tell (process_view.hpp)
    unanswered,  // tag: the receiver; call: the request. Told as the end of that request, if it is to that receiver
};

// Of the scheduler. A handler that fails in a way of its own says so in the data.
enum class yield_error : std::uint8_t {
    none,
    unknown_command,
    handler_threw,
    failed,
    no_answer,  // a request's receiver has ended, or did not look at it
    timed_out,  // a routine's call_for
};

// Which request of which process: what an answer is for. A value. An answer that comes late is dropped and counted, unless another
// call of that process has the tag by then: it ends that one.
struct reply_to {
    pid to;
    std::uint32_t tag = 0;
    constexpr bool operator==(const reply_to&) const = default;
};

// Of the scheduler: which sender waits until a message is taken.
enum class held_sender : std::uint8_t { none, process, thread };

struct event {
    event_type type = event_type::cancel;
    yield_error error = yield_error::none;
    held_sender held = held_sender::none;
    std::uint32_t call = 0;  // of a request; of a link or an unlink: which
    std::uint64_t tag = 0;
    payload data;

    // Nobody: no process has sent it.
    pid from() const { return {is_mail() || type == event_type::ended ? tag : 0}; }
    reply_to reply() const { return {from(), call}; }
    // A message or a request: a bound counts it, and it is a dead letter when nobody takes it.
    bool is_mail() const { return type == event_type::message || type == event_type::request; }
};

template <class Sync>
struct alignas(16) event_node {
    template <class T>
    event_node(event_type type, std::uint64_t tag, yield_error error, T&& data)
        : what{type, error, held_sender::none, 0, tag, payload(std::forward<T>(data))} {}

    typename Sync::template cell<event_node*> next;
    event what;
};

template <class Sync>
struct event_blocks {
    using node = event_node<Sync>;
    using pool = basic_task_block_pool<Sync>;
    static_assert(!recycles_memory<Sync> || sizeof(node) <= pool::block_bytes);

    template <class T>
    static node* make(event_type type, std::uint64_t tag, yield_error error, T&& data) {
        if constexpr (recycles_memory<Sync>) {
            void* const block = pool::allocate();
            try {
                return ::new (block) node(type, tag, error, std::forward<T>(data));
            } catch (...) {
                pool::release(block);
                throw;
            }
        } else {
            return Sync::template create<node>(type, tag, error, std::forward<T>(data));
        }
    }
    static void release(node* n) noexcept {
        if constexpr (recycles_memory<Sync>) {
            n->~node();
            pool::release(n);
        } else {
            Sync::destroy(n);
        }
    }
};

// A list of nodes, oldest first, that it owns.
template <class Sync>
class event_list {
public:
    using node = event_node<Sync>;

    event_list() = default;
    // Of a chain that is linked newest first. Looks at each, which is in the cache only now.
    template <class Visit>
    event_list(node* newest, Visit visit) {
        for (node* n = newest; n != nullptr;) {
            node* const older = n->next.read();
            visit(n->what.type);
            if (oldest_ == nullptr) newest_ = n;
            n->next.write(oldest_);
            oldest_ = n;
            n = older;
        }
    }
    event_list(event_list&& other) noexcept
        : oldest_(std::exchange(other.oldest_, nullptr)), newest_(std::exchange(other.newest_, nullptr)) {}
    event_list& operator=(event_list&& other) noexcept {
        std::swap(oldest_, other.oldest_);
        std::swap(newest_, other.newest_);
        return *this;
    }
    ~event_list() {
        while (node* n = pop()) event_blocks<Sync>::release(n);
    }

    bool empty() const { return oldest_ == nullptr; }
    node* pop() {
        node* const n = oldest_;
        if (n != nullptr) Sync::prefetch(oldest_ = n->next.read());
        return n;
    }
    // Every event, oldest first.
    template <class Visit>
    void each(Visit visit) const {
        for (node* n = oldest_; n != nullptr; n = n->next.read()) visit(n->what);
    }
    void append(node* n) {
        n->next.write(nullptr);
        if (oldest_ == nullptr)
            oldest_ = n;
        else
            newest_->next.write(n);
        newest_ = n;
    }
    void append(event_list&& other) {
        if (other.empty()) return;
        if (oldest_ == nullptr)
            oldest_ = other.oldest_;
        else
            newest_->next.write(other.oldest_);
        newest_ = other.newest_;
        other.oldest_ = nullptr;
    }

private:
    node* oldest_ = nullptr;
    node* newest_ = nullptr;  // read when oldest_ is not null
};

// How a batch has the cancel. What a step leaves of it as the last of others comes once more, alone.
enum class cancel_comes : std::uint8_t { not_now, last, alone };

// The events since the last step: messages and completions, oldest first, then the cancel. All else that a step does
// not take out of it is a dead letter when the step returns.
template <class Sync>
class basic_event_batch {
    using node = event_node<Sync>;

public:
    basic_event_batch(event_list<Sync>&& events, cancel_comes c) : events_(std::move(events)), cancel_comes_(c) {}
    basic_event_batch(const basic_event_batch&) = delete;
    basic_event_batch& operator=(const basic_event_batch&) = delete;
    ~basic_event_batch() { let_go(); }

    // Null: there are no more. The event is there until the next call, or the end of the step.
    event* next() {
        let_go();
        if ((current_ = events_.pop()) != nullptr) return &current_->what;
        return std::exchange(cancel_comes_, cancel_comes::not_now) != cancel_comes::not_now ? &cancel_ : nullptr;
    }
    bool empty() const { return events_.empty() && cancel_comes_ == cancel_comes::not_now; }

    // For the scheduler, after the step.
    bool left_the_cancel_behind_others() const { return cancel_comes_ == cancel_comes::last; }
    event_list<Sync>& rest() {
        let_go();
        return events_;
    }

private:
    void let_go() {
        if (current_ != nullptr) event_blocks<Sync>::release(std::exchange(current_, nullptr));
    }

    event_list<Sync> events_;
    node* current_ = nullptr;
    cancel_comes cancel_comes_;
    event cancel_{};
};

}  // namespace apiary
