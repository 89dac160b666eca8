// routine: a process written as a coroutine: it waits by co_await, in the middle of its code.
//
//     apiary::routine adder(apiary::routine_self& me) {
//         for (int sum = 0;;) {
//             apiary::event e = co_await me.receive();
//             if (const int* n = e.data.get<int>()) sum += *n;
//             if (e.type == apiary::event_type::request) me.answer(e.reply(), sum);
//         }
//     }
//
//     const auto made = all.spawn(apiary::as_process(adder));
//
// When to use it. For most processes: local variables and loops replace the members and the switch of a state machine.
// When not: if a million processes must be small; each routine also has a frame, a block of a few hundred bytes.
//
//   co_await me.receive()                 the oldest message, request or end of a watched process
//   co_await me.receive(wanted)           the oldest that `wanted(event&)` accepts; the others wait for a later receive
//   co_await me.sleep(ns)                 waits at least so long
//   co_await me.call(pid, data)           sends a request; its result is the answer
//   co_await me.command(id, data)         the result of the scheduler's handler of that id
//   co_await me.receive_for(ns)           as receive, within a time that begins with the wait: an optional, empty
//   co_await me.receive_for(ns, wanted)   if the time is over and no wanted event has come; a time of 0 lets others run
//   co_await me.call_for(ns, pid, data)   after that time its error is timed_out, and a later answer is dropped
//
// The class uses the tags 1, 2, and so on. A routine that calls through me.out() uses 0 or a tag above 2^32; it is not
// told when such a call ends. If it uses a tag that the class has in use, the process ends as misused.
//
// Sleeps, calls and commands block: meanwhile messages wait in the mailbox and count against its bound. Messages that a
// step has taken but the routine has not received wait inside the routine, where no bound counts them. If the routine
// ends, for any reason, the messages inside it are dead letters.
//
// A cancel ends the present wait, or the next one, by throwing wait_cancelled, once. A routine that lets the exception
// out finishes; one that catches it may wait again, to clean up. Any other exception that leaves the routine ends the
// process as `threw`. What `wanted` throws leaves the co_await. If the process is killed, its frame is destroyed where
// it waits, outside of any step; a message that a destructor of its locals sends then has no sender.
//
// Time. A timer belongs to the worker that ran the routine when the wait began: if that worker is in a long step, the
// timer fires late. A wait with a limit that ends early leaves its timer for later waits, so a routine that always uses
// the same limit has one timer at a time. Timers left over at the routine's end count as late completions when they
// fire.
//
// Threads. The workers', one at a time, as of any process. `me` lives as long as the routine.
// Memory.  The frame: frame_storage. Tested by routine_test.cpp.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>
#include <apiary/tasks/frame_storage.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

template <class Sync = real_sync>
class basic_routine {
public:
    struct promise_type {
        std::exception_ptr thrown;

        static void* operator new(std::size_t bytes) { return frame_storage<Sync>::allocate(bytes); }
        static void operator delete(void* p, std::size_t bytes) noexcept { frame_storage<Sync>::release(p, bytes); }
        basic_routine get_return_object() {
            return basic_routine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() noexcept { thrown = std::current_exception(); }
    };

