// leaks: see the header.
#include "leaks.hpp"

#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "heap.hpp"
#include "machine.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"

extern "C" char __executable_start, etext;
extern "C" void* __libc_stack_end;

namespace apiary::hunt {
namespace {

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct block {
    std::uintptr_t begin, end;
    bool reached = false, pointed_at = false;  // from a root; from another block that is not reached
};

class search {
public:
    search() {
        program_heap.each_alive([this](std::uintptr_t begin, std::size_t bytes) {
            all_.push_back({begin, begin + std::max<std::size_t>(bytes, 1)});
        });
        std::sort(all_.begin(), all_.end(), [](const block& a, const block& b) { return a.begin < b.begin; });
    }
    void from(std::uintptr_t begin, std::uintptr_t end) {
        reach_from(begin, end);
        while (!to_do_.empty()) {
            const block& b = all_[to_do_.back()];
            to_do_.pop_back();
            reach_from(b.begin, b.end);
        }
    }
    // f(block): what is not reached; `pointed_at` tells those apart that go with another.
    template <class F>
    void each_lost(F f) {
        for (const block& b : all_) {
            if (b.reached) continue;
            each_target(b.begin, b.end, [&](block& target) { target.pointed_at |= &target != &b; });
        }
        for (const block& b : all_)
            if (!b.reached) f(b);
    }

private:
    template <class F>
    void each_target(std::uintptr_t begin, std::uintptr_t end, F f) {
        for (std::uintptr_t at = (begin + 7) & ~std::uintptr_t{7}; at + 8 <= end; at += 8) {
            constexpr std::uintptr_t address_bits = (std::uintptr_t{1} << 48) - 1;  // a tag may stand above them
            const std::uintptr_t value = *reinterpret_cast<const std::uintptr_t*>(at) & address_bits;
            if (!program_heap.owns(reinterpret_cast<const void*>(value))) continue;
            auto next = std::upper_bound(all_.begin(), all_.end(), value,
                                         [](std::uintptr_t v, const block& b) { return v < b.begin; });
            if (next != all_.begin() && value < (--next)->end) f(*next);
        }
    }
    void reach_from(std::uintptr_t begin, std::uintptr_t end) {
        each_target(begin, end, [this](block& b) {
            if (b.reached) return;
            b.reached = true;
            to_do_.push_back(static_cast<std::size_t>(&b - all_.data()));
        });
    }

    own_vector<block> all_;
    own_vector<std::size_t> to_do_;
};

int data_of(dl_phdr_info* of, std::size_t, void* into) {
    for (int i = 0; i < of->dlpi_phnum; ++i) {
        const auto& part = of->dlpi_phdr[i];
        const std::uintptr_t begin = of->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0)
            static_cast<search*>(into)->from(begin, begin + part.p_memsz);
        if (part.p_type == PT_TLS && of->dlpi_tls_data != nullptr)
            static_cast<search*>(into)->from(number(of->dlpi_tls_data), number(of->dlpi_tls_data) + part.p_memsz);
    }
    return 0;
}

// Pages that the program mapped and that can be read; of pages that were never touched nothing is read.
void mapped_by_the_program(search& s) {
    constexpr std::uintptr_t page = 4096;
    const long maps = machine::call(SYS_open, machine::word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    own_vector<char> text(1 << 16);
    std::size_t length = 0;
    for (long got = 1; got > 0; length += static_cast<std::size_t>(got)) {
        if (text.size() - length < 4096) text.resize(text.size() * 2);
        got = machine::call(SYS_read, maps, machine::word(text.data() + length),
                            static_cast<long>(text.size() - length - 1));
        if (got < 0) break;
    }
    machine::call(SYS_close, maps);
    text[length] = '\0';
    for (const char* line = text.data(); *line != '\0';) {
        char* rest = nullptr;
        const std::uintptr_t first = std::strtoull(line, &rest, 16), last = std::strtoull(rest + 1, &rest, 16);
        const bool is_readable = rest[1] == 'r';
        for (const mapping& m : the_scheduler.mappings) {
            for (std::uintptr_t at = std::max(first, m.begin); is_readable && at < std::min(last, m.end); at += page) {
                unsigned char is_there = 0;
                machine::call(SYS_mincore, static_cast<long>(at), page, machine::word(&is_there));
                if ((is_there & 1) != 0) s.from(at, std::min({at + page, last, m.end}));
            }
        }
        line = std::strchr(line, '\n');
        if (line++ == nullptr) break;
    }
}

}  // namespace

void tell_leaks() {
    constexpr std::size_t thread_block = 2304;  // of the library, with its thread-specific data
    constexpr unsigned most_told = 4;
    for (const thread* t : the_scheduler.threads)
        if (!t->ended && t != running) return;
    search s;
    dl_iterate_phdr(data_of, &s);
    mapped_by_the_program(s);
    s.from(number(__builtin_frame_address(0)), number(__libc_stack_end));
    s.from(pthread_self(), pthread_self() + thread_block);
    std::size_t blocks = 0, bytes = 0;
    unsigned told = 0;
    const auto each = [&](auto f) {
        s.each_lost([&](const block& b) {
            const std::uintptr_t place = the_shadow.allocated_at(b.begin).place();
            if (place >= number(&__executable_start) && place < number(&etext)) f(b);
        });
    };
    each([&](const block& b) { ++blocks, bytes += b.end - b.begin; });
    if (blocks == 0) return;
    say("%zu block%s of %zu bytes in all that nothing points to at the end\n", blocks, blocks == 1 ? "" : "s", bytes);
    for (const bool also_pointed_at : {false, true})
        each([&](const block& b) {
            if ((b.pointed_at && !also_pointed_at) || (also_pointed_at && told != 0) || told == most_told) return;
            ++told;
            say("  one of %zu bytes, allocated\n", b.end - b.begin);
            const call_tree::placed at = the_shadow.allocated_at(b.begin);
            if (report->where[0] == 0) report->where[0] = at.place();
            the_calls.tell(at);
        });
    found(ending::leak);
}

}  // namespace apiary::hunt
