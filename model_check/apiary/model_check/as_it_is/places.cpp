// See places.hpp. libbacktrace comes with g++.
#include <apiary/model_check/as_it_is/places.hpp>

#include <backtrace.h>
#include <unwind.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/trace_table.hpp>

extern "C" const char __executable_start, etext;

namespace apiary::model::as_it_is {

bool is_of_the_program(std::uintptr_t pc) {
    return pc - reinterpret_cast<std::uintptr_t>(&__executable_start) <
           reinterpret_cast<std::uintptr_t>(&etext) - reinterpret_cast<std::uintptr_t>(&__executable_start);
}

namespace {

// What libstdc++'s source_location points to.
struct location_record {
    const char* file;
    const char* function;
    unsigned line, column;
};
static_assert(sizeof(explorer::code_place) == sizeof(const location_record*));

// The code that stands between an operation and the one that asked for it.
bool is_wrapper(std::string_view file) {
    for (const std::string_view name :
         {"/bits/atomic_base.h", "/bits/atomic_wait.h", "/bits/atomic_timed_wait.h", "/bits/std_mutex.h",
          "/bits/unique_lock.h", "/bits/gthr-default.h", "/bits/std_thread.h", "/bits/new_allocator.h",
          "/bits/alloc_traits.h", "/bits/allocator.h", "/bits/this_thread_sleep.h", "/bits/semaphore_base.h",
          "/apiary/sync/real_sync.hpp", "/model_check/as_it_is/nodes.cpp"})
        if (file.ends_with(name)) return true;
    for (const std::string_view name :
         {"/atomic", "/mutex", "/shared_mutex", "/condition_variable", "/thread", "/semaphore"})
        if (file.ends_with(name) && file.find("/c++/") != std::string_view::npos) return true;
    return false;
}

// Of those, the ones that wait by an algorithm of their own: a place inside of one is named beside the place that called it.
bool has_an_algorithm(std::string_view file) {
    for (const std::string_view name : {"/bits/atomic_wait.h", "/bits/atomic_timed_wait.h", "/bits/semaphore_base.h"})
        if (file.ends_with(name)) return true;
    return false;
}

backtrace_state* lines() {
    static backtrace_state* const s =
        backtrace_create_state("/proc/self/exe", 0, [](void*, const char*, int) {}, nullptr);
    return s;
}

struct frames {
    location_record first{}, chosen{}, inside{};
    bool done = false;
};

int one_frame(void* data, std::uintptr_t, const char* file, int line, const char* function) {
    frames& all = *static_cast<frames*>(data);
    if (file == nullptr) return 0;
    const location_record here{file, function == nullptr ? "" : function, static_cast<unsigned>(line), 0};
    if (all.first.file == nullptr) all.first = here;
    all.chosen = here;
    if (all.inside.file == nullptr && has_an_algorithm(file)) all.inside = here;
    if (is_wrapper(file)) return 0;
    all.done = true;
    return 1;
}

// A call from a shared library stands where the program called the library.
struct search {
    std::uintptr_t from, found;
    bool passed;
};
_Unwind_Reason_Code one_caller(_Unwind_Context* context, void* data) {
    auto& s = *static_cast<search*>(data);
    const std::uintptr_t pc = _Unwind_GetIP(context);
    if (pc == s.from) s.passed = true;
    if (!s.passed || !is_of_the_program(pc)) return _URC_NO_REASON;
    s.found = pc;
    return _URC_END_OF_STACK;
}
std::uintptr_t program_caller(std::uintptr_t pc) {
    if (pc == 0 || is_of_the_program(pc)) return pc;
    search s{pc, pc, false};
    _Unwind_Backtrace(one_caller, &s);
    return s.found;
}

// A file is named once, so that places compare by pointer.
const char* one_name(std::string_view file) {
    static std::deque<std::string> names;
    if (file.starts_with("./")) file.remove_prefix(2);  // as apiary_as_is_program() names what lies in the project
    for (const std::string& n : names)
        if (n == file) return n.c_str();
    return names.emplace_back(file).c_str();
}

}  // namespace

bool is_library(const char* file) { return std::strstr(file, "/c++/") != nullptr; }

constinit std::array<latest_place, 4096> latest_places{};

namespace {
struct with_record : known_place {
    location_record record;
};

// What the explorer shows behind the place: "in bits/atomic_wait.h:101".
const char* inside_text(const location_record& inside) {
    if (inside.file == nullptr) return "";
    const std::string_view file = inside.file;
    return one_name("in " + std::string(file.substr(file.rfind("bits/"))) + ":" + std::to_string(inside.line));
}

const with_record& read_place(std::uintptr_t called) {
    static std::unordered_map<std::uintptr_t, with_record> known;
    const auto [at, is_new] = known.try_emplace(called);
    with_record& p = at->second;
    if (!is_new) return p;
    const int programs_errno = errno;  // the library looks for files that may not be there
    frames all;
    const std::uintptr_t pc = called == 0 ? 0 : called - 1;
    if (called != 0) backtrace_pcinfo(lines(), pc, one_frame, [](void*, const char*, int) {}, &all);
    p.is_wrappers = called != 0 && !all.done;
    p.decides = !p.is_wrappers && (called == 0 || is_of_the_program(called));
    p.is_by_the_library = all.first.file != nullptr && is_library(all.first.file);
    p.record = all.chosen.file != nullptr ? all.chosen : location_record{"", "", 0, 0};
    p.record.file = one_name(p.record.file);
    p.record.function = inside_text(all.chosen.file == all.inside.file ? location_record{} : all.inside);
    if (p.is_wrappers) p.is_inside = inside_text(all.inside);
    // The program is not position-independent: an address is the same in every process of a build.
    p.record.column = static_cast<unsigned>(pc & 0x7FFF'FFFFU);
    p.place = std::bit_cast<explorer::code_place>(&p.record);
    errno = programs_errno;
    return p;
}

const known_place& resolved(std::uintptr_t called) {
    void* const key = reinterpret_cast<void*>(called);
    latest_place& l = latest_place_of(key);
    if (l.called != key || l.known == nullptr) l = {key, &read_place(called)};
    return *l.known;
}

// The place of a caller, for what is done inside of a function of the library's that it called.
const explorer::code_place& with_the_inside(const known_place& inner, const known_place& outer) {
    static std::map<std::pair<const known_place*, const known_place*>, with_record> known;
    const auto [at, is_new] = known.try_emplace({&inner, &outer});
    with_record& p = at->second;
    if (is_new) {
        p.record = {outer.place.file_name(), inner.is_inside, outer.place.line(), inner.place.column()};
        p.place = std::bit_cast<explorer::code_place>(&p.record);
    }
    return p.place;
}
}  // namespace

const explorer::code_place& look_up_place(void* return_address) {
    const known_place& inner = resolved(program_caller(reinterpret_cast<std::uintptr_t>(return_address)));
    if (!inner.is_wrappers || explorer::engine::active() == nullptr) return inner.place;
    const modelled_thread& m = the_runtime().me();
    for (std::size_t i = m.depth < m.calls.size() ? m.depth : m.calls.size(); i-- > 0;) {
        const known_place& outer = resolved(reinterpret_cast<std::uintptr_t>(m.calls[i]));
        if (!outer.is_wrappers) return inner.is_inside[0] == '\0' ? outer.place : with_the_inside(inner, outer);
    }
    return inner.place;
}

bool is_by_the_library(void* return_address) {
    return resolved(reinterpret_cast<std::uintptr_t>(return_address)).is_by_the_library;
}

std::string place_text(void* return_address) {
    const explorer::code_place& at = place_of_call(return_address);
    if (at.line() == 0) return "an unknown place";
    return std::string(model::place_of(at.file_name())) + ":" + std::to_string(at.line());
}

}  // namespace apiary::model::as_it_is
