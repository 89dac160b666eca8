// runtime: the execution under way of a program that is checked as it is.
//
// The compiler's instrumentation (-fsanitize=thread) calls entry_points.cpp at every access; heap.cpp and threads.cpp
// stand in front of malloc and pthread_*. All of them come here, and from here each shared operation goes to the
// explorer, which decides what happens: there is no second search.
//
// The first thread is the scenario itself. Until it starts another, nothing it does is an event (the explorer's
// before()); from then on it is thread 0. A start is a store, unless no event of thread 0 comes before it, and a join
// waits for another.
//
// Nothing here is compiled with the instrumentation. While the program runs, `in_program` is true; every entry turns it
// off until it goes back, and then the thread-local block is that of the thread which goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <apiary/model_check/as_it_is/run.hpp>
#include <apiary/model_check/as_it_is/shadow.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/explorer/context.hpp>
#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::as_it_is {

// The registers that belong to the caller, and its stack, as an entry found them (entry_points.cpp).
struct registers {
    std::uint64_t rbx, rbp, r12, r13, r14, r15, rsp;
    bool operator==(const registers&) const = default;
};

// The thread at an operation that may be part of a waiting loop.
struct visit {
    void* pc = nullptr;
    registers where{};
    std::size_t stack = 0;      // what lives on it, from here on in modelled_thread::kept
    std::uint64_t effects = 0;  // what the thread had changed by then
    unsigned index = 0;         // of its next event
};

struct modelled_thread {
    explorer::context inside = nullptr, outside = nullptr;
    char* stack = nullptr;
    void* (*start)(void*) = nullptr;
    void *argument = nullptr, *result = nullptr;
    explorer::object started{}, ended{};
    bool starts_at_once = false;  // before thread 0 had any event: it waits for none
    std::uint64_t effects = 0;
    std::int64_t clock = 0;
    // Return addresses of the functions under way: the outermost ones, where there are more. Kept without any allocation,
    // since the program runs meanwhile.
    std::array<void*, 512> calls{};
    std::size_t depth = 0;
    std::vector<visit> visits;
    std::vector<std::uint64_t> kept;                        // the stacks of visits
    std::vector<std::pair<void (*)(void*), void*>> at_end;  // destructors of thread-local objects
};

// What a byte of the heap or of a stack is before the program writes it.
inline constexpr unsigned char unwritten = 0xA5;

extern constinit bool in_program;
extern constinit std::uint64_t entries;  // from the program into the runtime

// Seconds of processor time that a thread may spend in plain instructions and nothing else.
extern constinit unsigned longest_loop;

// Crashes, abort(), exit() and loops without end become verdicts (faults.cpp).
void watch_for_faults();

class runtime {
public:
    static constexpr std::size_t stack_bytes = std::size_t{512} << 10;
    // Plain accesses in a row that a thread may make before it is taken for a loop that ends nowhere.
    static constexpr std::uint64_t most_quiet = 50'000'000;

    runtime();

    void prepare(const scenario& s, unsigned threads, bool plain_races_relaxed);
    // The explorer's program, in its phases.
    void before();
    void thread(unsigned i);
    void after();
    std::string_view outcome(std::array<char, 128>& buffer) const;

    // 0 is the scenario.
    [[nodiscard]] unsigned self() const {
        const unsigned t = engine().current_thread();
        return t == explorer::main_thread ? 0 : t;
    }
    [[nodiscard]] modelled_thread& me() { return threads_[self()]; }
    [[nodiscard]] bool concurrent() const { return !engine().sequential(); }
    [[nodiscard]] static explorer::engine& engine() { return *explorer::engine::active(); }
    void effect() { ++me().effects; }
    // An operation of the program that is not followed: the verdict says which, and where.
    [[noreturn]] void refuse(const std::string& what, void* pc);
    [[noreturn]] void fail(const std::string& what, void* pc);

