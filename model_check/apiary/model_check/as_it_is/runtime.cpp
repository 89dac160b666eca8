// runtime: the phases of an execution, its threads, and what is refused.
#include <apiary/model_check/as_it_is/runtime.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <unordered_map>

#include <apiary/model_check/as_it_is/before_main.hpp>
#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/never_reached.hpp>
#include <apiary/model_check/trace_table.hpp>

extern "C" char __libc_single_threaded;

namespace apiary::model::as_it_is {

namespace ex = explorer;

constinit bool in_program = false;
constinit std::uint64_t entries = 0;

namespace {
constexpr std::uintptr_t stacks_at = 0x1200'0000'0000;
// What is put back of each stack before an execution: more than most programs use.
constexpr std::size_t refilled = std::size_t{8} << 10;

char* stacks() {
    static char* const all = [] {
        void* const here = reinterpret_cast<void*>(stacks_at);
        if (::mmap(here, runtime::stack_bytes * ex::max_threads, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != here) {
            std::fputs("apiary: no memory at the address of the modelled stacks\n", stderr);
            std::abort();
        }
        for (unsigned t = 0; t < ex::max_threads; ++t)
            ::mprotect(static_cast<char*>(here) + runtime::stack_bytes * t, 4096, PROT_NONE);
        return static_cast<char*>(here);
    }();
    return all;
}

// Whether all of a part of a stack is as an execution finds it.
using lane [[gnu::vector_size(32), gnu::may_alias, gnu::aligned(8)]] = std::uint64_t;
constexpr std::size_t part = 512;
[[gnu::target_clones("avx2", "default")]] bool is_fresh(const char* from) {
    const lane fresh = lane{} + unwritten * 0x0101'0101'0101'0101U;
    lane other{};
    for (std::size_t i = 0; i != part / sizeof(lane); ++i) other |= reinterpret_cast<const lane*>(from)[i] ^ fresh;
    return (other[0] | other[1] | other[2] | other[3]) == 0;
}

// Most of it is as it was: to look costs less than to write, from the end that is the last to be reached.
void refill(char* top) {
    char* from = top - refilled;
    while (from != top && is_fresh(from)) from += part;
    std::memset(from, unwritten, static_cast<std::size_t>(top - from));
}
}  // namespace

constinit runtime* made_runtime = nullptr;

runtime& make_runtime() {
    made_runtime = new runtime;
    return *made_runtime;
}

// What accesses meet most often comes last: it is looked at first.
runtime::runtime() {
    shadow_.watch(stacks_at, stack_bytes * ex::max_threads);
    shadow_.watch(ex::memory::address, ex::memory::arena_bytes * (ex::max_threads + 1), true);
    for (const image_range& statics : image()) shadow_.watch(statics.begin, statics.bytes);
    shadow_.watch(blocks_at, block_bytes * ex::max_threads);
}

void runtime::prepare(const scenario& s, const std::vector<thread_start>& starts, const search_options& options,
                      bool quietly) {
    quietly_ = quietly;
    race_in_question_ = options.race_in_question;
    races_are_relaxed_ = options.plain_races_relaxed || !race_in_question_.first.empty();
    rounds_ = options.bounds.rounds;
    scenario_ = &s;
    starts_ = &starts;
    count_ = static_cast<unsigned>(starts.size()) + 1;
    looks_for_alike_ = options.alike;
}

void runtime::fail(const std::string& what, void* pc) { engine().fail(what + " (" + place_text(pc) + ")"); }

void runtime::refuse(const std::string& what, void* pc) { fail("refused: " + what, pc); }

// Names stay where they are: the engine knows them by their address.
void runtime::tell_came_to(std::string_view what, void* pc) {
    if (!is_of_the_program(reinterpret_cast<std::uintptr_t>(pc))) return;  // no line of a header's
    struct known_name {
        std::string_view what;
        std::string name;
    };
    static std::unordered_multimap<const ex::code_place*, known_name> names;
    const ex::code_place& at = place_of_call(pc);  // of a wrapper it depends on the caller
    const auto [first, last] = names.equal_range(&at);
    auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second.what.data() == what.data(); });
    if (found == last) {
        std::string name = std::string(came_to_mark).append(what).append(" ");
        name.append(place_of(at.file_name())).append(":").append(std::to_string(at.line()));
        found = names.emplace(&at, known_name{what, std::move(name)});
    }
    ex::reach(found->second.name.c_str());
}

