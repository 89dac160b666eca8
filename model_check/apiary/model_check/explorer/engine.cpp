// engine: fibers, replay of a graph, and the order in which threads go on.
#include <apiary/model_check/explorer/engine.hpp>
#include <apiary/model_check/explorer/revisit.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace apiary::model::explorer {

namespace {
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr unsigned steps_of_a_give_up = 20;
}  // namespace

struct fiber_entry {
    static void run(void* self) { engine::fiber_main(self); }
};

engine::engine(const program& p, const run_limits& limits)
    : program_(p),
      limits_(limits),
      patience_(limits.most[timeouts] + std::max(1U, limits.steps_per_thread / steps_of_a_give_up)),
      g_(std::make_unique<graph>()) {
    for (unsigned i = 0; i <= max_threads; ++i) {
        fibers_.push_back(std::make_unique<fiber>());
        if (i >= p.threads && i != main_thread) continue;
        void* m = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (m == MAP_FAILED) std::abort();
        ::mprotect(m, 4096, PROT_NONE);
        fibers_.back()->stack = static_cast<char*>(m);
    }
}

engine::~engine() {
    for (auto& f : fibers_)
        if (f->stack != nullptr) ::munmap(f->stack, stack_bytes);
}

void engine::fiber_main(void* data) {
    engine& e = *static_cast<engine*>(data);
    const unsigned me = e.current_;
    const auto enter = [&] { program_heap = {&e.memory_, me}; };
    enter();
    try {
        if (me == main_thread) {
            e.program_.construct(e.check_);
            e.program_.before(e.check_);
            program_heap = {};
            e.fibers_[me]->status = state::finished;
            e.suspend();  // until all threads have ended
            enter();
            e.program_.after(e.check_);
            program_heap = {};
            if (e.program_.outcome != nullptr) e.outcome_ = e.program_.outcome(e.check_, e.outcome_buffer_);
            enter();
            e.program_.destroy(e.check_);
        } else {
            e.program_.thread(e.check_, me);
            program_heap = {};
            e.ends_without_locks();
        }
        program_heap = {};
    } catch (const std::exception& x) {
        program_heap = {};
        e.fail(std::string("an exception left the thread: ") + x.what());
    } catch (...) {
        program_heap = {};
        e.fail("an exception left the thread");
    }
    if (me != main_thread && e.phase_ == phase::add) e.step_done();
    e.fibers_[me]->status = state::finished;
    e.suspend();
    std::abort();  // a finished fiber is never resumed
}

void engine::reset() {
    memory_.reset();
    position_.fill(0);
    clocks.fill(0);
    thread_slots_.clear();
    for (auto& held : held_) held.clear();
    queued_.clear();
    stopped_ = peeking_ = false;
    end_ = run_end::complete;
    reached_now_.clear();
    asked_now_.fill(0);
    acted_now_ = 0;
    outcome_.clear();
    failure_.reason.clear();
    phase_ = phase::sequential;
    check_ = memory_.take(main_thread, program_.size, program_.alignment);
    for (auto& f : fibers_) {
        f->status = state::fresh;
        f->pending = nullptr;
    }
}

void engine::resume(unsigned thread) {
    fiber& f = *fibers_[thread];
    current_ = thread;
    // The page below the stack is a guard.
    if (f.status == state::fresh) f.where = make_context(f.stack + 4096, stack_bytes - 4096, &fiber_entry::run, this);
    f.status = state::runnable;
    switch_context(&scheduler_context_, f.where);
}

void engine::suspend() { switch_context(&fibers_[current_]->where, scheduler_context_); }

void engine::stop(run_end how) {
    stopped_ = true;
    end_ = how;
    program_heap = {};
    fibers_[current_]->status = state::blocked;
    suspend();
    std::abort();
}

void engine::fiber_blocks(operation& op) {
    fibers_[current_]->pending = &op;
    fibers_[current_]->status = state::blocked;
    suspend();
}

void engine::stall(operation& op) {
    fiber_blocks(op);
    std::abort();  // nothing wakes it in this run
}

