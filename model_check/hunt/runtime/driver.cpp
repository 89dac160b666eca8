// driver: before the program's first line, a process that starts a child for each run, and writes down what became of
// it. A child whose run passed begins the next one itself where it can (restart.hpp).
//
// A run that failed is done again with fewer decisions (decisions.hpp) as long as it fails like the first; the least is
// what is told. Its decisions are part of its seed's length: "6086/pa,1.13s2".
//
// Asked for by the environment variable APIARY_HUNT, words "name=value" between semicolons (`asked` below), which
// `scripts/apiary hunt` sets. Without it the program runs once, by the quiet schedule, as it would by itself.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "leaks.hpp"
#include "machine.hpp"
#include "mutant.hpp"
#include "restart.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"
#include "thread_calls.hpp"

extern "C" {
// By this name `scripts/apiary hunt` knows that a program is linked with the runtime.
extern const char apiary_hunt_runtime[] = "1";
extern char __executable_start;
}

namespace apiary::hunt {
namespace {

struct asked {
    double seconds = 10;
    std::uint64_t runs = ~std::uint64_t{0}, first = 1, step = 1, length = 0, steps = 0, quiet = 0;
    unsigned limit = 60;      // seconds of the machine's, for one run
    bool replay = false, least = true, reach = false, leaks = false, restarts = true, swaps = true;
    // The program itself runs the seed, with no child, and calls apiary_hunt_stops_here at this step.
    std::uint64_t stop = 0;
    bool has_list = false;
    decision_list list;
    wanted strategy;
    char out[512] = "/dev/stderr";
};

asked read_words(const char* text) {
    asked a;
    // The program's heap stays as it is by itself.
    char* const word = static_cast<char*>(own_heap.get(std::strlen(text) + 1));
    while (*text != '\0') {
        const char* const end = std::strchr(text, ';');
        const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - text) : std::strlen(text);
        std::snprintf(word, length + 1, "%s", text);
        text += length + (end != nullptr ? 1 : 0);
        char* const value = std::strchr(word, '=');
        if (value == nullptr) continue;
        *value = '\0';
        const auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
        const auto number = [&] { return std::strtoull(value + 1, nullptr, 10); };
        if (is("seconds")) a.seconds = std::strtod(value + 1, nullptr);
        if (is("runs")) a.runs = number();
        if (is("first")) a.first = number();
        if (is("step")) a.step = number();
        if (is("length")) {
            char* list = nullptr;
            a.length = std::strtoull(value + 1, &list, 10);
            a.has_list = *list == '/';
            if (a.has_list && !a.list.read(list + 1)) {
                std::fprintf(stderr, "apiary hunt: no such seed: %s\n", value + 1);
                _exit(2);
            }
        }
        if (is("steps")) a.steps = number();
        if (is("quiet")) a.quiet = number();
        if (is("limit")) a.limit = static_cast<unsigned>(number());
        if (is("replay")) a.replay = number() != 0;
        if (is("reach")) a.reach = number() != 0;
        if (is("leaks")) a.leaks = number() != 0;
        if (is("restarts")) a.restarts = number() != 0;
        if (is("swaps")) {
            a.swaps = number() != 0;
            if (number() == 2) apiary_hunt_writes_base = 0;  // as on a processor that does not let programs write it
        }
        if (is("least")) a.least = number() != 0;
        if (is("stop")) a.stop = number();
        if (is("mutant")) {
            if (const char* const wrong = the_mutant.read(value + 1)) {
                std::fprintf(stderr, "apiary hunt: %s: %.60s\n", wrong, value + 1);
                _exit(2);
            }
        }
        if (is("out")) std::snprintf(a.out, sizeof a.out, "%s", value + 1);
        if (is("strategy") && !hunt::read_words(value + 1, a.strategy)) {
            std::fprintf(stderr, "apiary hunt: no such strategy: %s\n", value + 1);
            _exit(2);
        }
    }
    own_heap.put(word);
    return a;
}

double seconds_now() {
    timespec t;
    machine::call(SYS_clock_gettime, CLOCK_MONOTONIC, machine::word(&t));
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// After the program's statics have ended. A run that fails otherwise is told by that.
void looks_for_leaks() {
    on_exit(
        [](int status, void*) {
            if (status != 0 || program_calls() == nullptr) return;
            running->inside = true;
            tell_leaks();
        },
        nullptr);
}

struct outcome {
    int status = 0;
    bool failed() const { return status != 0 && !cut(); }
    bool timed_out() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM; }
    bool cut() const { return report->how == ending::cut || timed_out(); }  // only until the next run begins
    bool like(const outcome& other, ending how) const {
        return failed() && status == other.status && report->how == how;
    }
};

// A failure, to compare others with, and the end of what the program wrote.
struct failure {
    outcome what;
    std::uint64_t seed, length, run;
    double seconds;
    shared_report told;
    char output[4000];
    bool is_again(const outcome& o) const {
        return o.like(what, told.how) && report->where[0] == told.where[0] && report->where[1] == told.where[1];
    }
};

// How far a hunt has come; a child that goes on writes it, too.
struct progress {
    double begin;
    std::uint64_t seed, length, runs, cuts, steps, stale, accesses, hash, children;
    bool swaps;  // until a run needs the kernel's own switches
    void took_place(const outcome& o) {
        ++runs;
        steps += report->steps;
        stale += report->stale_reads;
        accesses += report->plain_accesses;
        hash = (hash ^ report->hash) * 0x100000001b3;
        if (o.cut()) ++cuts;
        if (!o.failed() && !o.cut()) length = length != 0 ? (length * 7 + report->steps) / 8 : report->steps;
    }
};

class driver {
public:
    explicit driver(const asked& a)
        : asked_(a),
          out_(std::fopen(a.out, "a")),
          output_(memfd_create("output", MFD_CLOEXEC)),
          done_(static_cast<progress*>(
              mmap(nullptr, sizeof *done_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (done_ == MAP_FAILED) machine::end(3);
        if (out_ != nullptr) return;
        std::fprintf(stderr, "apiary hunt: %s cannot be written\n", a.out);
        _exit(3);
    }

    // Returns in the child alone.
    void hunts() {
        progress& done = *done_;
        done.begin = seconds_now();
        done.length = asked_.length;
        done.swaps = asked_.swaps;
        bool failed = false, goes_on = asked_.restarts && !asked_.replay && !asked_.has_list;
        unsigned in_vain = 0;
        for (done.seed = asked_.first; !failed && done.runs < asked_.runs; done.seed += asked_.step) {
            outcome o;
            const std::uint64_t before = done.runs;
            ++done.children;
            if (child(done.seed, done.length, asked_.strategy, o, asked_.has_list ? &asked_.list : nullptr, false, goes_on))
                return;
            if (done.runs == before && ++in_vain == 3) goes_on = false;
            const std::uint64_t seed = done.seed, length = done.length;
            done.took_place(o);
            if (o.failed() || asked_.replay) {
                failed = o.failed();
                failure& f = *make_own<failure>();
                f.what = o;
                f.seed = seed, f.length = length, f.run = done.runs, f.seconds = seconds_now() - done.begin;
                keep(f);
                decision_list least = asked_.list;
                bool has_list = asked_.has_list;
                if (failed && !asked_.replay) {
                    if (asked_.least && f.told.how != ending::refused && lessen(f, least, has_list)) return;
                    if (the_mutant.count == 0 && label(f)) return;
                }
                tell(f, has_list ? &least : nullptr);
            }
            if (asked_.replay || is_over()) break;
        }
        if (asked_.reach) tell_reach();
        std::fprintf(out_, "summary\t%lu\t%.3f\t%lu\t%lu\t%lu\t%d\t%lu\t%016lx\t%lu\t%d\n", done.runs,
                     seconds_now() - done.begin, done.steps, done.stale, done.cuts, failed ? 1 : 0, done.accesses, done.hash,
                     done.children, done.swaps ? 1 : 0);
        std::fclose(out_);
        _exit(failed ? 1 : 0);
    }

    // In a child whose program has ended, after all else. Does not return where the next run begins.
    void run_ends(int status) {
        if (status != 0 || done_->runs + 1 >= asked_.runs || is_over() || !the_restart.can_go_back()) return;
        done_->took_place({});
        done_->seed += asked_.step;
        run_comes();
        the_restart.goes_back();
    }

private:
    bool is_over() const { return seconds_now() - done_->begin > asked_.seconds; }

    void run_comes() {
        if (!asked_.replay && machine::call(SYS_lseek, output_, 0, SEEK_END) != 0) {
            (void)!ftruncate(output_, 0);
            machine::call(SYS_lseek, output_, 0, SEEK_SET);
        }
        forget_report();
        ++the_reach.all().run;
    }

    // True in the child. `goes_on`: it may begin the next runs itself.
    bool child(std::uint64_t seed, std::uint64_t length, const wanted& w, outcome& o,
               const decision_list* list = nullptr, bool notes = false, bool goes_on = false) {
        for (;;) {
            if (forks(seed, length, w, o, list, notes, goes_on)) return true;
            if (report->how != ending::again) return false;
            done_->swaps = false;
            if (goes_on) seed = done_->seed, length = done_->length;
        }
    }
    bool forks(std::uint64_t seed, std::uint64_t length, const wanted& w, outcome& o, const decision_list* list,
               bool notes, bool goes_on) {
        run_comes();
        std::fflush(out_);
        const long id = machine::call(SYS_fork);
        if (id < 0) {
            std::fprintf(stderr, "apiary hunt: no process can be started for a run (fork: %s)\n",
                         std::strerror(static_cast<int>(-id)));
            _exit(3);
        }
        if (id == 0) {
            if (!asked_.replay) {
                machine::call(SYS_setpgid);
                dup2(output_, 1);
                dup2(output_, 2);
            }
            unsetenv("APIARY_HUNT");  // what the program executes is no hunt of its own
            unsetenv("LD_BIND_NOW");
            if (goes_on && the_restart.keep()) seed = done_->seed, length = done_->length;
            alarm(asked_.limit);
            if (asked_.steps != 0) the_scheduler.most_steps = asked_.steps;
            if (asked_.quiet != 0) the_scheduler.most_quiet = asked_.quiet;
            if (notes) the_scheduler.taken.note_in(log_);
            if (asked_.leaks) looks_for_leaks();
            the_scheduler.swaps = done_->swaps;
            the_scheduler.begin(seed, w, length, list);
            std::snprintf(report->strategy, sizeof report->strategy, "%s", the_scheduler.plan.name());
            return true;
        }
        while (machine::call(SYS_wait4, id, machine::word(&o.status), 0, 0) == -EINTR) {
        }
        if (!asked_.replay) machine::call(SYS_kill, -id, SIGKILL);  // what it forked goes with it
        return false;
    }

    // Of each site: by one thread alone, by two but never together, or where they met; of a wait, whether one waited
    // there. Then whether a block was used again, and what the program could do about it.
    void tell_reach() {
        const reached& all = the_reach.all();
        std::uint64_t sites = 0, by_two = 0, met = 0, waits = 0, waited = 0;
        for (const site& s : all.sites) {
            if (s.operation == nullptr) continue;
            ++sites;
            by_two += (s.flags & site::by_two) != 0 ? 1 : 0;
            met += (s.flags & site::met) != 0 ? 1 : 0;
            waits += (s.flags & site::may_wait) != 0 ? 1 : 0;
            waited += (s.flags & site::may_wait) != 0 && (s.flags & site::waited) != 0 ? 1 : 0;
            std::fprintf(out_, "site\t%lx\t%s\t%lu\t%s\t%s\n", s.place, s.operation, s.times,
                         (s.flags & site::met) != 0      ? "met"
                         : (s.flags & site::by_two) != 0 ? "never together"
                                                         : "one thread",
                         (s.flags & site::may_wait) == 0 ? ""
                         : (s.flags & site::waited) != 0 ? "waited"
                                                         : "never waited");
        }
        std::fprintf(out_, "reach\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", all.pair_count(), sites, by_two, met,
                     waits, waited, all.freed, all.used_again);
        if (all.freed != 0 && all.used_again == 0)
            std::fprintf(out_,
                         "knob\tof %lu blocks that were freed none was used again: smaller blocks, or more rounds\n",
                         all.freed);
        if (waited < waits)
            std::fprintf(out_,
                         "knob\t%lu of %lu waits were never entered: smaller queues, fewer permits, or more threads\n",
                         waits - waited, waits);
        if (met == 0)
            std::fprintf(out_, "knob\tno two threads ever met: more rounds, or threads that begin together\n");
    }

    void keep(failure& f) {
        machine::copy(&f.told, report, sizeof f.told);
        const long size = machine::call(SYS_lseek, output_, 0, SEEK_END);
        constexpr long most = sizeof f.output - 1;
        const long got =
            machine::call(SYS_pread64, output_, machine::word(f.output), most, size > most ? size - most : 0);
        f.output[got > 0 ? got : 0] = '\0';
    }

    // Does the run again with fewer and fewer decisions, as long as it fails alike: first without half of them, then
    // quarters, down to single ones. What is told is then that run. True in a child.
    bool lessen(failure& f, decision_list& least, bool& has_list) {
        static constexpr double most_seconds = 4;
        static constexpr std::size_t most_text = 8'000;
        if (log_ == nullptr) {
            log_ = static_cast<decision_log*>(
                mmap(nullptr, sizeof *log_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
            if (log_ == MAP_FAILED) machine::end(3);
        }
        const double begin = seconds_now(), limit = f.seconds * 2 < 0.5            ? 0.5
                                                    : f.seconds * 2 < most_seconds ? f.seconds * 2
                                                                                   : most_seconds;
        bool is_child = false;
        const auto fails = [&](const decision_list* list) {  // alike; the log then has the decisions that were taken
            log_->count = 0;
            log_->overflowed = false;
            outcome o;
            is_child = child(f.seed, f.length, asked_.strategy, o, list, true);
            return !is_child && f.is_again(o) && !log_->overflowed;
        };
        const auto take = [&](decision_list& list) {
            list.all.clear();
            for (std::size_t i = 0; i < log_->count; ++i) list.all.push_back(log_->all[i]);
        };
        if (!fails(nullptr)) return is_child;  // it depends on what the runtime does not see, or is too long
        decision_list tried;
        take(least);
        const strategy plan = drawn_plan(f);
        least.patient = plan.patient;
        least.uses_blocks_again = plan.uses_blocks_again;
        if (!fails(&least)) return is_child;
        if (!least.patient) {
            tried = least;
            tried.patient = true;
            const bool yes = fails(&tried);
            if (is_child) return true;
            if (yes) take(least), least.patient = true;
        }
        for (std::size_t part = (least.all.size() + 1) / 2; part != 0;) {
            bool any = false;
            for (std::size_t from = 0; from < least.all.size() && seconds_now() - begin < limit;) {
                const std::size_t to = from + part < least.all.size() ? from + part : least.all.size();
                tried = least;
                tried.all.erase(tried.all.begin() + static_cast<std::ptrdiff_t>(from),
                                tried.all.begin() + static_cast<std::ptrdiff_t>(to));
                const bool yes = fails(&tried);
                if (is_child) return true;
                if (yes && log_->count < least.all.size()) {
                    take(least);
                    any = true;
                } else {
                    from = to;
                }
            }
            if (seconds_now() - begin >= limit) break;
            if (part > least.all.size() / 2 + 1)
                part = least.all.size() / 2 + 1;
            else if (!any || part > 1)
                part = part / 2;
        }
        std::snprintf(list_text_, sizeof list_text_, "/");
        if (!least.write(list_text_ + 1, most_text)) return false;  // no line holds it: the whole run is told
        outcome o;
        if (child(f.seed, f.length, asked_.strategy, o, &least)) return true;
        if (!f.is_again(o)) return false;
        const std::uint64_t switches = f.told.switches, stale = f.told.stale_reads;
        char words[sizeof f.told.strategy];
        std::memcpy(words, f.told.strategy, sizeof words);
        keep(f);
        std::memcpy(f.told.strategy, words, sizeof words);
        std::fprintf(out_, "least\t%lu\t%lu\t%lu\t%lu\t%zu\n", switches, f.told.switches, stale, f.told.stale_reads,
                     least.all.size());
        has_list = true;
        return false;
    }
    strategy drawn_plan(const failure& f) const {
        draws random;
        random.seed(f.seed);
        return draw_strategy(random, asked_.strategy, f.length);
    }

    // What the failure needs: other runs without that look for the same failure, for as long again. True in a child.
    bool label(const failure& f) {
        const std::uint64_t runs = f.run;
        const double took = f.seconds;
        bool without_stale = f.told.stale_reads == 0, without_early = f.told.early_ends == 0;
        const auto look = [&](const wanted& w, bool& found) {
            const double begin = seconds_now(), limit = took < 0.5 ? 1 : took > 2.5 ? 5 : took * 2;
            const std::uint64_t most = runs < 50 ? 200 : runs * 4;
            for (std::uint64_t i = 0; i < most && !found && seconds_now() - begin < limit; ++i) {
                outcome o;
                if (child(1'000'000'000 + i, f.told.steps, w, o)) return true;
                found = o.like(f.what, f.told.how);
            }
            return false;
        };
        wanted w = asked_.strategy;
        w.weak = 0;
        if (!without_stale && look(w, without_stale)) return true;
        w = asked_.strategy;
        w.patient = 1;
        if (!without_early && look(w, without_early)) return true;
        const char* const needs = without_stale ? without_early ? "neither" : "an odd time"
                                  : without_early ? "a stale read"
                                                  : "a stale read and an odd time";
        std::fprintf(out_, "needs\t%s\n", needs);
        return false;
    }

    void tell(const failure& f, const decision_list* list) {
        const shared_report& r0 = f.told;
        const int status = f.what.status;
        const char* kind = name_of(r0.how);
        if (r0.how == ending::other && WIFSIGNALED(status)) kind = strsignal(WTERMSIG(status));
        if (f.what.timed_out()) kind = "cut";
        if (status == 0) kind = "passed";
        if (list == nullptr) list_text_[0] = '\0';
        std::fprintf(out_, "run\t%lu\t%lu%s\t%s\t%d\t%lu\t%lu\t%lu\t%lu\t%lu\t%016lx\t%s\t%lu\t%.3f\t%lx\n", f.seed,
                     f.length, list_text_, kind, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), r0.steps,
                     r0.switches, r0.stale_reads, r0.early_ends, r0.threads, r0.hash, r0.strategy, f.run, f.seconds,
                     reinterpret_cast<std::uintptr_t>(&__executable_start));
        lines("text", r0.text);
        const std::uint64_t kept = r0.rows < shared_report::most_rows ? r0.rows : shared_report::most_rows;
        for (std::uint64_t i = r0.rows - kept; i < r0.rows; ++i) {
            const row& r = r0.last[i % shared_report::most_rows];
            std::fprintf(out_, "row\t%lu\t%u\t%s\t%lx\t%lx\t%d\t%lx\t%s\n", r.step, r.thread, r.operation, r.address,
                         r.place, r.order, r.value, r.note);
        }
        if (!asked_.replay) lines("output", f.output);
    }
    void lines(const char* kind, const char* text) {
        while (*text != '\0') {
            const char* const end = std::strchr(text, '\n');
            const int length =
                static_cast<int>(end != nullptr ? end - text : static_cast<std::ptrdiff_t>(std::strlen(text)));
            std::fprintf(out_, "%s\t%.*s\n", kind, length, text);
            text += length + (end != nullptr ? 1 : 0);
        }
    }

    asked asked_;
    std::FILE* out_;
    int output_;
    progress* done_;
    decision_log* log_ = nullptr;
    char list_text_[8'100] = "";
};

driver* the_driver = nullptr;  // in a hunt

// So that addresses are the same in each process: nothing is put at random, and the stack begins at the same place
// whatever the environment and the arguments are, since what lies before it is filled up. Where a container does not
// let randomisation be switched off the run goes on; README.md says what that costs.
void same_addresses(int argc, char** argv, char** environment) {
    constexpr std::size_t entries = 512, bytes = 1 << 16;
    if (std::getenv("APIARY_HUNT_AGAIN") != nullptr) return;
    const int before = personality(0xffffffff);
    if (before >= 0) personality(static_cast<unsigned long>(before | ADDR_NO_RANDOMIZE));
    std::size_t used = static_cast<std::size_t>(argc), length = 0, count = 0;
    for (int i = 0; i < argc; ++i) length += std::strlen(argv[i]) + 1;
    for (; environment[count] != nullptr; ++count) length += std::strlen(environment[count]) + 1;
    // Each run would find the same functions again, the first time that each is called.
    static char again[] = "APIARY_HUNT_AGAIN=1", at_once[] = "LD_BIND_NOW=1", nothing[] = "";
    used += count + 3;
    length += sizeof again + sizeof at_once;
    const std::size_t fill = (used / entries + 1) * entries - used;
    length += fill;
    const std::size_t rest = (length / bytes + 1) * bytes - length;  // with its null
    char* const filler = static_cast<char*>(std::malloc(rest));
    machine::fill(filler, '_', rest);
    filler[rest - 1] = '\0';
    char** const all = static_cast<char**>(std::calloc(count + fill + 4, sizeof(char*)));
    for (std::size_t i = 0; i < count; ++i) all[i] = environment[i];
    all[count] = again;
    all[count + 1] = at_once;
    all[count + 2] = filler;
    for (std::size_t i = 0; i < fill; ++i) all[count + 3 + i] = nothing;
    execve("/proc/self/exe", argv, all);
}

// One thread runs at a time, so one processor is faster than two.
void one_processor() {
    unsigned long set[16] = {};
    const long bytes = machine::call(SYS_sched_getaffinity, 0, sizeof set, machine::word(set));
    unsigned count = 0;
    for (long i = 0; i < bytes * 8; ++i) count += (set[i / 64] >> (i % 64)) & 1;
    if (count == 0) return;
    unsigned chosen = static_cast<unsigned>(machine::call(SYS_getpid)) % count;
    for (long i = 0; i < bytes * 8; ++i) {
        if (((set[i / 64] >> (i % 64)) & 1) == 0 || chosen-- != 0) continue;
        unsigned long one[16] = {};
        one[i / 64] = 1ul << (i % 64);
        machine::call(SYS_sched_setaffinity, 0, sizeof one, machine::word(one));
        return;
    }
}

[[gnu::constructor(101)]] void begins_before_the_program(int argc, char** argv, char** environment) {
    const char* const words = std::getenv("APIARY_HUNT");
    if (words != nullptr) {
        same_addresses(argc, argv, environment);
        one_processor();
    }
    program_heap.begins();
    own_heap.begins();
    make_the_scheduler();
    constexpr unsigned long fsgsbase = 2;
    apiary_hunt_writes_base = (getauxval(AT_HWCAP2) & fsgsbase) != 0 ? 1 : 0;
    the_reach.begin();
    the_calls.begin();
    find_real_calls();
    the_shadow.begin();
    report = static_cast<shared_report*>(
        mmap(nullptr, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (report == MAP_FAILED) machine::end(3);
    if (words == nullptr) {
        report->alone = true;
        the_scheduler.begin(0, {}, 0);
        return;
    }
    const asked a = read_words(words);
    if (a.stop != 0) {
        report->alone = true;
        if (a.leaks) looks_for_leaks();
        the_scheduler.stop = a.stop;
        if (a.steps != 0) the_scheduler.most_steps = a.steps;
        unsetenv("APIARY_HUNT");
        the_scheduler.begin(a.first, a.strategy, a.length, a.has_list ? &a.list : nullptr);
        return;
    }
    the_driver = make_own<driver>(a);
    the_driver->hunts();
}

}  // namespace
}  // namespace apiary::hunt

// The first function that is called at the exit is the last that is registered: this one comes before whatever the
// program and its libraries register, so it is called after their destructors.
extern "C" int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*begins)(), void (*ends)(),
                                 void (*unloads)(), void* stack) {
    on_exit(
        [](int status, void*) {
            using namespace apiary::hunt;
            if (the_driver != nullptr && running != nullptr && running->id() == 0) the_driver->run_ends(status);
        },
        nullptr);
    const auto real = reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
    return real(main, argc, argv, begins, ends, unloads, stack);
}