    basic_routine() = default;
    basic_routine(basic_routine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    basic_routine& operator=(basic_routine&& other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~basic_routine() {
        if (frame_) frame_.destroy();
    }

    // For the process that runs the routine.
    explicit operator bool() const { return frame_ != nullptr; }
    std::coroutine_handle<> frame() const { return frame_; }
    bool ended() const { return frame_.done(); }
    std::exception_ptr thrown() const { return frame_.promise().thrown; }

private:
    explicit basic_routine(std::coroutine_handle<promise_type> f) : frame_(f) {}
    std::coroutine_handle<promise_type> frame_ = nullptr;
};

// The result of a call. True: there is an answer, in `data`.
struct call_answer {
    send_answer sent = send_answer::accepted;
    yield_error error = yield_error::none;
    payload data;

    explicit operator bool() const { return sent == send_answer::accepted && error == yield_error::none; }
};

template <class Sync>
class basic_routine_process;

template <class Sync = real_sync>
class basic_routine_self {
    // The wait at which the routine stands. `ready` says whether it can go on now.
    struct waiting {
        bool (*ready)(waiting&);
        basic_routine_self& me;
        std::coroutine_handle<> frame = nullptr;
        bool cancelled = false;

        bool await_ready() { return ready(*this) || give_up(); }
        void await_suspend(std::coroutine_handle<> h) {
            frame = h;
            me.at_ = this;
        }
        bool give_up() { return cancelled = std::exchange(me.cancelled_, false); }
        void check() const {
            if (cancelled) throw wait_cancelled();
        }
    };
    struct letter : waiting {
        explicit letter(basic_routine_self& r) : waiting{&come, r} {}
        static bool come(waiting& w) {
            basic_routine_self& r = w.me;
            if (!r.has_mail()) return false;
            static_cast<letter&>(w).got = std::move(r.mail_[r.next_mail_++]);
            r.forget_consumed();
            return true;
        }
        event await_resume() {
            this->check();
            return std::move(got);
        }
        event got;
    };
    template <class Wanted>
    struct wanted_letter : waiting {
        wanted_letter(basic_routine_self& r, Wanted w) : waiting{&come, r}, wanted(std::move(w)) {}
        static bool come(waiting& w) {
            auto& mine = static_cast<wanted_letter&>(w);
            auto& mail = w.me.mail_;
            for (std::size_t at = w.me.next_mail_ + mine.looked; at != mail.size(); ++at, ++mine.looked)
                if (mine.wants(mail[at])) {
                    if (mine.thrown != nullptr) return true;
                    mine.got = std::move(mail[at]);
                    w.me.take_out(at);
                    return true;
                }
            return false;
        }
        // True also if `wanted` throws. The wait is over then, and the exception leaves it: in the routine, which may
        // catch it, though this may be called by a step.
        bool wants(event& e) {
            try {
                return wanted(e);
            } catch (...) {
                thrown = std::current_exception();
                return true;
            }
        }
        event await_resume() {
            if (thrown != nullptr) std::rethrow_exception(std::exchange(thrown, nullptr));
            this->check();
            return std::move(got);
        }
        Wanted wanted;
        std::exception_ptr thrown;
        std::size_t looked = 0;  // so many events were examined and not wanted
        event got;
    };
    // A wait for the end of a call, a command or a sleep.
    struct completion : waiting {
        completion(basic_routine_self& r, bool begun) : waiting{&come, r}, tag(r.next_tag_), over(!begun) {}
        static bool come(waiting& w) {
            auto& mine = static_cast<completion&>(w);
            w.me.tag_ = mine.over ? 0 : mine.tag;
            return mine.over;
        }
        event await_resume() {
            this->me.tag_ = 0;
            this->check();
            return std::move(got);
        }
        const std::uint32_t tag;
        bool over;
        event got;
    };
    struct nap : completion {
        using completion::completion;
        void await_resume() { (void)completion::await_resume(); }
    };
    struct calling : completion {
        calling(basic_routine_self& r, send_answer a) : completion(r, a == send_answer::accepted), sent(a) {}
        call_answer await_resume() {
            event e = completion::await_resume();
            return {sent, e.error, std::move(e.data)};
        }
        send_answer sent;
    };
    // A wait with a limit. An event that has come counts even if the time is over.
    template <class Waiting>
    struct limited : Waiting {
        limited(Waiting&& w, std::int64_t limit_ns) : Waiting(std::move(w)), ns(limit_ns) { this->ready = &come; }
        static bool come(waiting& w) {
            return Waiting::come(w) || (static_cast<limited&>(w).late = w.me.time_is_over());
        }
        void await_suspend(std::coroutine_handle<> h) {
            try {
                this->me.limit(ns);
            } catch (...) {  // no memory: the wait does not begin, and leaves nothing to a later one
                this->me.no_limit();
                this->me.tag_ = 0;
                throw;
            }
            Waiting::await_suspend(h);
        }
        auto await_resume() {
            this->me.no_limit();
            if constexpr (std::is_same_v<Waiting, calling>) {
                call_answer a = Waiting::await_resume();
                if (late) a.error = yield_error::timed_out;
                return a;
            } else {
                return late ? std::optional<event>() : Waiting::await_resume();
            }
        }
        const std::int64_t ns;
        bool late = false;
    };
    // A wait with a limit has a timer that fires no later than the limit; it may be the timer of an earlier wait.
    struct timer {
        std::int64_t deadline_ns;
        std::uint64_t tag;
    };
    struct limits {
        std::vector<timer> timers;  // timers that have not fired; each is due before the one in front of it
        std::int64_t deadline_ns = no_deadline;
        bool over = false;
    };
    static constexpr std::int64_t no_deadline = INT64_MAX;

public:
    using output = basic_step_output<Sync>;
    basic_routine_self() = default;
    basic_routine_self(const basic_routine_self&) = delete;
    basic_routine_self& operator=(const basic_routine_self&) = delete;

    [[nodiscard]] auto receive() { return letter(*this); }
    template <class Wanted>
    [[nodiscard]] auto receive(Wanted wanted) {
        return wanted_letter<Wanted>(*this, std::move(wanted));
    }
    [[nodiscard]] auto receive_for(std::int64_t ns) { return limited<letter>(receive(), ns); }
    template <class Wanted>
    [[nodiscard]] auto receive_for(std::int64_t ns, Wanted wanted) {
        return limited<wanted_letter<Wanted>>(receive(std::move(wanted)), ns);
    }
    [[nodiscard]] auto sleep(std::int64_t ns) {
        out().sleep(ns, new_tag());
        return nap(*this, true);
    }
    template <class T>
    [[nodiscard]] auto call(pid to, T&& data) {
        return calling(*this, out().request(to, new_tag(), std::forward<T>(data)));
    }
    template <class T>
    [[nodiscard]] auto call_for(std::int64_t ns, pid to, T&& data) {
        return limited<calling>(call(to, std::forward<T>(data)), ns);
    }
    [[nodiscard]] auto command(std::uint32_t id, payload arguments = {}) {
        out().call(id, new_tag(), std::move(arguments));
        return completion(*this, true);
    }

    // True if a receive would return at once.
    bool has_mail() const { return next_mail_ != mail_.size(); }

    // As in a step's output (process_output.hpp).
    template <class T>
    send_answer send(pid to, T&& data) {
        return out_ != nullptr ? out_->send(to, std::forward<T>(data)) : core_->send(to, std::forward<T>(data));
    }
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {}) {
        return out_ != nullptr ? out_->answer(what, std::forward<T>(data)) : core_->answer(what, std::forward<T>(data));
    }
    output& out() const { return *out_; }  // of the running step; do not keep it across a co_await
    process_core<Sync>& scheduler() const { return *core_; }
    pid self() const { return self_; }
    pid parent() const { return parent_; }
    // The method that was passed to the spawn.
    const std::string& method() const { return method_; }
    payload& input() { return input_; }

private:
    friend basic_routine_process<Sync>;

    // Takes over one event of a step's batch.
    void take(event&& e) {
        if (e.type == event_type::cancel) {
            cancelled_ = true;
        } else if (e.type != event_type::completed) {
            keep_mail(std::move(e));
        } else if (timer_fired(e.tag)) {
            return;
        } else if (tag_ != 0 && e.tag == tag_) {  // otherwise its wait has ended, or the tag is the user's own
            auto& c = static_cast<completion&>(*at_);
            c.got = std::move(e);
            c.over = true;
        }
    }
    // The frame that can go on now; null: none.
    std::coroutine_handle<> ready() {
        if (at_ == nullptr || !(at_->ready(*at_) || at_->give_up())) return nullptr;
        return std::exchange(at_, nullptr)->frame;
    }
    bool blocked() const { return tag_ != 0; }
    std::uint32_t new_tag() {
        if (++next_tag_ == 0) ++next_tag_;  // 0: it waits for no call
        return next_tag_;
    }

    bool time_is_over() const { return limits_ != nullptr && limits_->over; }
    void limit(std::int64_t ns) {
        if (limits_ == nullptr) limits_ = std::make_unique<limits>();
        const std::int64_t now = core_->now_ns();
        limits_->deadline_ns = ns < no_deadline - now ? now + std::max<std::int64_t>(ns, 0) : no_deadline;
        need_timer(now);
    }
    void no_limit() {
        if (limits_ == nullptr) return;
        limits_->deadline_ns = no_deadline;
        limits_->over = false;
    }
    void need_timer(std::int64_t now) {
        const std::int64_t deadline = limits_->deadline_ns;
        std::vector<timer>& timers = limits_->timers;
        if (deadline == no_deadline || (!timers.empty() && timers.back().deadline_ns <= deadline)) return;
        out().sleep(deadline - now, new_tag());
        timers.push_back({deadline, next_tag_});
    }
    bool timer_fired(std::uint64_t tag) {
        if (limits_ == nullptr || std::erase_if(limits_->timers, [=](const timer& t) { return t.tag == tag; }) == 0)
            return false;
        const std::int64_t now = core_->now_ns();
        limits_->over = limits_->deadline_ns <= now;
        if (!limits_->over) need_timer(now);
        return true;
    }
    // Without memory the event becomes a dead letter, the step throws, and the routine ends.
    void keep_mail(event&& e) {
        try {
            mail_.push_back(std::move(e));
        } catch (const std::bad_alloc&) {
            core_->bury(self_, std::move(e));
            throw;
        }
    }
    void bury_mail() {
        while (has_mail()) core_->bury(self_, std::move(mail_[next_mail_++]));
    }
    // Removes an event by moving those before it, which were examined, or those after it, whichever are fewer.
    void take_out(std::size_t at) {
        const auto first = mail_.begin() + static_cast<std::ptrdiff_t>(next_mail_);
        const auto it = mail_.begin() + static_cast<std::ptrdiff_t>(at);
        if (mail_.end() - it <= it - first) return void(mail_.erase(it));
        std::move_backward(first, it, it + 1);
        ++next_mail_;
        forget_consumed();
    }
    // Erases the consumed events once they are half of all, so each event is moved at most once on average.
    void forget_consumed() {
        if (next_mail_ * 2 < mail_.size()) return;
        mail_.erase(mail_.begin(), mail_.begin() + static_cast<std::ptrdiff_t>(next_mail_));
        next_mail_ = 0;
    }

    process_core<Sync>* core_ = nullptr;
    output* out_ = nullptr;  // valid while a step runs
    waiting* at_ = nullptr;
    std::vector<event> mail_;  // not a deque, which has memory even when it is empty
    std::size_t next_mail_ = 0;
    std::uint32_t next_tag_ = 0, tag_ = 0;  // tag_: the call that it waits for
    bool cancelled_ = false;
    std::unique_ptr<limits> limits_;  // null until the first wait with a limit
    pid self_, parent_;
    std::string method_;
    payload input_;
};

template <class Sync = real_sync>
class basic_routine_process : public basic_process<Sync> {
    using base = basic_process<Sync>;

public:
    using self = basic_routine_self<Sync>;
    using body = std::function<basic_routine<Sync>(self&)>;

