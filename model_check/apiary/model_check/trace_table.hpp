// A counterexample for a person: one column per thread, one row per step.
//
// An engine hands over what happened; names of objects, reads-from and skipped stores are worked out here,
// so that every engine's trace reads the same. The name of an object is the expression in front of the
// operation, taken from the source line it stands on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace apiary::model {

struct trace_row {
    static constexpr int everyone = -1;  // before the threads, after them, or a remark

    int thread = everyone;
    std::string file;  // as the compiler names it: relative to the repository, or absolute; empty: no place
    unsigned line = 0;
    unsigned column = 0;
    std::string function;      // as the compiler names it; shown by its last name
    std::string operation;     // "load", "store", "fence", …: as it is called in the source
    std::uint64_t object = 0;  // 0: none
    std::string text;          // what is shown behind the object's name: "-> 3 acquire"
    std::uint64_t event = 0;   // id of the step, 0: none; a note may say "row {ID}" of a step or a store
    std::uint64_t wrote = 0;   // id of the store this row made, 0: none
    std::uint64_t read = 0;    // id of the store this row read, 0: none or the initial value
    bool reads = false, writes = false;
    std::vector<std::uint64_t> could_read;  // the stores it might have read, oldest first; empty: not known
    std::string note;                       // why it could happen
    bool failed = false;
};

// The rows as a person reads them. One layout, two printers.
struct trace_view {
    struct line {
        int thread = trace_row::everyone;
        std::string what;    // "load bottom_ -> 3 acquire"
        std::string stale;   // "stale: reads row 51, not row 55"
        std::string choice;  // "could have read rows 12, 51"
        std::string note;    // the missing edge, in words
        std::string where;   // "impl/apiary/queues/chase_lev_deque.hpp:174 pop"
        bool failed = false;
    };
    unsigned threads = 0;
    std::vector<line> lines;
};
trace_view lay_out(const std::vector<trace_row>& rows, unsigned threads);
std::string as_text(const trace_view& view);
std::string as_html(const trace_view& view);  // a <table>; html_report.hpp has its style

// Text as HTML shows it.
std::string escaped(const std::string& text);

// Where the sources are; the build sets it (APIARY_SOURCE_ROOT), an environment variable of that name wins.
std::string source_root();

// A file's name for people and for mutations: that of a header outside the project as it is included, behind the last
// `/include/` of an installed one and from the last `apiary/` on in a source tree; any other as the compiler has it, less each
// `../` at its front.
std::string_view place_of(std::string_view file);

// A program of another project says where its own sources are; they are looked up there first.
bool sources_are_at(const char* root);

}  // namespace apiary::model
