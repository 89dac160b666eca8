// A process that works out one verdict and sends it back through a pipe: the runner's simulations, and the jobs of the
// explorer.
//
// A verdict counts when it came whole, up to its end mark, from a process that ended with status 0. Everything else is
// outcome::error with what was seen: a signal, a status, too few bytes.
//
// No process outlives its parent: the kernel kills it when the parent ends, however that ends, and the destructor
// kills and reaps it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

class job {
public:
    // A group of its own holds the process and the jobs that it starts in turn; it is killed and reaped as a whole.
    enum class group { own, inherited };

    // Starts `work` in a new process. Where that cannot be, the job is done at once and its result an error.
    job(const std::function<verdict()>& work, group g);
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    ~job();

    // To be polled for reading; -1 when done.
    [[nodiscard]] int descriptor() const { return in_; }
    [[nodiscard]] bool done() const { return in_ < 0; }
    // To be called when there is something to read. Waits for what comes next, when nothing is there.
    void pump();
    // Ends it now. The result is an error that says why.
    void stop(const std::string& why);
    [[nodiscard]] verdict& result() { return result_; }

private:
    [[noreturn]] static void child(const std::function<verdict()>& work, int out);
    void kill_and_reap();
    void finish();

    pid_t pid_ = -1;
    bool leads_ = false;
    int in_ = -1;
    std::string bytes_;
    verdict result_;
};

// What a process that sent `bytes` and ended with `status` (as waitpid gives it) has to say.
[[nodiscard]] verdict read_verdict(std::string_view bytes, int status);

[[nodiscard]] verdict error_verdict(std::string reason);

// Orphans of this process's jobs come to it, so that it can reap them. Once, before the first job.
void adopt_orphans();

}  // namespace apiary::model