std::uint64_t runtime::replaced_value() const {
    if (!concurrent()) return 0;
    const ex::graph& g = engine().current();
    const ex::event& store = g.threads[self()][engine().next_index() - 1U];
    const auto& s = g.slots[store.slot];
    return store.position < 2 ? s.initial : g.at(s.co[store.position - 2U]).value;
}

namespace {
constexpr std::size_t most_told = 256;  // lines, each with each place that it writes
bool is_one_line(const ex::code_place& a, const ex::code_place& b) {  // inlined at two places it is one
    return a.file_name() == b.file_name() && a.line() == b.line();
}
}  // namespace

// A counter goes up by one, to two or more. That a value of it fell counts for each line that writes it. A state goes up by
// one, too, where its names are numbers: a line that always stores the same one counts nothing.
void runtime::tell_write(std::uintptr_t address, std::uint64_t old, std::uint64_t value, bool adds, void* pc) {
    if (!concurrent()) return;
    const ex::code_place* const by = &place_of_call(pc);
    bool falls = std::ranges::find(fallen_, address) != fallen_.end();
    if (value < old && !falls) {
        falls = true;
        fallen_.push_back(address);
        for (const told_write& w : told_writes_)
            if (w.at == address) came_to(came_to_falls, w.pc);
    }
    bool again = false, other_value = false;
    for (told_write& w : told_writes_) {
        if (!is_one_line(*w.by, *by)) continue;
        again = again || w.at == address;
        other_value = other_value || w.value != value;
        came_to(w.at == address ? came_to_returns : came_to_spreads, pc);
    }
    if (value == old + 1 && value > 1 && (adds || other_value)) came_to(came_to_counts, pc);
    const bool is_unknown = !again && told_writes_.size() == most_told;  // then nothing is said of the line
    if (falls || is_unknown) came_to(came_to_falls, pc);
    if (is_unknown) came_to(came_to_returns, pc);
    if (!again && !is_unknown) told_writes_.push_back({by, address, pc, value});
}

// Before the threads begin, too: a slot that was filled then may be filled again.
void runtime::tell_plain_write(std::uintptr_t address, void* pc) {
    if (!is_of_the_program(reinterpret_cast<std::uintptr_t>(pc))) return;
    const ex::code_place* const by = &place_of_call(pc);
    if (is_library(by->file_name())) return;
    bool again = false;
    for (const told_write& w : told_plain_) {
        if (!is_one_line(*w.by, *by)) continue;
        again = again || w.at == address;
        if (concurrent()) came_to(w.at == address ? came_to_refills : came_to_fills, pc);
    }
    if (again) return;
    if (told_plain_.size() == most_told) {
        if (concurrent()) came_to(came_to_refills, pc);  // nothing is said of the line
    } else {
        told_plain_.push_back({by, address, pc, 0});
    }
}

// Where the unlock that let the thread in does not happen before it came, it waits in another order of the execution.
void runtime::tell_lock(const ex::vector_clock& knew, void* pc) {
    if (!concurrent()) return;
    came_to(came_to_locks, pc);
    const ex::event_id from = engine().current().threads[self()][engine().next_index() - 2U].rf;  // before its write
    if (!ex::is_event(from)) return;
    const unsigned other = ex::thread_of(from);
    if (other != self() && knew[other] <= ex::index_of(from)) came_to(came_to_meets, pc);
}

