// process_output: what a step's output does with the scheduler. Included by process_core.hpp, behind it; nobody else includes it.
// process.hpp says what each call means.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>

namespace apiary {

template <class Sync>
process_place<Sync>::process_place() : job<Sync>(&process_core<Sync>::run_it) {}

template <class Sync>
template <class T>
send_answer basic_step_output<Sync>::send(pid to, T&& data) {
    const send_answer said = core_.send_by(&worker_, &place_, self_, to, std::forward<T>(data));
    if (to == self_ && said == send_answer::accepted) sent_to_itself_ = true;
    return said;
}
template <class Sync>
send_answer basic_step_output<Sync>::watch(pid which) {
    return core_.tell(&worker_, self_, which, event_type::watch);
}
template <class Sync>
send_answer basic_step_output<Sync>::unwatch(pid which) {
    return core_.tell(&worker_, self_, which, event_type::unwatch);
}
template <class Sync>
send_answer basic_step_output<Sync>::link(pid which) {
    auto& links = place_.more().links;
    if (which == self_ || links.find(which) != nullptr) return send_answer::accepted;
    const std::uint32_t name = links.make(which);
    send_answer a = send_answer::no_such_process;
    try {
        a = core_.tell(&worker_, self_, which, event_type::link, name);
    } catch (...) {
        (void)links.erase(which);
        throw;
    }
    if (a != send_answer::accepted) (void)links.erase(which);
    return a;
}
template <class Sync>
send_answer basic_step_output<Sync>::unlink(pid which) {
    const auto* const link = place_.has_more() ? place_.more().links.find(which) : nullptr;
    if (link == nullptr) return send_answer::no_such_process;
    const send_answer a = core_.tell(&worker_, self_, which, event_type::unlink, link->theirs);
    (void)place_.more().links.erase(which);
    return a;
}
template <class Sync>
template <class T>
send_answer basic_step_output<Sync>::request(pid to, std::uint32_t tag, T&& data) {
    if (!place_.called_for(tag)) {
        misused_ = true;
        return send_answer::no_such_process;
    }
    return core_.request_by(worker_, place_, to, tag, std::forward<T>(data));
}
template <class Sync>
template <class T>
send_answer basic_step_output<Sync>::answer(reply_to what, T&& data) {
    // Paid after the answer: if that throws, the request is still owed.
    const send_answer a = core_.complete_by(&worker_, what.to, what.tag, std::forward<T>(data), yield_error::none);
    (void)place_.pay(what);
    return a;
}
template <class Sync>
spawn_answer basic_step_output<Sync>::spawn(std::unique_ptr<basic_process<Sync>> child, std::string_view method,
                                            payload input) {
    return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_);
}
template <class Sync>
spawn_answer basic_step_output<Sync>::spawn_watched(std::unique_ptr<basic_process<Sync>> child, std::string_view method,
                                                    payload input) {
    return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_, true);
}
template <class Sync>
void basic_step_output<Sync>::call(std::uint32_t id, std::uint64_t tag, payload arguments) {
    worker_.sources().commands().push_back({self_, tag, id, std::move(arguments)});
}
template <class Sync>
void basic_step_output<Sync>::sleep(std::int64_t ns, std::uint64_t tag) {
    const std::int64_t now = core_.now_ns();
    const std::int64_t deadline = ns < INT64_MAX - 1 - now ? now + std::max<std::int64_t>(ns, 0) : INT64_MAX - 1;
    call(core::sleep_command, tag, payload(deadline));
}

}  // namespace apiary
