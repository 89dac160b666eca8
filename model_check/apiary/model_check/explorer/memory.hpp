// memory: what the modelled program's objects live in. Addresses are the same in every run that takes the
// same decisions, because every thread has an arena of its own; happens-before is checked at each access.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::explorer {

// A type as it is written in the source, from what typeid calls it.
[[nodiscard]] std::string type_name(const char* mangled);

// A point of a thread: in front of its event number `index`.
struct moment {
    std::uint16_t thread = main_thread, index = 0;
    // Whether an observer that knows `hb` (and is `observer`) comes after it. before() comes before everything.
    [[nodiscard]] bool happens_before(const vector_clock& hb, unsigned observer) const {
        return thread == main_thread || thread == observer || hb[thread] > index;
    }
};

// Latest accesses of each thread to a cell: index of the event they stand in front of, plus one; 0 is none.
struct access_history {
    std::array<std::uint16_t, max_threads> writes{}, reads{};
    std::array<std::uint32_t, max_threads> write_sites{}, read_sites{};
};

struct location_info {
    std::uint32_t loc = 0;  // stable from run to run
    std::uint32_t slot = event::no_slot;
    std::uint32_t block = 0;    // index into memory::blocks plus one; 0: not on the watched heap
    std::uint32_t history = 0;  // cells: index into memory::histories
    bool cell = false;
    bool uninitialised = false;
    std::uint8_t holder = 0;  // mutexes: one plus the thread that holds it alone
    moment constructed;
    std::uint64_t value = 0;  // initial; in before() and after() the current one
    std::uint64_t address = 0;
    std::string (*text_of)(std::uint64_t value) = nullptr;  // of a trace; null: a number
    std::array<std::uint16_t, max_threads> accesses{};      // as in access_history
};

struct block {
    char* begin = nullptr;
    std::size_t size = 0, alignment = 0;
    const char* type = "";
    storage what = storage::heap;
    bool freed = false;
    moment allocated;
    std::array<std::uint16_t, max_threads> accesses{};  // as in access_history
};

class memory {
public:
    static constexpr std::size_t arena_bytes = std::size_t{1} << 22;
    static constexpr std::uintptr_t address = 0x1000'0000'0000;

    memory();
    ~memory();
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    void reset();
    void* take(unsigned thread, std::size_t size, std::size_t alignment);
    [[nodiscard]] bool owns(const void* p) const {
        const auto a = reinterpret_cast<std::uintptr_t>(p), b = reinterpret_cast<std::uintptr_t>(base_);
        return a - b < arena_bytes * (max_threads + 1);
    }
    // Whether the address was free: in every process it is then the same.
    [[nodiscard]] bool at_its_address() const { return reinterpret_cast<std::uintptr_t>(base_) == address; }
    // The newest watched block around an address; 0 when there is none, else its index plus one.
    [[nodiscard]] std::uint32_t find_block(const void* p) const;
    std::uint32_t stable_name(unsigned thread) { return thread << 20 | names_[thread]++; }

    std::vector<location_info> objects;  // object::id is an index
    std::vector<access_history> histories;
    std::vector<block> blocks;
    std::uint32_t run = 0;

private:
    char* base_;
    std::array<std::size_t, max_threads + 1> used_{};
    std::array<std::uint32_t, max_threads + 1> names_{};
};

// While a fiber runs the program's code, global operator new takes from the arena of its thread: nothing
// leaks when the run is given up, and addresses repeat. Null while the engine itself runs.
struct allocation_scope {
    memory* heap = nullptr;
    unsigned thread = main_thread;
};
extern constinit thread_local allocation_scope program_heap;

}  // namespace apiary::model::explorer