void engine::fail(std::string reason) {
    failure_.reason = std::move(reason);
    failure_.thread = current_ == main_thread ? -1 : static_cast<int>(current_);
    trace_failure(failure_.reason, failure_.thread);
    stop(run_end::failed);
}

void engine::reach(const char* name) {
    for (const char* known : reached_now_)
        if (known == name) return;
    reached_now_.push_back(name);
}

std::string engine::describe(std::uint32_t site) const {
    const site_info& s = sites_[site];
    return std::string(s.operation) + " at " + place_text(s.at);
}

run_end engine::run() {
    engine* const outer = active_;
    active_ = this;
    reset();
    run_end result = run_end::complete;
    resume(main_thread);
    if (!stopped_) {
        phase_ = phase::replay;
        if (replay_all()) {
            phase_ = phase::add;
            add_all();
        }
    }
    result = stopped_ ? end_ : conclude();
    if (result == run_end::blocked && !stopped_ && only_the_bound_ && looks_beyond_ && decider_ == nullptr &&
        probing_ == nullptr && guide_ == nullptr && !attacks().go_on_after_failure)
        result = go_beyond();
    if (program_.left != nullptr) program_.left();
    if (result == run_end::failed) failure_.g = *g_;
    active_ = outer;
    return result;
}

// Every thread up to the end of its recorded events. False when the run has ended on the way.
bool engine::replay_all() {
    for (bool progress = true; progress;) {
        progress = false;
        for (unsigned t = 0; t < program_.threads; ++t) {
            const state s = fibers_[t]->status;
            if (s != state::fresh && s != state::waiting) continue;
            const unsigned had = position_[t];
            resume(t);
            if (stopped_) return false;
            progress = progress || position_[t] != had || fibers_[t]->status != state::waiting;
        }
    }
    for (unsigned t = 0; t < program_.threads; ++t)
        if (fibers_[t]->status == state::waiting || position_[t] != g_->size(t)) {
            stopped_ = true;
            end_ = run_end::nondeterministic;
            return false;
        }
    return true;
}

void engine::add_all() {
    while (!stopped_) {
        unsigned next = max_threads;
        if (decider_ != nullptr) {
            if (!pick_forward(next)) return;
        } else {
            next = pick_next();
            if (next == max_threads) return;
        }
        resume(next);
    }
}

// A function of the graph. First what cannot wait: the write of a read-modify-write, then a thread that holds a mutex that
// a blocked read stands at, so that nothing comes between before the unlock wakes it (wake). Last a wait that
// the latest store does not end: it would stand there blocked until a store comes, and then be revisited.
unsigned engine::pick_next() {
    unsigned first = max_threads, waiting = max_threads, holder = max_threads;
    for (unsigned t = 0; t < program_.threads; ++t) {
        const fiber& f = *fibers_[t];
        if (f.status == state::woken) return t;
        if (f.status == state::blocked && !f.pending->stalled) {
            const event& r = g_->threads[t].back();
            if (r.mode == read_mode::wait_rmw && is_event(r.rf)) holder = thread_of(r.rf);
        }
        if (f.status != state::frontier) continue;
        if (f.pending->in_rmw) return t;
        if (first != max_threads) continue;
        if (ends_wait(*f.pending))
            first = t;
        else if (waiting == max_threads)
            waiting = t;
    }
    if (holder != max_threads && fibers_[holder]->status == state::frontier && ends_wait(*fibers_[holder]->pending))
        return holder;
    return first != max_threads ? first : waiting;
}

bool engine::pick_forward(unsigned& thread) {
    std::vector<unsigned> ready;
    std::array<const operation*, max_threads> pending{};
    for (unsigned t = 0; t < program_.threads; ++t) {
        if (fibers_[t]->status != state::frontier) continue;
        pending[t] = fibers_[t]->pending;
        if (pending[t]->in_rmw) {
            thread = t;
            return true;
        }
        if (can_go_on(*pending[t])) ready.push_back(t);
    }
    if (ready.empty()) return false;
    thread = decider_->pick_thread(*g_, ready, pending);
    return thread < max_threads;
}

