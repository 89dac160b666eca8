// See job.hpp.
#include <apiary/model_check/job.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include <apiary/model_check/verdict_wire.hpp>

namespace apiary::model {

namespace {

int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool send(int out, const std::string& bytes) {
    for (std::size_t at = 0; at != bytes.size();) {
        const ssize_t n = ::write(out, bytes.data() + at, bytes.size() - at);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) at += static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

verdict error_verdict(std::string reason) {
    verdict v;
    v.reason = std::move(reason);
    return v;
}

verdict read_verdict(std::string_view bytes, int status) {
    if (WIFSIGNALED(status))
        return error_verdict(std::string("the simulation was ended by a signal: ") + ::strsignal(WTERMSIG(status)));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_verdict("the simulation ended with status " +
                             std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status) +
                             "; what it had sent is not taken for a verdict");
    if (std::optional<verdict> v = from_wire(bytes); v.has_value()) return std::move(*v);
    return error_verdict("the simulation ended without a whole verdict: " + std::to_string(bytes.size()) +
                         " bytes came, and no end mark");
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

job::job(const std::function<verdict()>& work, group g) : leads_(g == group::own) {
    int ends[2];
    if (::pipe(ends) != 0) {
        result_ = error_verdict(std::string("pipe: ") + std::strerror(errno));
        return;
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        // The parent may have ended before the kernel was asked.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        if (leads_) ::setpgid(0, 0);
        for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::signal(s, SIG_DFL);
        ::close(ends[0]);
        child(work, ends[1]);
    }
    ::close(ends[1]);
    in_ = ends[0];
    if (pid_ < 0) {
        result_ = error_verdict(std::string("fork: ") + std::strerror(errno));
        finish();
    } else if (leads_) {
        ::setpgid(pid_, pid_);  // whichever of the two comes first
    }
}

job::~job() {
    kill_and_reap();
    finish();
}

void job::child(const std::function<verdict()>& work, int out) {
    verdict v;
    try {
        v = work();
    } catch (const std::exception& e) {
        v = error_verdict(std::string("an exception left the check: ") + e.what());
    }
    ::_exit(send(out, to_wire(v)) ? 0 : 1);
}

void job::pump() {
    char buffer[65536];
    const ssize_t n = ::read(in_, buffer, sizeof buffer);
    if (n > 0) {
        bytes_.append(buffer, static_cast<std::size_t>(n));
        return;
    }
    if (n < 0 && errno == EINTR) return;
    result_ = read_verdict(bytes_, wait_for(std::exchange(pid_, -1)));
    finish();
}

void job::stop(const std::string& why) {
    if (done()) return;
    kill_and_reap();
    result_ = error_verdict(why);
    finish();
}

void job::kill_and_reap() {
    if (pid_ <= 0) return;
    if (leads_) ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
    if (leads_)  // its own jobs, which have come to this process (adopt_orphans)
        while (::waitpid(-pid_, nullptr, 0) > 0 || errno == EINTR) {
        }
    pid_ = -1;
}

void job::finish() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
}

}  // namespace apiary::model
