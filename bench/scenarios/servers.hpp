// echo, echo_beside and fan_out: a server on a loopback socket, which the load program (bench/load) asks at the times
// of a plan.
//
// echo: each request comes back with its answer. echo_beside: the same while tasks compute (beside.hpp). fan_out: the
// server asks some of its backends, all at once, and answers when all have. A poor result means: a request costs more
// calls of the system than a read and a write, each answer goes over another thread, or a wake is slow; in echo_beside:
// requests wait behind tasks of milliseconds, or for the processor.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <apiary/bench/load_program.hpp>
#include <apiary/bench/open_loop.hpp>
#include <apiary/bench/serving.hpp>

#include "scenarios/beside.hpp"

namespace apiary::bench {

class listening_socket {
public:
    listening_socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd_ >= 0 && ::bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
            ::listen(fd_, 4096) == 0)
            return;
        const int error = errno;
        if (fd_ >= 0) ::close(fd_);
        throw std::system_error(error, std::generic_category(), "a listening socket");
    }
    ~listening_socket() { ::close(fd_); }
    listening_socket(const listening_socket&) = delete;
    listening_socket& operator=(const listening_socket&) = delete;

    [[nodiscard]] int descriptor() const { return fd_; }
    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in a{};
        socklen_t size = sizeof a;
        if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size) != 0)
            throw std::system_error(errno, std::generic_category(), "getsockname");
        return ntohs(a.sin_port);
    }
    void shut_down() noexcept { (void)::shutdown(fd_, SHUT_RDWR); }

private:
    int fd_;
};

inline constexpr parameter connections_parameter{.name = "connections", .standard = 1, .most = 20'000};
inline constexpr parameter bytes_parameter{.name = "bytes", .standard = 64, .least = 16, .most = 65'536};

// The load program, and what it asks the server to do.
class asked_server {
public:
    asked_server(const run_options& options, std::string_view scenario, std::uint64_t backends, std::uint64_t ask)
        : load_(options, scenario, backends, ask) {
        what_.backends = load_.backends();
        if (what_.backends.size() != backends)
            throw std::runtime_error("the load program has " + std::to_string(what_.backends.size()) +
                                     " backends, asked for " + std::to_string(backends));
        what_.listening = listening_.descriptor();
        what_.bytes = options.param("bytes");
        what_.ask = ask;
        what_.slowdown_ns = options.slowdown_ns;
        busy_wait_ns(1);  // calibrates its loop
    }

    // Calls before_go() once all connections are warm, and after_result(report) when all is answered. If one of them
    // throws, or the load program fails, what the server waits for ends before the server does.
    template <class Runtime, class Before, class After>
    [[nodiscard]] report serve(Runtime& runtime, Before before_go, After after_result) {
        typename Runtime::server server(runtime, what_);
        struct closing {
            asked_server& of;
            ~closing() {
                of.load_.end();
                of.listening_.shut_down();
            }
        } const at_the_end{*this};

        load_.connect_to(listening_.port());
        before_go();
        const std::int64_t cpu_start = process_cpu_ns();
        load_.go();
        report result = load_.result();
        result.measured.cpu_ns = static_cast<std::uint64_t>(process_cpu_ns() - cpu_start);
        after_result(result);
        if (!load_.ended_well()) result.wrong("the load program has found something wrong after the last answer");
        fill_counters(result.measured, runtime);
        return result;
    }

private:
    load_program load_;
    listening_socket listening_;
    serving what_;
};

template <class Runtime>
[[nodiscard]] report serve(const run_options& options, std::string_view scenario, std::uint64_t backends,
                           std::uint64_t ask) {
    asked_server asked(options, scenario, backends, ask);
    Runtime runtime(options.workers);
    return asked.serve(runtime, [] {}, [](report&) {});
}

class echo {
public:
    static constexpr std::string_view name = "echo";
    static constexpr bool open_loop = true, served = true;
    static constexpr std::array parameters{connections_parameter, bytes_parameter, rate_parameter};
    template <class Runtime>
    static constexpr bool expressible = server_runtime<Runtime>;

    template <server_runtime Runtime>
    static report measure(const run_options& options) {
        return serve<Runtime>(options, name, 0, 0);
    }
};

// echo, while long tasks keep every processor busy. Twin: tokio_baseline/src/scenarios/echo_beside.rs.
class echo_beside {
public:
    static constexpr std::string_view name = "echo_beside";
    static constexpr bool open_loop = true, served = true;
    static constexpr std::array parameters{connections_parameter,
                                           bytes_parameter,
                                           rate_parameter,
                                           beside::compute_us_parameter,
                                           beside::compute_workers_parameter,
                                           beside::means_parameter};
    template <class Runtime>
    static constexpr bool expressible = server_runtime<Runtime> && poster<Runtime>;

    template <server_runtime Runtime>
    static report measure(const run_options& options) {
        beside tasks(options);
        asked_server asked(options, echo::name, 0, 0);
        return tasks.run<Runtime>([&](Runtime& runtime, auto begin) {
            struct ending {
                compute_load* begun = nullptr;
                void now() {
                    if (begun == nullptr) return;
                    begun->call_end();
                    begun->wait();
                    begun = nullptr;
                }
                ~ending() { now(); }
            } end;
            return asked.serve(
                runtime,
                [&] {
                    end.begun = &tasks.compute();
                    begin();
                    tasks.count_alone();
                },
                [&](report& result) {
                    const beside::moment last = tasks.now();
                    end.now();
                    tasks.tell(result, last, 0);
                });
        });
    }
};

class fan_out {
public:
    static constexpr std::string_view name = "fan_out";
    static constexpr bool open_loop = true, served = true;
    static constexpr std::array parameters{connections_parameter, bytes_parameter, rate_parameter,
                                           parameter{.name = "backends", .standard = 8, .most = 64},
                                           parameter{.name = "ask", .standard = 3, .most = 64}};
    template <class Runtime>
    static constexpr bool expressible = server_runtime<Runtime>;

    template <server_runtime Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t backends = options.param("backends"), ask = options.param("ask");
        if (ask > backends)
            throw bad_arguments("--param ask=" + std::to_string(ask) +
                                ": there are backends=" + std::to_string(backends));
        return serve<Runtime>(options, name, backends, ask);
    }
};

}  // namespace apiary::bench