run_end engine::conclude() {
    only_the_bound_ = false;
    std::string waiting;
    bool bounded = false, may_still = false;  // give up
    const auto where = [&](unsigned t) {
        const site_info& site = sites_[fibers_[t]->pending->site];
        return "thread " + std::to_string(t) + " in " + site.operation + " at " + place_text(site.at);
    };
    for (unsigned t = 0; t < program_.threads; ++t) {
        if (fibers_[t]->status == state::finished) continue;
        const operation* op = fibers_[t]->pending;
        if (op->none.holds != nullptr && op->none.holds(op->none.closure, 0)) return run_end::blocked;
        if (op->stalled) {
            waiting += (waiting.empty() ? "" : ", ") + ("thread " + std::to_string(t)) + " in a loop around " +
                       describe(op->site);
            continue;
        }
        const std::uint32_t slot = slot_of(op->object);
        const location& l = g_->slots[slot];
        const auto top = static_cast<unsigned>(l.co.size());
        // A thread that has not seen the latest store, or may time out, would go on in the end.
        if (has_deadline(op->mode)) bounded = true;
        may_still = may_still || may_force(*g_, op->mode, timeouts, limits_.most.data());
        const auto& events = g_->threads[t];
        if (!events.empty() && events.back().has(blocked)) {
            if (g_->position(events.back().rf) != top) return run_end::blocked;
        } else {
            const std::uint64_t value = g_->value_of(slot, g_->store_at(slot, top));
            const bool match = op->mode == read_mode::spin_until ? op->done.holds(op->done.closure, value)
                                                                 : (value & op->mask) == op->expect;
            if (match) return run_end::blocked;
        }
        waiting += (waiting.empty() ? "" : ", ") + where(t);
    }
    if (!waiting.empty()) {
        if (bounded) {
            const std::uint32_t circle = in_a_circle();
            only_the_bound_ = circle == 0 && !may_still;
            const unsigned given_up = g_->used(timeouts);
            if (circle == 0 && (!only_the_bound_ || given_up < patience_)) return run_end::blocked;
            if (circle != 0) {
                waiting.clear();
                for (unsigned t = 0; t < program_.threads; ++t)
                    if ((circle >> t & 1U) != 0) waiting += (waiting.empty() ? "" : ", ") + where(t);
                failure_.reason = "deadlock: threads wait for ever for a lock, whatever the others do: " + waiting;
            } else {
                failure_.reason = "deadlock: nothing goes on but waits with deadlines, of which " +
                                  std::to_string(given_up) + " gave up: " + waiting +
                                  ". Remedy, where they would end later: --bounds steps=" +
                                  std::to_string(2 * limits_.steps_per_thread);
            }
        } else {
            failure_.reason = "deadlock: every thread that has not ended waits for ever: " + waiting;
        }
        failure_.thread = -1;
        trace_failure(failure_.reason, -1);
        return run_end::failed;
    }
    for (location_info& o : memory_.objects)
        if (!o.cell && o.slot != event::no_slot) {
            const auto top = static_cast<unsigned>(g_->slots[o.slot].co.size());
            if (top > 0) o.uninitialised = false;
            o.value = g_->value_of(o.slot, g_->store_at(o.slot, top));
        }
    phase_ = phase::sequential;
    resume(main_thread);
    if (stopped_) return end_;
    if (attacks().no_lifetime) return run_end::complete;
    for (const block& b : memory_.blocks)
        if (!b.freed) {
            failure_.reason =
                "memory leak: " + type_name(b.type) + " (" + std::to_string(b.size) + " bytes) was never destroyed";
            failure_.thread = -1;
            trace_failure(failure_.reason, -1);
            return run_end::failed;
        }
    return run_end::complete;
}

// ---- beyond the bound on waits with deadlines -------------------------------------------------------------------