void runtime::asks_too_often_alone(void* pc) {
    fail("endless loop: more than " + std::to_string(most_alone) +
             " atomic operations or locks before the first thread is started",
         pc);
}

// ---- phases ----------------------------------------------------------------------------------------------

void runtime::before() {
    use_own_block();
    watch_for_faults();
    if (!engine().heap().at_its_address()) {
        std::fputs("apiary: no memory at the address of the modelled heap\n", stderr);
        std::abort();
    }
    __libc_single_threaded = 0;
    entries = 0;
    restore_image();
    if (!thread_locals_fit())
        engine().fail("refused: more than " + std::to_string(block_bytes / 2 / 1024) + " KiB of thread-local data");
    fresh_thread_blocks(count_);
    shadow_.begin_run();
    atomics_.clear();
    objects_.clear();
    begun_at_.clear();
    for (library_lock& l : library_locks_) l.at = nullptr;
    counted_.clear();
    started_ = joining_ = 0;
    at_once_ = 0;
    keys_.clear();
    told_writes_.clear();
    told_plain_.clear();
    fallen_.clear();
    quiet_from_ = 0;
    write_.words = 0;
    asked_alone_ = 0;
    finished_ = false;
    for (unsigned t = 0; t < count_; ++t) {
        modelled_thread& m = threads_[t];
        m.stack = stacks() + stack_bytes * t;
        refill(m.stack + stack_bytes);
        m.inside = nullptr;
        m.start = nullptr;
        m.start_in_c = nullptr;
        m.starts_at_once = m.is_joined = m.is_left = false;
        m.nth = m.starts = m.keys = 0;
        m.joined = m.alike = 0;
        m.own_begin = m.own_end = 0;
        m.values.clear();
        m.effects = m.written = 0;
        m.clock = 0;
        m.depth = 0;
        m.held.clear();
        m.destroys_counted = 0;
        m.visits.clear();
        m.kept.clear();
        m.cut = {};
        m.at_end.clear();
        ex::construct_atomic(m.started, true, 0);
        ex::construct_atomic(m.ended, true, 0);
    }
    go_on_from_before();
    if (scenario_->begin != nullptr) scenario_->begin();
    switch_to_program(0);
}

// What main's thread had by then, beside its bytes.
void runtime::go_on_from_before() {
    std::set_new_handler(nullptr);
    modelled_thread& m = threads_[0];
    m.clock = clock_from_before();
    for (const key_from_before& k : keys_from_before()) {
        if (k.key == 0) continue;
        keys_.emplace_back(k.key, k.destroy);
        m.values.emplace_back(k.key, k.value);
    }
    for (const lock_from_before& held : locks_from_before()) {
        ex::object& o = locate(held.at, held.bytes, role::mutex, access_kind::atomic_write, held.pc);
        for (unsigned n = 0; n != held.times; ++n) {
            held.how == hold::alone ? ex::lock(o, place_of_call(held.pc)) : ex::lock_shared(o, place_of_call(held.pc), true);
            engine().outlives_the_thread();
        }
    }
}

void runtime::thread(unsigned i) {
    if (i == 0) {
        if (!finished_) switch_to_program(0);
        return start_none_of(0);
    }
    if (threads_[i].starts_at_once) {
        switch_to_program(i);
        return start_none_of(i);
    }
    const ex::predicate decided{[](const void*, std::uint64_t v) { return v != 0; }, nullptr};
    const std::uint64_t how = ex::wait_until(threads_[i].started, decided, std::memory_order_acquire,
                                             place_of_call(nullptr), "thread begins", false);
    if (how == 1) switch_to_program(i);
    start_none_of(i);
}

// A thread that was counted and not started in this execution ends when the one ends that would have started it.
void runtime::start_none_of(unsigned by) {
    for (unsigned t = 1; t < count_; ++t)
        if (const thread_start& s = (*starts_)[t - 1]; s.by == by && s.nth >= threads_[by].starts)
            ex::store(threads_[t].started, 2, std::memory_order_relaxed, place_of_call(nullptr), "start none");
}

