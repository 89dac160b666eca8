// The one runner: every verdict of every engine passes through here and is judged here.
//
// Each simulation runs in a forked child (job.hpp), because Relacy stands one per process and because a check may
// crash, hang or corrupt memory. A child that dies, runs out of time or sends less than a whole verdict gives the
// verdict `error`; so does a check that did nothing: a thread that ran no watched operation, no law asked. A failure that Relacy found is replayed in a second child, which both
// fetches the trace and shows that the token reproduces the failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

struct task {
    const check_entry* check = nullptr;
    engine with = engine::relacy;
};

struct [[nodiscard]] judged {
    task ran;
    verdict found;
    bool as_expected = false;
    std::string verdict_word;  // "pass", "fail", "budget", "error"
    std::string differs;       // why this engine's verdict is not the other's; empty where it is
    std::string replay_line;   // complete arguments; empty when there is nothing to replay
};

// `told` is called in the order of `tasks`, as soon as each verdict and all before it are known.
// `timeout_seconds` is for one simulation; 0 means twice its budget and two minutes more.
// Returns whether every verdict was as expected.
[[nodiscard]] bool run_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
                           const std::function<void(const judged&)>& told);

const char* engine_name(engine e);
const char* kind_name(check_kind k);

}  // namespace apiary::model
