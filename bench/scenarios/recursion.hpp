// The floors of fork-join and of graphs: plain recursion and the plain loop on the calling thread, whatever --workers
// says. A runtime stands above them by the cost of its forks and its edges, and may stand below them by as many threads
// as it has.
#pragma once

#include <sys/utsname.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <apiary/bench/adapter.hpp>

namespace apiary::bench {

[[nodiscard]] inline std::string kernel() {
    utsname names{};
    return ::uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown kernel";
}

// The compiler may inline a branch into its parent, and does, some levels deep.
class recursion {
public:
    static constexpr std::string_view name = "machine";
    static std::string version() { return kernel(); }
    static constexpr bool plain = true;

    explicit recursion(unsigned) {}

    template <class F>
    void call(F&& root) {
        root();
    }

    template <class F, class G>
    static void fork_join(F&& f, G&& g) {
        f();
        g();
    }

    class scope {
    public:
        template <class F>
        void run(F&& task) {
            task();
        }
        void wait() {}
    };

    // Runs each task when it is submitted: its producers have run.
    template <class Build>
    void graph(std::uint64_t, Build build) {
        build(*this);
    }

    template <class F>
    void submit(std::uint64_t, std::span<const std::uint64_t>, F task) {
        task();
    }

    // Nothing has to be built.
    template <class Build>
    auto prebuilt(std::uint64_t, Build build) {
        struct loop {
            recursion& machine;
            Build build;
            void run() { build(machine); }
        };
        return loop{*this, build};
    }
};

// Each branch is a call: the cost of a runtime that must be able to hand either branch to another thread, and never
// does. More than two branches are halved, as for fork_join and rayon. Twin:
// tokio_baseline/src/subjects/machine_rust.rs.
class recursion_by_calls {
public:
    static constexpr std::string_view name = "machine_calls";
    static std::string version() { return kernel(); }

    explicit recursion_by_calls(unsigned) {}

    template <class F>
    void call(F&& root) {
        root();
    }

    static constexpr bool by_value = true, by_halves = true;
    template <class F, class G>
    static auto fork_join(F f, G g) {
        if constexpr (std::is_void_v<decltype(f())>) {
            called(f);
            called(g);
            asm volatile("");  // else the compiler makes a loop of the second call
        } else {
            const auto a = called(f), b = called(g);
            asm volatile("");
            return std::pair(a, b);
        }
    }

private:
    template <class F>
    [[gnu::noinline]] static auto called(F branch) {
        return branch();
    }
};

}  // namespace apiary::bench