void runtime::after() {
    tell_alike();
    for (const ex::block& b : engine().heap().blocks)
        if (!b.freed) return forgive_what_is_reachable();
}

std::string_view runtime::outcome(std::array<char, 128>& buffer) const {
    return scenario_->outcome == nullptr ? std::string_view{} : scenario_->outcome(buffer);
}

// ---- fibers of the program --------------------------------------------------------------------------------

void runtime::switch_to_program(unsigned t) {
    modelled_thread& m = threads_[t];
    if (m.inside == nullptr) m.inside = ex::make_context(m.stack + 4096, stack_bytes - 4096, &runtime::enter, this);
    ex::switch_context(&m.outside, m.inside);
}

void runtime::enter(void* data) {
    auto& r = *static_cast<runtime*>(data);
    const unsigned t = r.self();
    r.run_body(t);
    r.end_thread();
    ex::switch_context(&r.threads_[t].inside, r.threads_[t].outside);
    std::abort();
}

void runtime::run_body(unsigned t) {
    modelled_thread& m = threads_[t];
    std::string left;
    goes_on();
    try {
        if (t == 0)
            scenario_->body();
        else
            m.result = m.start != nullptr ? m.start(m.argument)
                                          : reinterpret_cast<void*>(std::intptr_t{m.start_in_c(m.argument)});
        while (!m.at_end.empty()) {
            const auto [destroy, object] = m.at_end.back();
            m.at_end.pop_back();
            destroy(object);
        }
        if (t != 0) end_values(m);
    } catch (const std::exception& x) {
        left = x.what();
        if (left.empty()) left = "std::exception";
    } catch (...) {
        left = "of another type";
    }
    in_program = false;
    end_write();
    use_own_block();
    if (!left.empty()) engine().fail("an exception left the thread: " + left);
}

void runtime::end_thread() {
    const unsigned t = self();
    if (t == 0)
        finished_ = true;
    else
        ex::store(threads_[t].ended, 1, std::memory_order_release, place_of_call(nullptr), "thread ends");
}

// The scenario is about to start its first thread: what it has done so far was before all threads, and it goes on as thread 0.
void runtime::become_concurrent() {
    engine().becomes_thread_0();
    ex::switch_context(&threads_[0].inside, threads_[0].outside);
}

unsigned runtime::start_thread(void* (*start)(void*), int (*start_in_c)(void*), void* argument, void* pc) {
    const unsigned by = self(), nth = me().starts;
    const auto known = std::ranges::find(*starts_, thread_start{by, nth});
    if (known == starts_->end()) {
        if (count_ == ex::max_threads) refuse("more than fifteen threads beside the first", pc);
        engine().fail(std::string(one_more_thread) + std::to_string(by) + " after " + std::to_string(nth));
    }
    if (!concurrent()) become_concurrent();
    effect();
    ++me().starts;
    const auto t = static_cast<unsigned>(known - starts_->begin()) + 1;
    started_ |= static_cast<ex::thread_set>(1U << t);
    modelled_thread& m = threads_[t];
    m.start = start;
    m.start_in_c = start_in_c;
    m.argument = argument;
    m.clock = me().clock;  // time does not go back along happens-before
    // Thread 0 runs up to its first event before any other thread begins.
    m.starts_at_once = by == 0 && engine().next_index() == 0;
    m.nth = m.starts_at_once ? ++at_once_ : me().nth;
    if (!m.starts_at_once) {
        if (looks_for_alike_ && !quietly_ && by == 0) may_be_alike(t);
        ex::store(m.started, 1, std::memory_order_release, place_of_call(pc), "start");
    } else if (looks_for_alike_) {
        find_alike(t);
    }
    return t;
}

