// compiled: which accesses the program holds, by its own instructions: each is a call of an entry point.
#include <backtrace.h>
#include <link.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/compiled_operations.hpp>
#include <apiary/model_check/trace_table.hpp>

namespace apiary::model::as_it_is {

namespace {

struct code_range {
    const unsigned char *begin = nullptr, *end = nullptr;
};

// The program's own instructions; its first entry of the list is the program itself.
code_range own_instructions() {
    code_range found;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            for (std::size_t i = 0; i != info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
                const auto* const begin = reinterpret_cast<const unsigned char*>(info->dlpi_addr + part.p_vaddr);
                *static_cast<code_range*>(into) = {begin, begin + part.p_memsz};
            }
            return 1;
        },
        &found);
    return found;
}

// "__tsan_atomic64_fetch_add" -> "fetch_add", "__tsan_read4" -> "plain"; nothing for functions that access nothing. libstdc++'s
// function behind std::atomic::wait is one of the program's own.
std::string operation_called(std::string_view function) {
    if (function == "pthread_cond_wait" || function == "sem_wait" || function.find("__atomic_wait_address") != function.npos)
        return "wait";
    for (const std::string_view copy : {"memcpy", "memmove", "memset", "memcmp", "strlen"})
        if (function == copy) return "plain";
    constexpr std::string_view entry = "__tsan_atomic", any = "__tsan_";
    if (!function.starts_with(entry))
        return function.starts_with(any) && (function.find("read") != function.npos || function.find("write") != function.npos ||
                                             function.find("vptr") != function.npos)
                   ? "plain"
                   : std::string();
    function.remove_prefix(entry.size());
    if (function == "_thread_fence") return "fence";
    function.remove_prefix(std::min(function.find_first_not_of("0123456789"), function.size()));
    return function.starts_with('_') ? std::string(function.substr(1)) : std::string();
}

std::vector<std::string> operations() {
    backtrace_state* const state =
        backtrace_create_state("/proc/self/exe", 0, [](void*, const char*, int) {}, nullptr);
    std::map<const unsigned char*, std::string> known;
    std::set<std::string> sites;
    const auto [begin, end] = own_instructions();
    constexpr std::ptrdiff_t call = 5;  // E8 and the distance
    for (const unsigned char* at = begin; end - at >= call; ++at) {
        if (*at != 0xE8) continue;
        std::int32_t distance = 0;
        std::memcpy(&distance, at + 1, sizeof distance);
        const unsigned char* const target = at + call + distance;
        if (target < begin || target >= end) continue;
        const auto [name, is_new] = known.try_emplace(target);
        if (is_new)
            backtrace_syminfo(
                state, reinterpret_cast<std::uintptr_t>(target),
                [](void* into, std::uintptr_t pc, const char* symbol, std::uintptr_t value, std::uintptr_t) {
                    if (symbol != nullptr && pc == value) *static_cast<std::string*>(into) = operation_called(symbol);
                },
                [](void*, const char*, int) {}, &name->second);
        if (name->second.empty()) continue;
        const explorer::code_place& place = place_of_call(const_cast<unsigned char*>(at + call));
        if (place.line() == 0) continue;
        sites.insert(std::string(place_of(place.file_name())) + ":" + std::to_string(place.line()) + ":" + name->second);
    }
    return {sites.begin(), sites.end()};
}

const bool told = (tell_compiled_operations(operations), true);

}  // namespace

void compiled_is_linked() {}

}  // namespace apiary::model::as_it_is
