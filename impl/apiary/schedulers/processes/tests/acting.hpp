// acting: processes made of callables, and helpers of the tests.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <apiary/schedulers/processes/processes.hpp>

namespace apiary {

class acting : public process {
public:
    using step_function = std::function<void(events&, output&)>;

    explicit acting(step_function f, std::function<void()> at_close = {})
        : step_(std::move(f)), at_close_(std::move(at_close)) {}
    init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
    void step(events& batch, output& out) override { step_(batch, out); }
    void close() noexcept override {
        if (at_close_) at_close_();
    }

private:
    step_function step_;
    std::function<void()> at_close_;
};

// A process that sets a bound in its init.
class bounded : public acting {
public:
    bounded(mailbox_limit l, step_function f, std::function<void()> at_close = {})
        : acting(std::move(f), std::move(at_close)), limit_(l) {}
    init_answer init(context& c, std::string_view, payload) override {
        c.mailbox = limit_;
        return init_answer::ready;
    }

private:
    mailbox_limit limit_;
};

// Passes each event to `on`; a cancel ends it.
inline std::unique_ptr<process> on_events(std::function<void(event&, step_output&)> on,
                                          std::function<void()> at_close = {}) {
    return std::make_unique<acting>(
        [on = std::move(on)](event_batch& batch, step_output& out) {
            while (event* e = batch.next())
                if (e->type == event_type::cancel)
                    out.finish();
                else
                    on(*e, out);
        },
        std::move(at_close));
}
inline std::unique_ptr<process> deaf() {
    return on_events([](event&, step_output&) {});
}

// Waits for something that must come, however slow the machine is.
template <class Condition>
void wait_for(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace apiary