void runtime::leave(unsigned t, void* pc) {
    modelled_thread& m = threads_[t];
    if (m.is_joined || m.is_left) fail("undefined behaviour: a thread is detached that was joined or detached before", pc);
    m.is_left = true;
}

void** runtime::join(unsigned t, bool asks_result, void* pc) {
    if (t == self()) {
        asks_who_it_is();
        return nullptr;
    }
    if (t == 0) refuse("a join of the scenario's own thread, which ends with the scenario", pc);
    modelled_thread& m = threads_[t];
    if (m.is_joined || m.is_left) fail("undefined behaviour: a thread is joined that was joined or detached before", pc);
    m.is_joined = true;
    effect();
    begins_to_join(t, asks_result);
    const ex::predicate over{[](const void*, std::uint64_t v) { return v == 1; }, nullptr};
    ex::wait_until(threads_[t].ended, over, std::memory_order_acquire, place_of_call(pc), "join", false);
    me().clock = std::max(me().clock, m.clock);
    me().joined |= static_cast<ex::thread_set>(m.joined | 1U << t);
    has_joined(t);
    return &m.result;
}

unsigned runtime::thread_of(std::uintptr_t pointer) const {
    for (unsigned t = 0; t < count_; ++t)
        if ((t == 0 || (started_ >> t & 1U) != 0) && thread_pointer_of(t) == pointer) return t;
    return ex::max_threads;
}

bool runtime::is_of_a_start(const void* p) const {
    for (unsigned t = 1; t < count_; ++t)
        if ((started_ >> t & 1U) != 0 && threads_[t].argument == p) return true;
    return false;
}

// The number of a lock is the same in every execution of a process.
ex::object& runtime::lock_beside(std::uintptr_t address, std::uint8_t& key, void* pc) {
    std::size_t k = 0;
    while (k != library_locks_.size() && library_locks_[k].guards != address) ++k;
    if (k == no_key) refuse("more than 255 shared pointers that are used by std::atomic_load() and its like", pc);
    if (k == library_locks_.size()) library_locks_.push_back({address, nullptr});
    key = static_cast<std::uint8_t>(k);
    ex::object*& at = library_locks_[k].at;
    if (at == nullptr) at = &begin_location(address, role::guard, {}, 0, nullptr, pc);
    return *at;
}

void runtime::is_counted(const void* object, void (*destroy)(void*)) {
    const auto& heap = engine().heap();
    const std::uint32_t around = heap.owns(object) ? heap.find_block(object) : 0;
    if (around != 0) counted_.push_back({object, heap.blocks[around - 1].begin, destroy});
}

// In the program.
void runtime::destroy_counted(void* object) {
    for (std::size_t i = counted_.size(); i-- > 0;)
        if (counted_[i].object == object) {
            const auto destroy = counted_[i].destroy;
            modelled_thread& m = me();
            ++m.destroys_counted;
            destroy(object);
            --m.destroys_counted;
            return;
        }
}

bool runtime::goes_by_a_count(const void* p) const {
    if (threads_[self()].destroys_counted != 0) return true;
    for (const counted& c : counted_)
        if (c.block == p) return true;
    return false;
}

bool runtime::is_below_a_stack(std::uintptr_t address) const {
    return on_a_stack(address) && (address - stacks_at) % stack_bytes < 4096;
}

bool runtime::on_a_stack(std::uintptr_t address) const { return address - stacks_at < stack_bytes * ex::max_threads; }

// ---- values of each thread --------------------------------------------------------------------------------

// A number that is the same in every execution, whatever other threads have made by then.
unsigned runtime::make_key(void (*destroy)(void*), void* pc) {
    if (me().keys == most_keys) refuse("more than 1024 keys of one thread", pc);
    keys_.emplace_back(first_key + self() * most_keys + me().keys++, destroy);
    return keys_.back().first;
}

void runtime::end_key(unsigned key, void* pc) {
    (void)value_of_key(key, pc);
    std::erase_if(keys_, [key](const auto& k) { return k.first == key; });
}

