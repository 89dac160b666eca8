// A stop source of one callback at a time, every step of which an engine sees: std::stop_source
// asks its callbacks behind the engines' back, and its callback's destructor blocks there. What
// awaiter.hpp relies on is here as the standard has it: a callback runs on the thread that asks for
// the stop, or at once in its constructor behind that; its destructor waits until a call under way
// has returned, but for one inside that call.
//
// And what every check of this rung has in common: coroutines that go on where they are brought
// back.
#pragma once

#include <utility>

#include <apiary/model_check/register.hpp>
#include <apiary/testing/plain_coroutine.hpp>

namespace apiary::model {

template <class Sync>
class checked_stop_source {
public:
    class registered {
    public:
        registered(const registered&) = delete;
        registered& operator=(const registered&) = delete;

    protected:
        using call = void (*)(registered&);
        registered(checked_stop_source& s, call c) : source_(s), call_(c) {}
        ~registered() { source_.remove(*this); }
        void start() {
            if (!source_.add(*this)) call_(*this);
        }

    private:
        friend checked_stop_source;
        checked_stop_source& source_;
        const call call_;
    };

    void request_stop() {
        registered* asked;
        {
            const typename Sync::lock held(mutex_);
            requested_ = true;
            asked = running_ = std::exchange(registered_, nullptr);
        }
        if (asked == nullptr) return;
        Sync::set_current(asked);
        asked->call_(*asked);
        Sync::template set_current<registered>(nullptr);
        const typename Sync::lock held(mutex_);
        running_ = nullptr;
        ended_.notify_all();
    }

private:
    bool add(registered& r) {
        const typename Sync::lock held(mutex_);
        if (!requested_) registered_ = &r;
        return !requested_;
    }
    void remove(registered& r) {
        typename Sync::lock held(mutex_);
        if (registered_ == &r) registered_ = nullptr;
        if (Sync::template current<registered>() == &r) return;
        while (running_ == &r) {
            Sync::reach("stop.waited_for_the_call");
            ended_.wait(held);
        }
    }

    typename Sync::mutex mutex_;
    typename Sync::condvar ended_;
    // By mutex_.
    bool requested_ = false;
    registered* registered_ = nullptr;
    registered* running_ = nullptr;
};

template <class Sync>
struct checked_stop {
    struct token {
        checked_stop_source<Sync>* source = nullptr;
        bool stop_possible() const { return source != nullptr; }
    };
    template <class F>
    class callback : checked_stop_source<Sync>::registered {
        using base = typename checked_stop_source<Sync>::registered;

    public:
        callback(token t, F f) : base(*t.source, &run), f_(std::move(f)) { base::start(); }

    private:
        static void run(base& self) { static_cast<callback&>(self).f_(); }
        F f_;
    };
};

// What the checks start.
template <class Sync>
using coroutine = plain_coroutine<Sync, checked_stop<Sync>>;

template <class Sync>
struct coroutine_scenario {
    using place = typename coroutine<Sync>::place;
    using stop_source = checked_stop_source<Sync>;
    resume_here<Sync> home;

    place here() { return {home}; }
    place here(stop_source& s) { return {home, {&s}}; }
};

}  // namespace apiary::model