// The threads that wait for a lock which one of them has, or one that has ended.
std::uint32_t engine::in_a_circle() {
    std::array<std::uint32_t, max_threads> holders{};
    std::uint32_t ended = 0, waiting = 0;
    for (unsigned t = 0; t < program_.threads; ++t) {
        if (fibers_[t]->status == state::finished) {
            ended |= 1U << t;
            continue;
        }
        const operation* op = fibers_[t]->pending;
        if (op->stalled || !op->for_holders) continue;
        const std::uint32_t slot = slot_of(op->object);
        const std::uint64_t word =
            g_->value_of(slot, g_->store_at(slot, static_cast<unsigned>(g_->slots[slot].co.size())));
        if ((word & op->mask) == op->expect) continue;
        holders[t] = lock_holders(word & op->mask);
        waiting |= 1U << t;
    }
    for (std::uint32_t before = 0; before != waiting;) {
        before = waiting;
        for (unsigned t = 0; t < program_.threads; ++t)
            if ((holders[t] & (before | ended)) == 0) waiting &= ~(1U << t);
    }
    return waiting;
}

namespace {
// Each read sees the latest store, and nothing happens that need not.
class as_expected final : public decider {
public:
    unsigned first = max_threads;
    unsigned pick_thread(const graph&, const std::vector<unsigned>& can_go_on,
                         const std::array<const operation*, max_threads>&) override {
        return std::ranges::find(can_go_on, first) != can_go_on.end() ? first : can_go_on.front();
    }
    unsigned pick_option(const graph&, const event&, const std::vector<option>&) override { return 0; }
};
}  // namespace

run_end engine::go_beyond() {
    as_expected line;
    const run_limits kept = limits_;
    std::array<unsigned, max_threads> given_up{};
    decider_ = &line;
    run_end end = run_end::blocked;
    while (end == run_end::blocked && only_the_bound_) {  // after `patience_` give-ups it is a failure
        line.first = let_one_give_up(given_up);
        for (unsigned next = max_threads; !stopped_;) {
            if (const unsigned t = serve_one(); t != max_threads)
                next = t;
            else if (!pick_forward(next))
                break;
            resume(next);
        }
        end = stopped_ ? end_ : conclude();
    }
    decider_ = nullptr;
    limits_ = kept;
    return end == run_end::failed ? end : run_end::blocked;
}

// Of those with a deadline the one that has given up least often.
unsigned engine::let_one_give_up(std::array<unsigned, max_threads>& given_up) {
    unsigned one = max_threads;
    for (unsigned t = 0; t < program_.threads; ++t)
        if (fibers_[t]->status != state::finished && !fibers_[t]->pending->stalled &&
            has_deadline(fibers_[t]->pending->mode) && (one == max_threads || given_up[t] < given_up[one]))
            one = t;
    ++given_up[one];
    limits_.most[timeouts] = g_->used(timeouts) + 1;
    if (fibers_[one]->status != state::blocked) return one;
    event& e = g_->threads[one].back();
    e.flags = timed_out(e.mode);
    settle_read(e);
    resume(one);
    return one;
}

// A thread that stands in a blocked read which the latest store lets go on; such a read sees that store.
unsigned engine::serve_one() {
    for (unsigned t = 0; t < program_.threads; ++t)
        if (fibers_[t]->status == state::frontier && fibers_[t]->pending->in_rmw) return max_threads;
    for (unsigned t = 0; t < program_.threads; ++t) {
        if (fibers_[t]->status != state::blocked || fibers_[t]->pending->stalled) continue;
        event& e = g_->threads[t].back();
        e.rf = g_->store_at(e.slot, static_cast<unsigned>(g_->slots[e.slot].co.size()));
        const bool goes_on = ends_wait(*fibers_[t]->pending);
        const bool writes = e.mode != read_mode::spin_until && !waits_in_queue(e.mode);
        e.flags = static_cast<std::uint8_t>(!goes_on ? blocked : writes ? exclusive : 0);
        settle_read(e);
        if (goes_on) return t;
    }
    return max_threads;
}

void engine::start_from(work_item&& item) {
    spare_.push_back(std::move(g_));
    g_ = std::move(item.g);
    path_ = item.path;
    depth_ = item.depth;
    weight_ = item.weight;
    way_ = std::move(item.way);
    decider_ = nullptr;
    trace_ = nullptr;
}

run_end engine::explore_next() {
    work_item item = std::move(stack_.back());
    stack_.pop_back();
    if (shard_depth_ != 0 && item.depth == shard_depth_ && !takes(item.path)) {
        spare_.push_back(std::move(item.g));
        return run_end::not_mine;
    }
    start_from(std::move(item));
    const run_end end = run();
    if (end != run_end::failed && end != run_end::nondeterministic && depth_ < shard_depth_ &&
        (!owns(path_) || !takes(path_)))
        return run_end::not_mine;
    count_reached(end);
    return end;
}