    // True: it was one of those that are most frequent, within one granule where no atomic is and no conflict could be.
    bool touches_simply(std::uintptr_t address, std::size_t size, access_kind how, void* pc) {
        const std::size_t offset = address % granule::bytes;
        if (offset + size > granule::bytes) return false;
        const shadow::range* const range = shadow_.range_of(address);
        explorer::engine& e = engine();
        if (range == nullptr || e.tracing() || ++quiet_ > most_quiet) return false;
        const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
        const bool on_heap = e.heap().owns(reinterpret_cast<const void*>(address));
        const unsigned t = e.current_thread();
        if (t == explorer::main_thread) {
            const granule* const g = shadow_.found_in(*range, address);
            if (g == nullptr ? on_heap : !g->atomics.empty() || (on_heap && !g->is_given(mask))) return false;
        } else {
            granule& g = shadow_.in(*range, address);
            const auto when = static_cast<std::uint16_t>(e.next_index() + 1);
            const touch now{pc, when, static_cast<std::uint8_t>(t), mask, how, static_cast<std::uint8_t>(started_)};
            if (!g.atomics.empty() || !g.takes(now, on_heap)) return false;
        }
        note_access(address, how);
        return true;
    }
    // A plain access, or the beginning or end of memory: looks for races, and keeps memory and graph in step.
    void touch_bytes(std::uintptr_t address, std::size_t size, access_kind how, void* pc);
    // The location of an atomic, made at its first use. Bytes that were written plainly since begin another.
    explorer::object& locate(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc);
    // Gives up an iteration that changed nothing, reads what it read before, and came back to where it was.
    void may_stall(void* pc, const registers& where);

    // Whether it is put back before the next execution, or made anew in it. What is not is a library's.
    [[nodiscard]] bool may_be_touched(std::uintptr_t address) const { return shadow_.watches(address); }

    unsigned start_thread(void* (*start)(void*), void* argument, void* pc);
    void* join(unsigned t, void* pc);
    [[nodiscard]] unsigned thread_of(std::uintptr_t pointer) const;

    // Whether it is the page that no stack may grow into.
    [[nodiscard]] bool is_below_a_stack(std::uintptr_t address) const;
    // Whether it is what a thread was started with.
    [[nodiscard]] bool is_of_a_start(const void* p) const;

private:
    static void enter(void* data);
    void switch_to_program(unsigned t);
    void run_body(unsigned t);
    void end_thread();
    void check_touch(granule& g, std::uintptr_t address, std::uint8_t mask, access_kind how, void* pc);
    void note_access(std::uintptr_t address, access_kind how) {
        if (plain_write(how) && address - reinterpret_cast<std::uintptr_t>(me().stack) >= stack_bytes) effect();
        engine().asked(law_kind::race);
    }
    // Of thread 0 before it had any event, and the thread was started since.
    static bool was_before_start(const touch& x, unsigned thread) {
        return x.thread == 0 && x.when == 1 && thread > x.started;
    }
    void check_touch_alone(granule& g, std::uintptr_t address, std::uint8_t mask, access_kind how, void* pc);
    static void check_life(const touch* life, access_kind how, void* pc);
    [[nodiscard]] bool may_go_on(const touch& x, access_kind how) const;
    [[noreturn]] void race(const touch& x, access_kind how, void* pc);
    explorer::object* at_these_bytes(granule& g, std::uintptr_t address, const located& wanted, access_kind how,
                                     void* pc);
    void end_atomics(granule& g, std::uintptr_t base, std::uint8_t mask, access_kind how);
    void write_back(const located& l, std::uintptr_t address);
    [[nodiscard]] bool on_a_stack(std::uintptr_t address) const;
    [[nodiscard]] bool is_private(std::uintptr_t address);
    void become_concurrent();
    void forgive_what_is_reachable();

    const scenario* scenario_ = nullptr;
    unsigned count_ = 1, started_ = 0;
    bool races_are_relaxed_ = false;
    bool finished_ = false;    // the scenario's body
    std::uint64_t quiet_ = 0;  // plain accesses since the last event
    shadow shadow_;
    std::vector<std::uintptr_t> atomics_;  // granules in which a location was made
    std::deque<explorer::object> objects_;
    std::array<modelled_thread, explorer::max_threads> threads_;
};

extern constinit runtime* made_runtime;
runtime& make_runtime();
inline runtime& the_runtime() { return made_runtime != nullptr ? *made_runtime : make_runtime(); }

// While it lives, the explorer's side runs, and another thread may go on meanwhile.
class outside_program {
public:
    outside_program() : was_(std::exchange(in_program, false)) {
        if (was_) ++entries;
    }
    ~outside_program() {
        if (!was_) return;
        use_block_of(the_runtime().self());
        in_program = true;
    }
    outside_program(const outside_program&) = delete;
    outside_program& operator=(const outside_program&) = delete;

private:
    bool was_;
};

// The same for what is over before any other thread goes on: a plain access.
class beside_program {
public:
    beside_program() {
        in_program = false;
        ++entries;
    }
    ~beside_program() { in_program = true; }
    beside_program(const beside_program&) = delete;
    beside_program& operator=(const beside_program&) = delete;
};

// What asks for more threads than were counted.
inline constexpr const char* one_more_thread = "one more thread than counted so far";

}  // namespace apiary::model::as_it_is
