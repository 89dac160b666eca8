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
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
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
extern "C" registers apiary_registers;

// Keeps the registers and goes on as apiary_NAME.
#define KEEPS_REGISTERS(name) KEEPS_REGISTERS_OF(__tsan_##name, name)
#define KEEPS_REGISTERS_OF(called, name)                                                       \
    __asm__(".text\n.globl " #called "\n.type " #called ",@function\n" #called                 \
            ":\n"                                                                              \
            "  movq %rbx, apiary_registers(%rip)\n  movq %rbp, apiary_registers+8(%rip)\n"     \
            "  movq %r12, apiary_registers+16(%rip)\n  movq %r13, apiary_registers+24(%rip)\n" \
            "  movq %r14, apiary_registers+32(%rip)\n  movq %r15, apiary_registers+40(%rip)\n" \
            "  movq %rsp, apiary_registers+48(%rip)\n  jmp apiary_" #name                      \
            "\n"                                                                               \
            ".size " #called ",.-" #called "\n");

// The words in which a thread differs from what it was: those of `registers`, then of its live stack. 0 ends them.
using moved_words = std::array<std::uint32_t, 4>;

// A round of a loop: from one visit of an operation to the next.
struct round {
    unsigned from = 0, to = 0;  // its events
    moved_words moved{};
    std::uint64_t written = 0;  // the sum of the places that it wrote
    unsigned alike = 0;           // rounds in a row that were like this one, with it; 0: it did more than read and count
};

// The thread at an operation that may be part of a waiting loop.
struct visit {
    static constexpr std::uint64_t none = UINT64_MAX;
    void* pc = nullptr;
    registers where{};
    std::size_t stack = 0;        // what lives on it, in modelled_thread::kept
    std::uint64_t effects = 0;    // what the thread had changed by then
    std::uint64_t written = 0;  // the sum of the places that it had written
    unsigned index = 0;           // of its next event
    round last;                   // that ended here
};

// Rounds of a loop that counts, once they are cut: each operation reads what it read in the last round that has events.
struct cut_rounds {
    unsigned from = 0, to = 0;  // the events of that round; none: no rounds are cut
    unsigned at = 0;            // the event that the next operation repeats
    unsigned done = 0;          // rounds
    std::uint64_t effects = 0;
    // The state at the beginning of a round, kept anew after 1, 2, 4, 8, … of them: one that comes back is a circle.
    registers where{};
    std::size_t stack = 0;
};

// A plain write under way outside the writer's own stack: what stood in its words. The compiler's call comes before the
// write, so that the runtime's next entry looks whether the same stands there still.
struct write_under_way {
    static constexpr std::size_t most = 8;
    std::uintptr_t at = 0;
    std::size_t words = 0;
    std::array<std::uint64_t, most> before{};
};

// Bytes behind each other; none goes before all do.
class byte_store {
public:
    std::size_t add(const char* from, std::size_t bytes) {
        if (used_ + bytes > all_.size()) all_.resize(2 * (used_ + bytes));
        std::memcpy(at(used_), from, bytes);
        return std::exchange(used_, used_ + bytes);
    }
    [[nodiscard]] char* at(std::size_t where) { return all_.data() + where; }
    void clear() { used_ = 0; }

private:
    std::vector<char> all_;
    std::size_t used_ = 0;
};

// A lock that the thread has.
struct held_lock {
    std::uint32_t object;
    std::uint64_t effects;  // of the thread, before it took the lock
};

struct modelled_thread {
    explorer::context inside = nullptr, outside = nullptr;
    char* stack = nullptr;
    void* (*start)(void*) = nullptr;
    void *argument = nullptr, *result = nullptr;
    explorer::object started{}, ended{};
    bool starts_at_once = false;  // before thread 0 had any event: it waits for none
    std::uint64_t effects = 0, written = 0;
    std::int64_t clock = 0;
    // Return addresses of the functions under way: the outermost ones, where there are more. Kept without any allocation,
    // since the program runs meanwhile.
    std::array<void*, 512> calls{};
    std::size_t depth = 0;
    std::vector<held_lock> held;
    unsigned destroys_counted = 0;
    std::vector<visit> visits;
    byte_store kept;                                        // the stacks of visits
    cut_rounds cut;
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
    // Atomic operations before the first thread is started: nobody answers them.
    static constexpr unsigned most_alone = 100'000;

    runtime();

    void prepare(const scenario& s, unsigned threads, const search_options& options);
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
    // No other thread is, or each has been joined here: what is done now is ordered with all that others do.
    [[nodiscard]] bool is_alone() const { return joined_ == started_ && self() == 0; }
    [[nodiscard]] modelled_thread& me() { return threads_[self()]; }
    [[nodiscard]] bool concurrent() const { return !engine().sequential(); }
    [[nodiscard]] static explorer::engine& engine() { return *explorer::engine::active(); }
    void effect() { ++me().effects; }
    // The write under way has been made: of what stood there already it is no effect.
    [[gnu::always_inline]] void end_write() {
        const std::size_t words = std::exchange(write_.words, 0);
        if (words == 1)
            writer_->effects += word_at(write_.at) != write_.before.front() ? 1U : 0U;
        else if (words != 0)
            end_write_of(words);
    }
    // A lock is an effect that its unlock takes back, where nothing else was one in between.
    void takes(const explorer::object& lock);
    void gives_back(const explorer::object& lock);
    // An operation of the program that is not followed: the verdict says which, and where.
    [[noreturn]] void refuse(const std::string& what, void* pc);
    [[noreturn]] void fail(const std::string& what, void* pc);

    // A plain access: most of them go no further than here.
    [[gnu::always_inline]] void touches(std::uintptr_t address, std::size_t size, access_kind how, void* pc) {
        const std::size_t offset = address % granule::bytes;
        const shadow::range* const range = shadow_.range_of(address);
        if (!is_simple_ || offset + size > granule::bytes || range == nullptr || has_been_quiet())
            return touch_bytes(address, size, how, pc);
        const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
        if (!among_threads_) return touches_alone(*range, address, mask, how, pc);
        granule& g = shadow_.in(*range, address);
        take_in(g, range->is_heap, {pc, moment_, mask, how}, how);
        if (!g.atomics.empty()) end_atomics(g, address - offset, mask, how);
        note_access(address, size, how);
    }
    // An atomic of the program, where nothing of the thread was since it went on.
    template <std::size_t size>
    [[gnu::always_inline]] explorer::object& atomic_at(std::uintptr_t address, access_kind how, void* pc) {
        if (const shadow::range* const range = shadow_.range_of(address);
            size <= granule::bytes && address % size == 0 && range != nullptr) {
            granule& g = shadow_.in(*range, address);
            const std::size_t offset = address % granule::bytes;
            const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
            if (among_threads_)
                take_in(g, range->is_heap, {pc, moment_, mask, how}, how);
            else
                check_touch_alone(g, range->is_heap, mask, how, pc);
            if (!g.atomics.empty() && g.atomics.front().is(offset, size, role::atomic)) {
                asks_others(pc);
                return *g.atomics.front().at;
            }
        }
        return locate(address, size, role::atomic, how, pc);
    }
    // The program goes on, in the thread that the explorer is in.
    void goes_on() {
        use_block_of(self());
        note_moment();
        in_program = true;
    }
    // For touches() and atomic_at(): where an event of the thread was, or another one goes on.
    void note_moment() {
        const explorer::engine& e = engine();
        is_simple_ = !e.tracing();
        among_threads_ = e.current_thread() != explorer::main_thread;
        moment_ = now(0, access_kind::read, nullptr).moment();
    }
    // A plain access, or the beginning or end of memory: looks for races, and keeps memory and graph in step.
    void touch_bytes(std::uintptr_t address, std::size_t size, access_kind how, void* pc);
    // The location of an atomic, made at its first use. Bytes that were written plainly since begin another.
    explorer::object& locate(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc);
    // A condition variable that stands there is destroyed, or made anew.
    void condition_ends(std::uintptr_t address);
    // Gives up an iteration that changed nothing, reads what it read before, and came back to where it was. Not null: a
    // round of a loop that counts is cut, and the operation may read again what this event has read.
    const explorer::event* may_stall(void* pc, const registers& where, const char* operation,
                                     bool without_events = false);
    // The same of a loop around a volatile read, where no event need be.
    void may_spin(void* pc, const registers& where, const char* operation);
    // Whether it does, by the same operation at the same location; then the next one may.
    [[nodiscard]] bool reads_again(const explorer::event& read, const explorer::object& o, std::uint32_t site);
    // Names of what was reached that a verdict's bound takes the place of.
    static constexpr unsigned most_cut = 100'000;  // rounds of one loop; then it is taken for one that waits
    static constexpr const char* rounds_were_cut = "rounds of a loop were cut";
    static constexpr const char* loop_was_given_up = "a loop was given up";
    // How those parts of the bound begin.
    static constexpr std::string_view bound_of_cuts = "; a loop that only counts is cut";
    static constexpr std::string_view bound_of_given_up = "; one that goes on for more than";

    // Whether it is put back before the next execution, or made anew in it. What is not is a library's.
    [[nodiscard]] bool may_be_touched(std::uintptr_t address) const { return shadow_.watches(address); }

    unsigned start_thread(void* (*start)(void*), void* argument, void* pc);
    void* join(unsigned t, void* pc);
    [[nodiscard]] unsigned thread_of(std::uintptr_t pointer) const;

    // Whether it is the page that no stack may grow into.
    [[nodiscard]] bool is_below_a_stack(std::uintptr_t address) const;
    // Whether it is what a thread was started with.
    [[nodiscard]] bool is_of_a_start(const void* p) const;

    // A lock that a library has for what stands at an address: beside those bytes, which it guards.
    struct library_lock {
        std::uintptr_t guards;
        explorer::object* at;  // null: not yet in this execution
    };
    explorer::object& lock_beside(std::uintptr_t address, std::uint8_t& key, void* pc);
    explorer::object& lock_beside(std::uint8_t key) { return *library_locks_[key].at; }
    static constexpr std::uint8_t no_key = UINT8_MAX;

    // A library counts the holders of this object, and the counts are not seen.
    void is_counted(const void* object, void (*destroy)(void*));
    void destroy_counted(void* object);
    // Whether memory goes back by such a count.
    [[nodiscard]] bool goes_by_a_count(const void* p) const;

private:
    static void enter(void* data);
    void switch_to_program(unsigned t);
    void run_body(unsigned t);
    void end_thread();
    // An access of the current thread.
    [[nodiscard]] touch now(std::uint8_t mask, access_kind how, void* pc) const {
        const explorer::engine& e = engine();
        return {pc, e.next_index() + 1U, started_, e.current_thread(), mask, how};
    }
    // Of touches(), before the threads begin.
    void touches_alone(const shadow::range& range, std::uintptr_t address, unsigned mask, access_kind how, void* pc);
    [[nodiscard]] bool has_been_quiet() const { return entries - quiet_from_ > most_quiet; }
    // An operation that another thread may answer, once there is one.
    [[gnu::always_inline]] void asks_others(void* pc) {
        quiet_from_ = entries;
        if (!among_threads_ && ++asked_alone_ > most_alone) asks_too_often_alone(pc);
    }
    [[noreturn]] void asks_too_often_alone(void* pc);
    void check_touch(granule& g, bool on_heap, touch now);
    [[gnu::always_inline]] void note_access(std::uintptr_t address, std::size_t size, access_kind how) {
        if (plain_write(how)) begin_write(me(), address, size, how);
        engine().asked(law_kind::race);
    }
    static bool on_stack_of(const modelled_thread& m, std::uintptr_t address) {
        return address - reinterpret_cast<std::uintptr_t>(m.stack) < stack_bytes;
    }
    [[gnu::always_inline]] void begin_write(modelled_thread& m, std::uintptr_t address, std::size_t size,
                                            access_kind how) {
        m.written += address;
        if (on_stack_of(m, address)) return;  // it shows in what is compared
        end_write();
        const std::uintptr_t from = address & ~std::uintptr_t{granule::bytes - 1};
        const std::size_t words = (address + size - from + granule::bytes - 1) / granule::bytes;
        if (how != access_kind::write || words > write_under_way::most) {
            ++m.effects;
            return;
        }
        write_.at = from;
        write_.words = words;
        writer_ = &m;
        if (words == 1)
            write_.before.front() = word_at(from);
        else
            std::memcpy(write_.before.data(), reinterpret_cast<const void*>(from), words * granule::bytes);
    }
    static std::uint64_t word_at(std::uintptr_t address) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
        return word;
    }
    void end_write_of(std::size_t words);
    [[nodiscard]] round round_since(modelled_thread& m, const visit& before, const registers& where,
                                    unsigned index) const;
    const explorer::event* next_of_cut(modelled_thread& m, void* pc, const registers& where, const char* operation);
    // Of thread 0 before it had any event, and the thread was started since.
    static bool was_before_start(const touch& x, unsigned thread) {
        return x.thread() == 0 && x.when() == 1 && thread > x.started();
    }
    // Before the threads begin nothing races, and a location that begins has no other writer than that thread: what gives
    // and takes memory is all that has to be known later.
    void check_touch_alone(granule& g, bool on_heap, std::uint8_t mask, access_kind how, void* pc) {
        if (on_heap && how != access_kind::allocation && (g.given & mask) == 0) belongs_to_nobody(g, mask, how, pc);
        if (is_of_a_life(how)) g.add({pc, 1, 0, explorer::main_thread, mask, how});
    }
    static void belongs_to_nobody(const granule& g, std::uint8_t mask, access_kind how, void* pc);
    static void check_life(const touch* life, access_kind how, void* pc);
    [[nodiscard]] bool may_go_on(const touch& x, access_kind how, void* pc) const;
    [[nodiscard]] bool is_in_question(void* one, void* other) const;
    [[noreturn]] void race(const touch& x, access_kind how, void* pc);
    // Takes in what a thread does; looks for races.
    [[gnu::always_inline]] void take_in(granule& g, bool on_heap, touch what, access_kind how) {
        if (!g.takes(what, how, on_heap)) check_touch(g, on_heap, what);
    }
    explorer::object* at_these_bytes(granule& g, bool on_heap, const located& wanted, access_kind how, void* pc);
    explorer::object& locate_wide(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc);
    // The plain write that a location begins with, as its name has it.
    struct plain_origin {
        unsigned name_thread = explorer::main_thread, name_when = 0;
        explorer::moment since{};
    };
    static plain_origin origin_of(const granule& g, unsigned bytes);
    explorer::object& begin_location(std::uintptr_t address, role what, const plain_origin& from, std::uint64_t value,
                                     std::string (*text_of)(std::uint64_t value));
    void end_atomics(granule& g, std::uintptr_t base, std::uint8_t mask, access_kind how);
    void write_back(const located& l, std::uintptr_t address);
    [[nodiscard]] bool on_a_stack(std::uintptr_t address) const;
    [[nodiscard]] bool is_private(std::uintptr_t address);
    void become_concurrent();
    void forgive_what_is_reachable();

    const scenario* scenario_ = nullptr;
    unsigned count_ = 1, started_ = 0, joined_ = 0;
    bool races_are_relaxed_ = false;
    std::pair<std::string, std::string> race_in_question_;
    bool finished_ = false;         // the scenario's body
    bool is_simple_ = false;        // no trace is asked for
    bool among_threads_ = false;    // the program is in one of them, or else before all
    std::uint64_t moment_ = 0;      // what its accesses have in common
    unsigned asked_alone_ = 0;      // atomic operations before the threads
    std::uint64_t quiet_from_ = 0;  // what `entries` was at the last event
    write_under_way write_;
    modelled_thread* writer_ = nullptr;
    unsigned rounds_ = 0;  // of a loop that counts, before they are cut
    shadow shadow_;
    std::vector<std::uintptr_t> atomics_;  // granules in which a location was made
    std::deque<explorer::object> objects_;
    std::vector<library_lock> library_locks_;
    struct counted {
        const void *object, *block;
        void (*destroy)(void*);
    };
    std::vector<counted> counted_;
    std::array<modelled_thread, explorer::max_threads> threads_;
};

extern constinit runtime* made_runtime;
runtime& make_runtime();
inline runtime& the_runtime() { return made_runtime != nullptr ? *made_runtime : make_runtime(); }

// While it lives, the explorer's side runs, and another thread may go on meanwhile.
class outside_program {
public:
    outside_program() : was_(std::exchange(in_program, false)) {
        if (!was_) return;
        ++entries;
        made_runtime->end_write();
    }
    ~outside_program() {
        if (!was_) return;
        made_runtime->goes_on();
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