run_end engine::explore_shallowest() {
    std::rotate(stack_.begin(), stack_.begin() + 1, stack_.end());
    return explore_next();
}

void engine::count_reached(run_end end) {
    if (end != run_end::complete && end != run_end::failed) return;
    for (const char* name : reached_now_) ++reached_[name];
    for (std::size_t k = 0; k != laws_.size(); ++k) laws_[k] += asked_now_[k];
    acted_ |= acted_now_;
}

run_end engine::follow(decider& d, std::vector<trace_row>* trace) {
    g_->clear();
    decider_ = &d;
    trace_ = trace;
    d.start();
    const run_end end = run();
    count_reached(end);
    decider_ = nullptr;
    trace_ = nullptr;
    return end;
}

probe engine::probe_once(std::uint64_t& random) {
    probe_ = {};
    probe_next_ = {root(), 0, 0, 1};
    probing_ = &random;
    while (probe_next_.g != nullptr) {
        start_from(std::move(probe_next_));
        probe_next_ = {};
        probe_.end = run();
        ++probe_.runs;
    }
    probing_ = nullptr;
    probe_.executions += 1 / weight_;
    return probe_;
}

// Each run leaves the way at a child with a graph of its own, which the next begins with; so does all work on a stack.
bool engine::push_at(trail way) {
    probe_next_ = {root(), 0x9E37, 0, 1, {}};
    guide_ = &way;
    guided_ = 0;
    while (probe_next_.g != nullptr && guided_ != way.size()) {
        start_from(std::move(probe_next_));
        probe_next_ = {};
        (void)run();
    }
    guide_ = nullptr;
    if (probe_next_.g == nullptr || guided_ != way.size()) return false;
    probe_next_.way = std::move(way);
    stack_.push_back(std::move(probe_next_));
    probe_next_ = {};
    return true;
}

std::unique_ptr<graph> engine::root() const {
    auto g = std::make_unique<graph>();
    g->are_alike(program_.alike);
    return g;
}

void engine::push_root() { stack_.push_back({root(), 0x9E37, 0, 1}); }

double engine::remaining_weight() const {
    double sum = 0;
    for (const work_item& w : stack_) sum += w.weight;
    return sum;
}

event* engine::replay(const operation& op) {
    const unsigned t = current_;
    if (position_[t] >= g_->size(t)) return nullptr;
    event* e = &g_->threads[t][position_[t]];
    const bool same =
        e->kind == op.kind && e->loc == op.loc && e->site == op.site && e->mode == op.mode &&
        (e->kind == event_kind::write ? e->value == op.value : e->kind != event_kind::read || e->expect == op.expect);
    if (!same) stop(run_end::nondeterministic);
    if ((e->kind == event_kind::read || e->kind == event_kind::alloc) && is_event(e->rf))
        while (position_[thread_of(e->rf)] <= index_of(e->rf)) {
            fibers_[t]->status = state::waiting;
            suspend();
        }
    ++position_[t];
    return e;
}

void engine::at_frontier(operation& op) {
    fiber& f = *fibers_[current_];
    f.pending = &op;
    const unsigned me = current_;
    if (phase_ == phase::add) step_done();
    f.status = state::frontier;
    if (phase_ == phase::replay || decider_ != nullptr || pick_next() != me) suspend();
    f.status = state::runnable;
    if (position_[me] >= limits_.steps_per_thread)
        fail("livelock: more than " + std::to_string(limits_.steps_per_thread) + " steps in one thread; " +
             (program_.recognised != nullptr ? program_.recognised : "a waiting loop needs spin_until()"));
}

void engine::step_done() {
    if (program_.invariant == nullptr || peeking_ || sequential()) return;
    peeking_ = true;
    program_heap = {&memory_, current_};
    program_.invariant(check_);
    program_heap = {};
    peeking_ = false;
}

}  // namespace apiary::model::explorer