    explicit basic_routine_process(body b, mailbox_limit mailbox = {}) : body_(std::move(b)), mailbox_(mailbox) {}

    init_answer init(typename base::context& c, std::string_view method, payload input) override {
        c.mailbox = mailbox_;
        me_.core_ = &c.scheduler;
        me_.self_ = c.self;
        me_.parent_ = c.parent;
        me_.method_ = method;
        me_.input_ = std::move(input);
        return init_answer::ready;
    }
    void step(typename base::events& batch, typename base::output& out) override {
        const struct scope {
            self& me;
            ~scope() { me.out_ = nullptr; }
        } in_step{me_};
        me_.out_ = &out;
        while (event* e = batch.next()) me_.take(std::move(*e));
        if (!routine_) {
            routine_ = body_(me_);
            routine_.frame().resume();
        }
        while (!routine_.ended()) {
            const std::coroutine_handle<> next = me_.ready();
            if (!next) return me_.blocked() ? out.block() : out.wait();
            next.resume();
        }
        if (const std::exception_ptr thrown = routine_.thrown()) try {
                std::rethrow_exception(thrown);
            } catch (const wait_cancelled&) {
            }
        out.finish();
    }
    void close() noexcept override {
        routine_ = {};  // its locals are destroyed before its mail is buried, as in any process
        me_.bury_mail();
    }

private:
    const body body_;
    const mailbox_limit mailbox_;
    self me_;
    basic_routine<Sync> routine_;
};

// Makes a process from a function or a lambda, which lives as long as the process.
template <class Sync = real_sync>
std::unique_ptr<basic_process<Sync>> as_process(typename basic_routine_process<Sync>::body b,
                                                mailbox_limit mailbox = {}) {
    return std::make_unique<basic_routine_process<Sync>>(std::move(b), mailbox);
}

using routine = basic_routine<>;
using routine_self = basic_routine_self<>;

}  // namespace apiary