const void*& runtime::value_of_key(unsigned key, void* pc) {
    if (std::ranges::count(keys_, key, &std::pair<unsigned, void (*)(void*)>::first) == 0)
        fail("undefined behaviour: a key that was not made, or was deleted", pc);
    for (auto& [known, value] : me().values)
        if (known == key) return value;
    return me().values.emplace_back(key, nullptr).second;
}

// In the program. As often as the C library does.
void runtime::end_values(modelled_thread& m) {
    bool more = true;
    for (unsigned round = 0; more && round != 4; ++round) {
        more = false;
        for (std::size_t i = 0; i != m.values.size(); ++i) {
            const auto key = std::ranges::find(keys_, m.values[i].first, &std::pair<unsigned, void (*)(void*)>::first);
            void* const value = const_cast<void*>(std::exchange(m.values[i].second, nullptr));
            if (value == nullptr || key == keys_.end() || key->second == nullptr) continue;
            key->second(value);
            more = true;
        }
    }
}

// ---- waiting loops ------------------------------------------------------------------------------------------

namespace {
// The reads of an iteration: whether one of them could see a newer store, or failed for no reason, so that the loop would not
// go on for ever.
struct iteration {
    unsigned thread, from, to;
};
bool could_see_more(const void* closure, std::uint64_t) {
    const auto& i = *static_cast<const iteration*>(closure);
    const ex::graph& g = runtime::engine().current();
    for (unsigned k = i.from; k < i.to; ++k) {
        const ex::event& e = g.threads[i.thread][k];
        if (e.kind != ex::event_kind::read) continue;
        if (e.has(ex::forced)) return true;
        const bool writes_too = e.has(ex::exclusive);
        const unsigned at = writes_too ? g.threads[i.thread][k + 1].position : g.position(e.rf);
        // What it has written itself it has written back.
        const auto& co = g.slots[e.slot].co;
        for (std::size_t p = at; p != co.size(); ++p)
            if (ex::thread_of(co[p]) != i.thread || ex::index_of(co[p]) < i.from || ex::index_of(co[p]) >= i.to)
                return true;
    }
    return false;
}

// States of a thread at one place that are told from each other: std::lock of n locks goes round in n.
constexpr unsigned most_states = 4;
// Names of operations stay; it is called once in an execution at most.
const char* name_of_many(const char* operation) {
    static std::map<std::string, std::string> names;
    return names.try_emplace(operation, operation + std::string(", more than 100000 times")).first->second.c_str();
}

// Whether these events only read, or write back what they read: then to one location.
bool only_reads(const std::vector<ex::event>& events, unsigned from, unsigned to) {
    bool writes = false, one_location = true;
    for (unsigned k = from; k < to; ++k) {
        const ex::event& e = events[k];
        one_location = one_location && e.slot == events[from].slot;
        if (e.kind == ex::event_kind::write && k > from && events[k - 1].kind == ex::event_kind::read &&
            events[k - 1].has(ex::exclusive) && events[k - 1].value == e.value)
            continue;
        if (e.kind != ex::event_kind::read || ex::waits(e.mode) || (e.flags & ~ex::exclusive) != 0) return false;
        writes = writes || e.has(ex::exclusive);
    }
    return !writes || one_location;
}

// Whether a round saw what the one before it saw. What it has written back itself it then reads.
bool saw_the_same(const std::vector<ex::event>& events, unsigned before, unsigned from, unsigned to) {
    for (unsigned k = from; k < to; ++k) {
        const ex::event &old = events[before + k - from], &e = events[k];
        if (old.kind != e.kind || old.site != e.site || old.slot != e.slot || old.mode != e.mode ||
            old.flags != e.flags || old.value != e.value)
            return false;
        if (e.kind == ex::event_kind::read && e.rf != (e.has(ex::exclusive) ? events[old.index + 1U].id() : old.rf))
            return false;
    }
    return true;
}
}  // namespace

