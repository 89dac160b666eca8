// The program that asks a server, as the server sees it: a child that speaks by lines (bench/contract/CLI.md, "Servers").
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

// Each call throws std::runtime_error, with what was seen, if the child has ended or says something else.
class load_program {
public:
    // Starts it; `backends` and `ask` are 0 in echo.
    load_program(const run_options& options, std::string_view scenario, std::uint64_t backends, std::uint64_t ask);
    ~load_program() { end(); }
    load_program(const load_program&) = delete;
    load_program& operator=(const load_program&) = delete;

    [[nodiscard]] std::vector<std::uint16_t> backends();  // their ports
    void connect_to(std::uint16_t port);                  // returns when it has warmed up all connections
    void go();
    [[nodiscard]] report result();    // what it found, without the processor time
    [[nodiscard]] bool ended_well();  // waits for its end. False: an answer was wrong even after its result
    void end() noexcept;              // at once, if it has not ended

private:
    void say(const std::string& line);
    [[nodiscard]] std::string heard(const std::string& first_word);
    [[nodiscard]] int wait() noexcept;  // its status

    pid_t pid_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

}  // namespace apiary::bench
