// report: see the header.
#include "report.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "machine.hpp"
#include "scheduler.hpp"

namespace apiary::hunt {

shared_report* report = nullptr;

void forget_report() {
    const std::uint64_t used = report->rows < shared_report::most_rows ? report->rows : shared_report::most_rows;
    machine::fill(report->last, 0, used * sizeof(row));
    machine::fill(report->text, 0, std::strlen(report->text));
    machine::fill(report, 0, offsetof(shared_report, text));
    report->rows = 0;
}

void say(const char* format, ...) {
    const std::size_t used = std::strlen(report->text);
    va_list rest;
    va_start(rest, format);
    std::vsnprintf(report->text + used, sizeof report->text - used, format, rest);
    va_end(rest);
}

void found(ending how) {
    the_scheduler.active = false;
    report->how = how;
    if (report->alone)
        machine::call(SYS_write, 2, machine::word(report->text), static_cast<long>(std::strlen(report->text)));
    machine::end(66);
}

row& new_row(std::uint32_t thread, const char* operation, std::uintptr_t address, std::uintptr_t place) {
    row& r = report->last[report->rows++ % shared_report::most_rows];
    r = {report->steps, thread, -1, operation, address, place, 0, ""};
    return r;
}

const char* name_of(ending how) {
    switch (how) {
        case ending::race: return "race";
        case ending::deadlock: return "deadlock";
        case ending::livelock: return "livelock";
        case ending::use_after_free: return "use after free";
        case ending::outside: return "outside of a block";
        case ending::misuse: return "misuse";
        case ending::leak: return "leak";
        case ending::refused: return "refused";
        case ending::cut: return "cut";
        case ending::again:
        case ending::other: break;
    }
    return "failure";
}

}  // namespace apiary::hunt