void runtime::end_write_of(std::size_t words) {
    if (std::memcmp(write_.before.data(), reinterpret_cast<const void*>(write_.at), words * granule::bytes) != 0)
        ++writer_->effects;
}

void runtime::takes(const ex::object& lock) {
    modelled_thread& m = me();
    m.held.push_back({lock.id, m.effects++});
}

void runtime::gives_back(const ex::object& lock) {
    modelled_thread& m = me();
    auto at = m.held.end();
    while (at != m.held.begin() && (at - 1)->object != lock.id) --at;
    if (at == m.held.begin()) return effect();
    const std::uint64_t before = (--at)->effects;
    m.held.erase(at);
    if (m.effects != before + 1) return effect();
    m.effects = before;
    // A thread that takes it again is another one than it was while it had it: others may have had it in between.
    for (visit& v : m.visits)
        if (v.effects > before) v.effects = visit::none;
}

void runtime::may_spin(void* pc, const registers& where, const char* operation) {
    if (!races_are_relaxed_) (void)may_stall(pc, where, operation, true);
}

namespace {
std::size_t bytes_of(const modelled_thread& m, const registers& r) {
    return static_cast<std::size_t>(m.stack + runtime::stack_bytes - reinterpret_cast<const char*>(r.rsp));
}
}  // namespace

// The round that ends here, if it began at `before` and did no more than read and count.
round runtime::round_since(modelled_thread& m, const visit& before, const registers& where, unsigned index) const {
    round now{before.index, index, {}, m.written - before.written, 0};
    const auto& events = engine().current().threads[self()];
    if (now.from >= now.to || before.where.rsp != where.rsp || !only_reads(events, now.from, now.to)) return now;
    std::size_t moved = 0;
    const auto differ = [&](const void* a, const void* b, std::size_t bytes, std::size_t first) {
        for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes; i += sizeof(std::uint64_t)) {
            if (std::memcmp(static_cast<const char*>(a) + i, static_cast<const char*>(b) + i, sizeof(std::uint64_t)) == 0)
                continue;
            if (moved == now.moved.size()) return false;
            now.moved[moved++] = static_cast<std::uint32_t>(first + i / sizeof(std::uint64_t));
        }
        return true;
    };
    const std::size_t words = sizeof(registers) / sizeof(std::uint64_t);
    if (!differ(&before.where, &where, sizeof where, 1) ||
        !differ(m.kept.at(before.stack), reinterpret_cast<const char*>(where.rsp), bytes_of(m, where), 1 + words))
        return now;
    const round& old = before.last;
    const bool goes_on = old.alike != 0 && old.to - old.from == now.to - now.from && old.moved == now.moved &&
                         old.written == now.written && saw_the_same(events, old.from, now.from, now.to);
    now.alike = goes_on ? old.alike + 1 : 1;
    return now;
}

const ex::event* runtime::next_of_cut(modelled_thread& m, void* pc, const registers& where, const char* operation) {
    cut_rounds& c = m.cut;
    const auto& events = engine().current().threads[self()];
    if (c.at == c.to) {
        c.at = c.from;
        const auto* const live = reinterpret_cast<const char*>(where.rsp);
        const bool in_a_circle = c.done != 0 && c.where == where &&
                                 std::memcmp(m.kept.at(c.stack), live, bytes_of(m, where)) == 0;
        if ((in_a_circle || ++c.done > most_cut) && engine().at_end()) {
            const iteration around{self(), c.from, c.to};
            if (!in_a_circle) ex::reach_in_any_run(loop_was_given_up);
            ex::stall({could_see_more, &around}, place_of_call(pc), in_a_circle ? operation : name_of_many(operation));
        }
        if (std::has_single_bit(c.done)) {
            if (c.done == 1 || bytes_of(m, where) != bytes_of(m, c.where))
                c.stack = m.kept.add(live, bytes_of(m, where));
            else
                std::memcpy(m.kept.at(c.stack), live, bytes_of(m, where));
            c.where = where;
        }
    }
    for (const visit& v : m.visits)
        if (v.pc == pc && v.index == c.at && v.effects == m.effects) return &events[c.at];
    return nullptr;
}

