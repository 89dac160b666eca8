// supervisor: a process that starts others, watches them, and restarts those that fail, up to a limit.
//
//     all.spawn(std::make_unique<apiary::supervisor>(
//         std::vector<apiary::supervisor::child>{{[] { return std::make_unique<session>(); }, "entry"}},
//         apiary::supervisor::options{.strategy = apiary::restart_strategy::one_for_all}));
//
// When to use it. For processes on which others rely and whose state may be lost. When not: for a process that is
// spawned to do one thing and end.
//
//   one_for_one   the child that has failed is started again
//   one_for_all   all children are cancelled; when the last has ended, all that had not finished are started again
//
// A child fails if it ends otherwise than by finish (process_end), or if its init refuses. A child that finished is not
// started again; when all have finished the supervisor finishes. After more than `restarts` failures within `within_ns`
// the supervisor kills the other children, waits until the last has ended, and throws supervisor_gave_up. Its watchers
// are told `threw`, so supervisors can be nested. If it is cancelled it cancels its children, and finishes after the
// last. It kills children that do not heed a cancel within `patience_ns`. If anything else ends it (a kill, or a `make`
// that throws), its `close` kills the living children. They end when workers come to them, so a watcher may be told of
// the supervisor's end first.
//
// Threads. As of any process (process.hpp): its steps call `make`, one at a time.
// Tested by supervisor_test.cpp. It follows Erlang/OTP's supervisor with the restart type `transient`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>

namespace apiary {

enum class restart_strategy : std::uint8_t { one_for_one, one_for_all };

struct supervisor_gave_up : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class Sync = real_sync>
class basic_supervisor : public basic_process<Sync> {
    using base = basic_process<Sync>;
    using output = typename base::output;

public:
    struct child {
        std::function<std::unique_ptr<base>()> make;
        std::string method = {};
    };
    struct options {
        restart_strategy strategy = restart_strategy::one_for_one;
        unsigned restarts = 3;
        std::int64_t within_ns = 5'000'000'000;
        std::int64_t patience_ns = 1'000'000'000;
    };

    explicit basic_supervisor(std::vector<child> children, options o = {}) : options_(o) {
        for (child& c : children) children_.push_back({std::move(c), {}, false});
    }

    init_answer init(typename base::context&, std::string_view, payload) override { return init_answer::ready; }
    void step(typename base::events& batch, output& out) override {
        if (std::exchange(core_, &out.scheduler()) == nullptr) start_all(out);
        while (event* e = batch.next()) {
            if (e->type == event_type::cancel && now_ < ending) stop_all(out, ending);
            // The patience of this stop is over; an earlier stop has another tag.
            if (e->type == event_type::completed && e->tag == patience_) kill_all();
            if (e->type == event_type::ended) child_ended(out, e->from(), *e->data.template get<process_end>());
        }
        if (living_ != 0) return;
        if (now_ == giving_up) throw supervisor_gave_up("supervisor: more failures than its options allow");
        out.finish();  // all children are done, or it was cancelled
    }
    // It was killed, forced, or left by an exception: no process would watch the children any more.
    void close() noexcept override { kill_living(); }

private:
    struct supervised {
        child what;
        pid id;  // null: the child does not live
        bool done = false;
        bool had_ended = false;  // before the last stop of all could cancel it
    };
    enum phase : std::uint8_t { running, restarting, ending, giving_up };

    void start_all(output& out) {
        now_ = running;
        for (supervised& c : children_)
            if (!c.done && now_ == running) start(out, c);
    }
    void start(output& out, supervised& c) {
        for (;;) {
            // Spawns and watches in one call: a later watch could find that the child has ended.
            if (const spawn_answer made = out.spawn_watched(c.what.make(), c.what.method)) {
                c.id = made.id;
                ++living_;
                return;
            }
            if (!may_restart(out)) return give_up();
            if (options_.strategy == restart_strategy::one_for_all && living_ != 0) return stop_all(out, restarting);
        }
    }
    void child_ended(output& out, pid which, process_end how) {
        const auto c =
            std::find_if(children_.begin(), children_.end(), [which](const supervised& s) { return s.id == which; });
        if (c == children_.end()) return;
        c->id = {};
        --living_;
        // What was cancelled finishes, too, and is started again.
        c->done = how == process_end::finished && (now_ == running || c->had_ended);
        if (now_ == restarting && living_ == 0) return start_all(out);
        if (now_ != running || c->done) return;
        if (!may_restart(out)) return give_up();
        if (options_.strategy == restart_strategy::one_for_one) return start(out, *c);
        if (living_ == 0) return start_all(out);
        stop_all(out, restarting);
    }
    // Notes a failure. False: that was one failure too many.
    bool may_restart(output& out) {
        const std::int64_t now = out.scheduler().now_ns();
        while (!failures_.empty() && now - failures_.front() > options_.within_ns) failures_.pop_front();
        failures_.push_back(now);
        return failures_.size() <= options_.restarts;
    }
    void stop_all(output& out, phase why) {
        now_ = why;
        for (supervised& c : children_)
            if (c.id) c.had_ended = out.scheduler().cancel(c.id) != send_answer::accepted;
        out.sleep(options_.patience_ns, ++patience_);
    }
    void kill_all() {
        if (now_ == running) return;  // all have been started again already
        kill_living();
    }
    // If there is no memory for a kill, the child is cancelled, which needs none.
    void kill_living() noexcept {
        for (const supervised& c : children_) {
            if (!c.id) continue;
            try {
                (void)core_->kill(c.id);
            } catch (const std::bad_alloc&) {
                (void)core_->cancel(c.id);
            }
        }
    }
    void give_up() {
        now_ = giving_up;
        kill_all();
    }

    const options options_;
    process_core<Sync>* core_ = nullptr;  // set by the first step
    std::vector<supervised> children_;
    std::deque<std::int64_t> failures_;  // the times of the failures within the window, ascending
    std::size_t living_ = 0;
    std::uint64_t patience_ = 0;  // the tag of the last sleep
    phase now_ = running;
};

using supervisor = basic_supervisor<>;

}  // namespace apiary
