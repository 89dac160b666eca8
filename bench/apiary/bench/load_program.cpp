// Starts the load program with pipes and reads its lines.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <apiary/bench/ledger.hpp>
#include <apiary/bench/load_program.hpp>

extern char** environ;

namespace apiary::bench {

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        if (end != at) words.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

template <class T>
T number(const std::string& text, int base = 10) {
    T n{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = [&] {
        if constexpr (std::is_floating_point_v<T>)
            return std::from_chars(text.data(), end, n);
        else
            return std::from_chars(text.data(), end, n, base);
    }();
    if (text.empty() || error != std::errc() || stop != end)
        throw std::runtime_error("the load program said '" + text.substr(0, 60) + "' where a number is due");
    return n;
}

}  // namespace

load_program::load_program(const run_options& options, std::string_view scenario, std::uint64_t backends,
                           std::uint64_t ask) {
    std::vector<std::string> words{options.load_path, "--scenario", std::string(scenario),       "--plan",
                                   options.plan_path, "--seed",     std::to_string(options.seed)};
    const auto add = [&](const char* name, std::uint64_t value) {
        words.insert(words.end(), {name, std::to_string(value)});
    };
    add("--connections", options.param("connections"));
    add("--bytes", options.param("bytes"));
    if (backends != 0) add("--backends", backends), add("--ask", ask);
    if (!options.hist_path.empty()) words.insert(words.end(), {"--hist", options.hist_path});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    std::array<int, 2> down{}, up{};
    if (::pipe2(down.data(), O_CLOEXEC) != 0 || ::pipe2(up.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, down[0], 0);
    ::posix_spawn_file_actions_adddup2(&files, up[1], 1);
    const int error = ::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(down[0]);
    ::close(up[1]);
    to_ = ::fdopen(down[1], "w");
    from_ = ::fdopen(up[0], "r");
    if (error != 0) {
        pid_ = -1;
        end();
        throw std::runtime_error("--load: '" + options.load_path + "' cannot be started: " + std::strerror(error));
    }
    (void)::signal(SIGPIPE, SIG_IGN);  // a child that has died is told by its status
}

std::vector<std::uint16_t> load_program::backends() {
    std::vector<std::uint16_t> ports;
    for (const std::string& word : words_of(heard("backends"))) ports.push_back(number<std::uint16_t>(word));
    return ports;
}

void load_program::connect_to(std::uint16_t port) {
    say("port " + std::to_string(port));
    (void)heard("begin");
}

void load_program::go() { say("go"); }

report load_program::result() {
    const std::string line = heard("end");
    std::map<std::string, std::string> told;
    for (const std::string& word : words_of(line)) {
        const std::size_t sign = word.find('=');
        if (sign != std::string::npos) told.emplace(word.substr(0, sign), word.substr(sign + 1));
    }
    const auto text = [&](const char* key) {
        const auto found = told.find(key);
        if (found == told.end())
            throw std::runtime_error("the load program's end has no " + std::string(key) + ": " + line);
        return found->second;
    };
    const auto count = [&](const char* key, int base = 10) {
        const std::string t = text(key);
        return t.empty() ? row::count{} : number<std::uint64_t>(t, base);
    };
    const auto real = [&](const char* key) {
        const std::string t = text(key);
        return t.empty() ? row::real{} : number<double>(t);
    };
    report result;
    row& r = result.measured;
    r.warmup_blocks = 0;
    r.blocks = 1;
    r.ops = count("ops");
    r.wall_ns = count("wall_ns");
    r.offered_per_s = real("offered_per_s");
    r.achieved_per_s = real("achieved_per_s");
    r.lat_count = count("lat_count");
    r.lat_min_ns = count("lat_min_ns");
    r.lat_p50_ns = count("lat_p50_ns");
    r.lat_p90_ns = count("lat_p90_ns");
    r.lat_p95_ns = count("lat_p95_ns");
    r.lat_p99_ns = count("lat_p99_ns");
    r.lat_p999_ns = count("lat_p999_ns");
    r.lat_max_ns = count("lat_max_ns");
    r.lateness_p99_ns = count("lateness_p99_ns");
    r.check = count("check", 16);
    r.flags = text("flags");
    if (text("wrong") != "0") result.wrong("an answer was wrong or is missing");
    result.audit("the run", r.check.value_or(0), expected_sum(r.ops.value_or(0)));
    return result;
}

bool load_program::ended_well() {
    const int status = wait();
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 4)) return WEXITSTATUS(status) == 0;
    throw std::runtime_error("the load program ended " + (WIFSIGNALED(status)
                                                              ? "by signal " + std::to_string(WTERMSIG(status))
                                                              : "with status " + std::to_string(WEXITSTATUS(status))));
}

void load_program::end() noexcept {
    if (pid_ > 0) {
        (void)::kill(pid_, SIGKILL);
        (void)wait();
    }
    if (to_ != nullptr) (void)std::fclose(std::exchange(to_, nullptr));
    if (from_ != nullptr) (void)std::fclose(std::exchange(from_, nullptr));
}

int load_program::wait() noexcept {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
}

void load_program::say(const std::string& line) {
    if (std::fprintf(to_, "%s\n", line.c_str()) < 0 || std::fflush(to_) != 0) (void)heard("(nothing)");
}

std::string load_program::heard(const std::string& first_word) {
    std::string line;
    for (int c; (c = std::fgetc(from_)) != EOF && c != '\n';)
        if (line.size() < 4096) line.push_back(static_cast<char>(c));
    if (line.starts_with(first_word) && (line.size() == first_word.size() || line[first_word.size()] == ' '))
        return line.substr(first_word.size());
    if (!line.empty())
        throw std::runtime_error("expected '" + first_word + "' of the load program, seen '" + line.substr(0, 60) +
                                 "'");
    (void)ended_well();
    throw std::runtime_error("the load program ended before it said '" + first_word + "'");
}

}  // namespace apiary::bench