bool runtime::reads_again(const ex::event& read, const ex::object& o, std::uint32_t site) {
    cut_rounds& c = me().cut;
    if (read.loc == engine().heap().objects[o.id].loc && read.site == site) {
        c.at += read.has(ex::exclusive) ? 2U : 1U;
        return true;
    }
    c = {};
    return false;
}

// What is cut, and why nothing is lost or made up (README.md has the whole of it):
//
// *An iteration that comes back to the same state.* It has read, and has written plainly only what stood there. Take it out of
// the execution, and what is left is one, too: a read from those writes gets the same value from the write before them;
// less happens before, so that a race remains one. An atomic store of the same value is an effect: it is a message of its own
// in the modification order, which others may read, and synchronise with.
//
// *A round of a loop that counts.* Its state differs from the one before in the same few words as that one did, and it saw the
// same stores. From the round after `rounds_` such ones on, the program is run as it is, and its operations read what they read
// in the last round, without any event. That is an execution of the program: a cycle of the axioms through a round that has no
// events goes through one of the last two that have, and so do its races, since no round teaches its thread anything. What is
// lost are executions in which such a round is the first to see a newer store. The same with fewer rounds before it is an
// execution that is looked at, and it differs by the count.
const ex::event* runtime::may_stall(void* pc, const registers& where, const char* operation, bool without_events) {
    if (!concurrent()) return nullptr;
    const unsigned t = self();
    modelled_thread& m = threads_[t];
    const auto* const live = reinterpret_cast<const char*>(where.rsp);
    const std::size_t bytes = bytes_of(m, where);
    const unsigned index = engine().next_index();
    visit *room = nullptr, *oldest = nullptr, *latest = nullptr;
    unsigned states = 0;
    for (visit& v : m.visits) {
        if (v.pc != pc) continue;
        if (v.effects != m.effects) {  // so have the others, or nearly always
            room = &v;
            break;
        }
        if (v.where == where && std::memcmp(m.kept.at(v.stack), live, bytes) == 0) {
            const iteration around{t, std::exchange(v.index, index), index};
            // While a graph is replayed, what it says is done.
            if ((around.from < index || without_events) && engine().at_end())
                ex::stall({could_see_more, &around}, place_of_call(pc), operation);
            m.cut = {};
            return nullptr;
        }
        ++states;
        if (oldest == nullptr || v.index < oldest->index) oldest = &v;
        if (latest == nullptr || v.index > latest->index) latest = &v;
    }
    if (m.cut.to != 0 && !without_events) {
        if (m.cut.to == index && m.cut.effects == m.effects)
            if (const ex::event* const again = next_of_cut(m, pc, where, operation)) return again;
        m.cut = {};
    }
    round last;
    if (latest != nullptr) last = round_since(m, *latest, where, index);
    if (last.alike >= rounds_ && !without_events) {
        ex::reach_in_any_run(rounds_were_cut);
        m.cut = {last.from, last.to, last.from, 0, m.effects, {}, 0};
        if (const ex::event* const again = next_of_cut(m, pc, where, operation)) return again;
        m.cut = {};
    }
    if (room == nullptr && states == most_states) room = oldest;
    if (room == nullptr) {
        m.visits.push_back({pc, where, m.kept.add(live, bytes), m.effects, m.written, index, last});
        return nullptr;
    }
    if (bytes > bytes_of(m, room->where))  // more than what was kept has room for
        room->stack = m.kept.add(live, bytes);
    else
        std::memcpy(m.kept.at(room->stack), live, bytes);
    *room = {pc, where, room->stack, m.effects, m.written, index, last};
    return nullptr;
}

}  // namespace apiary::model::as_it_is
