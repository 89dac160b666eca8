// event: one thing that a process is told, and the batch of events that a step is given.
//
// When to use it. event and event_batch: in step(). Nodes are for the scheduler.
// Threads. A node belongs to one thread or one mailbox at a time. A batch belongs to the worker that runs the step.
// Memory.  A node is a block of 64 bytes. It comes from the tasks' pool; where a sanitizer or a checker watches, from
//          the heap.
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
    request,    // from(), data: as message, but the sender waits for an answer to reply()
    completed,  // tag, error, data: something that the process has called for is over
    cancel,     // asks the process to end; comes once
    ended,      // from(), data: the watched process has ended; data is a process_end
    kill,       // this and all below are for the scheduler: no step sees them
    watch,
    unwatch,
    link,
    unlink,
    linked_end,  // data: how the linked process has ended
    room,        // a message that the process had sent to a full mailbox has been taken
    look,        // data: a question about the process, which its worker answers (process_view.hpp)
    unanswered,  // tag: the receiver; call: the request. A step sees it as the end of that request
};

// Errors of the scheduler itself. A handler describes a failure of its own in the data.
enum class yield_error : std::uint8_t {
    none,
    unknown_command,
    handler_threw,
    failed,
    no_answer,  // a request's receiver has ended, or did not look at it
    timed_out,  // the time of a routine's call_for is over
};

// Names a request and the process that sent it, for an answer. A value. A late answer is dropped and counted, unless
// the process has made another call with the same tag by then: the answer then ends that call.
struct reply_to {
    pid to;
    std::uint32_t tag = 0;
    constexpr bool operator==(const reply_to&) const = default;
};

// For the scheduler: the kind of sender that waits until a message is taken.
enum class held_sender : std::uint8_t { none, process, thread };

struct event {
    event_type type = event_type::cancel;
    yield_error error = yield_error::none;
    held_sender held = held_sender::none;
    std::uint8_t wait = 0;   // for a held process, and for `room`: which of its waits
    std::uint32_t call = 0;  // for a request: its tag; for a link: its name
    std::uint64_t tag = 0;
    payload data;

    // The sender; a null pid if no process has sent it.
    pid from() const { return {is_mail() || type == event_type::ended ? tag : 0}; }
    reply_to reply() const { return {from(), call}; }
    // True for a message or a request: it counts against a bound, and becomes a dead letter if no step takes it.
    bool is_mail() const { return type == event_type::message || type == event_type::request; }
};

template <class Sync>
struct alignas(16) event_node {
    template <class T>
    event_node(event_type type, std::uint64_t tag, yield_error error, T&& data, std::uint32_t call)
        : what{type, error, held_sender::none, 0, call, tag, payload(std::forward<T>(data))} {}

    typename Sync::template cell<event_node*> next;
    event what;
};

template <class Sync>
struct event_blocks {
    using node = event_node<Sync>;
    using pool = basic_task_block_pool<Sync>;
    static_assert(!recycles_memory<Sync> || sizeof(node) <= pool::block_bytes);

    template <class T>
    static node* make(event_type type, std::uint64_t tag, yield_error error, T&& data, std::uint32_t call = 0) {
        if constexpr (recycles_memory<Sync>) {
            void* const block = pool::allocate();
            try {
                return ::new (block) node(type, tag, error, std::forward<T>(data), call);
            } catch (...) {
                pool::release(block);
                throw;
            }
        } else {
            return Sync::template create<node>(type, tag, error, std::forward<T>(data), call);
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

// A list of nodes, oldest first. It owns its nodes.
template <class Sync>
class event_list {
public:
    using node = event_node<Sync>;

    event_list() = default;
    // Takes over a chain that is linked from the newest to the oldest. Calls visit for each node, which this loop has
    // in the cache anyway.
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
    // Calls visit for every event, oldest first.
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
    node* newest_ = nullptr;  // valid while oldest_ is not null
};

// Where the cancel stands in a batch. A step that leaves it in the batch after other events gets it once more, alone.
enum class cancel_comes : std::uint8_t { not_now, last, alone };

// The events since the last step: messages and completions, oldest first, then the cancel. A message, a request
// or an `ended` that the step leaves in the batch is a dead letter when it returns; a completion counts as late.
template <class Sync>
class basic_event_batch {
    using node = event_node<Sync>;

public:
    basic_event_batch(event_list<Sync>&& events, cancel_comes c) : events_(std::move(events)), cancel_comes_(c) {}
    basic_event_batch(const basic_event_batch&) = delete;
    basic_event_batch& operator=(const basic_event_batch&) = delete;
    ~basic_event_batch() { let_go(); }

    // Takes the next event; null if there is none. The event is valid until the next call, or the end of the step.
    event* next() {
        let_go();
        if ((current_ = events_.pop()) != nullptr) return &current_->what;
        return std::exchange(cancel_comes_, cancel_comes::not_now) != cancel_comes::not_now ? &cancel_ : nullptr;
    }
    bool empty() const { return events_.empty() && cancel_comes_ == cancel_comes::not_now; }

    // For the scheduler, when the step has returned.
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
