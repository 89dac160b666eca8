// See tls.hpp.
#include <apiary/model_check/as_it_is/tls.hpp>

#include <asm/prctl.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::as_it_is {

namespace {

struct layout {
    std::uintptr_t own = 0;         // the thread pointer of this thread
    std::size_t below = 0;          // bytes of thread-local variables in front of it
    std::size_t above = 0;          // bytes of the C library's record after it
    const char* program = nullptr;  // the program's own variables: as a thread finds them when it starts
    std::size_t program_bytes = 0, program_zeroes = 0;
    std::ptrdiff_t program_at = 0;  // from the thread pointer
    bool fast = false;              // the processor lets us write FS
    std::vector<char> kept;
};

long system_call(long number, long a, long b) {
    long result = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

layout* made() {
    auto* all = new layout;
    system_call(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&all->own));
    all->fast = (::getauxval(AT_HWCAP2) & 2U) != 0;
    std::uintptr_t least = all->own;
    struct blocks_found {
        layout* all;
        std::uintptr_t* least;
        bool first = true;
    } s{all, &least};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& found = *static_cast<blocks_found*>(data);
            const bool program = std::exchange(found.first, false);
            const auto begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
            if (begin == 0 || begin > found.all->own) return 0;
            if (begin < *found.least) *found.least = begin;
            for (int i = 0; program && i < info->dlpi_phnum; ++i) {
                const auto& h = info->dlpi_phdr[i];
                if (h.p_type != PT_TLS) continue;
                found.all->program = reinterpret_cast<const char*>(info->dlpi_addr + h.p_vaddr);
                found.all->program_bytes = h.p_filesz;
                found.all->program_zeroes = h.p_memsz - h.p_filesz;
                found.all->program_at = static_cast<std::ptrdiff_t>(begin - found.all->own);
            }
            return 0;
        },
        &s);
    all->below = (all->own - least + 63) & ~std::size_t{63};
    // How long the record is, glibc tells its debugger's library.
    const void* size = ::dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread");
    std::uint32_t bytes = 2304;
    if (size != nullptr) std::memcpy(&bytes, size, sizeof bytes);
    all->above = bytes;
    void* const here = reinterpret_cast<void*>(blocks_at);
    if (::mmap(here, block_bytes * explorer::max_threads, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != here) {
        std::fputs("apiary: no memory at the address of the thread-local variables\n", stderr);
        std::abort();
    }
    return all;
}

layout& known() {
    static layout* const all = made();
    return *all;
}

void set(std::uintptr_t pointer) {
    if (known().fast)
        __asm__ volatile("wrfsbase %0" : : "r"(pointer) : "memory");
    else
        system_call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(pointer));
}

// The C library's table of the modules' blocks: two words for each, and in front two that begin with its length.
std::span<const std::uintptr_t> modules_table() {
    std::uintptr_t table = 0;
    std::memcpy(&table, reinterpret_cast<const char*>(known().own) + 8, sizeof table);
    const auto* const from = reinterpret_cast<const std::uintptr_t*>(table) - 2;
    return {from, 2 * std::min<std::size_t>(from[0] + 2, 64)};
}

// A block as its thread finds it, from `below` on, and after it a table of its own.
using first_block = std::vector<char>;
first_block made_for(unsigned thread, std::span<const std::uintptr_t> table) {
    const layout& all = known();
    const std::uintptr_t mine = thread_pointer_of(thread);
    const std::size_t table_at = all.below + ((all.above + 15) & ~std::size_t{15});
    first_block made(table_at + table.size_bytes());
    char* const p = made.data() + all.below;
    std::ranges::copy(all.kept, made.begin());
    // The record begins with a pointer to itself, one to the table, and one to itself.
    std::memcpy(p, &mine, sizeof mine);
    std::memcpy(p + 16, &mine, sizeof mine);
    const std::uintptr_t moved = mine - all.below + table_at + 2 * sizeof mine;
    std::memcpy(p + 8, &moved, sizeof moved);
    char* to = made.data() + table_at;
    for (std::uintptr_t entry : table) {
        if (entry - (all.own - all.below) < all.below) entry += mine - all.own;
        std::memcpy(to, &entry, sizeof entry);
        to += sizeof entry;
    }
    if (all.program != nullptr && thread != 0) {
        std::memcpy(p + all.program_at, all.program, all.program_bytes);
        std::memset(p + all.program_at + all.program_bytes, 0, all.program_zeroes);
    }
    return made;
}

}  // namespace

std::uintptr_t thread_pointer_of(unsigned thread) {
    return blocks_at + block_bytes * (thread == explorer::main_thread ? 0 : thread) + block_bytes / 2;
}

bool thread_locals_fit() { return known().below <= block_bytes / 2; }

bool is_of_own_block(std::uintptr_t address) { return address - (known().own - known().below) < known().below; }

namespace {
void keep_own_block() {
    layout& all = known();
    all.kept.assign(reinterpret_cast<char*>(all.own - all.below), reinterpret_cast<char*>(all.own + all.above));
}
void copy_block(unsigned t, const first_block& made) {
    std::memcpy(reinterpret_cast<char*>(thread_pointer_of(t) - known().below), made.data(), made.size());
}
}  // namespace

std::uintptr_t thread_pointer_before_main() {
    keep_own_block();
    copy_block(0, made_for(0, modules_table()));
    return thread_pointer_of(0);
}

void fresh_thread_blocks(unsigned threads) {
    static std::vector<std::uintptr_t> table;
    static std::vector<first_block> blocks;
    static const bool kept = (keep_own_block(), true);
    (void)kept;
    if (const auto now = modules_table(); !std::ranges::equal(table, now)) {
        table.assign(now.begin(), now.end());
        blocks.clear();
        for (unsigned t = 0; t < explorer::max_threads; ++t) blocks.push_back(made_for(t, table));
    }
    for (unsigned t = 0; t < threads; ++t) copy_block(t, blocks[t]);
}

void each_thread_local_word(unsigned thread, void (*f)(void* closure, std::uintptr_t word), void* closure) {
    const std::uintptr_t end = thread_pointer_of(thread);
    for (std::uintptr_t at = end - known().below; at < end; at += sizeof at) {
        std::uintptr_t word = 0;
        std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
        f(closure, word);
    }
}

constinit unsigned block_in_use = own_block;

void move_to_block(unsigned thread) {
    set(thread == own_block ? known().own : thread_pointer_of(thread));
    block_in_use = thread;
}

}  // namespace apiary::model::as_it_is
