// trace: what happened, as rows for a person, and the deciders that draw and replay one execution.
#include <apiary/model_check/explorer/trace.hpp>

#include <apiary/model_check/explorer/consistency.hpp>
#include <apiary/model_check/explorer/revisit.hpp>

namespace apiary::model::explorer {

namespace {
std::string number_text(std::uint64_t value) {
    const auto s = static_cast<std::int64_t>(value);
    if (value < 1U << 20 || (s < 0 && s > -(1 << 20))) return std::to_string(s);
    std::string hex;
    for (std::uint64_t v = value; v != 0; v >>= 4) hex.insert(hex.begin(), "0123456789abcdef"[v & 15U]);
    return "0x" + hex;
}
// As the location's front end shows its values.
std::string value_text(const location_info* at, std::uint64_t value) {
    return at == nullptr || at->text_of == nullptr ? number_text(value) : at->text_of(value);
}
std::uint64_t row_id(event_id id) { return is_event(id) ? std::uint64_t{id} + 1 : 0; }
}  // namespace

void engine::trace_row_at(std::uint32_t site, std::uint64_t address, std::string text) {
    trace_row row;
    row.thread = current_ == main_thread ? trace_row::everyone : static_cast<int>(current_);
    if (site != 0) {
        row.file = sites_[site].at.file_name();
        row.line = sites_[site].at.line();
        row.column = sites_[site].at.column();
        row.operation = sites_[site].operation;
        row.function = inside_of(sites_[site].at);
    }
    row.object = address;
    row.text = std::move(text);
    trace_->push_back(std::move(row));
}

void engine::trace_failure(const std::string& reason, int thread) {
    if (trace_ == nullptr) return;
    trace_row row;
    row.thread = thread;
    row.text = reason;
    row.failed = true;
    trace_->push_back(std::move(row));
}

void engine::trace_cell(std::uint32_t site, std::uint64_t address, bool writes, const std::uint64_t* shown) {
    std::string text = writes ? "(plain write)" : "(plain read)";
    if (shown != nullptr) text.append(writes ? " = " : " -> ").append(number_text(*shown));
    trace_row_at(site, address, std::move(text));
}

void engine::trace_sequential_store(const operation& op, std::uint64_t value, bool in_rmw) {
    if (trace_ == nullptr) return;
    if (in_rmw && !trace_->empty())
        trace_->back().text += ", stores " + value_text(&memory_.objects[op.object], value);
    else
        trace_row_at(op.site, memory_.objects[op.object].address,
                     "= " + value_text(&memory_.objects[op.object], value));
}

void engine::trace_sequential(const operation& op, const location_info& info) {
    if (trace_ == nullptr) return;
    trace_row_at(op.site, info.address, "-> " + value_text(&info, info.value));
}

void engine::trace_event(const event& e) {
    const location_info* at = nullptr;
    if (e.slot != event::no_slot)
        for (const location_info& o : memory_.objects)
            if (o.slot == e.slot && !o.cell) at = &o;
    const std::uint64_t address = at == nullptr ? e.value : at->address;
    switch (e.kind) {
        case event_kind::read: {
            std::string text = "-> " + value_text(at, e.value) + " " + order_name(e.order);
            if (e.has(forced))
                text += e.mode == read_mode::weak_cas                      ? ", fails spuriously"
                        : e.mode == read_mode::timed_rmw || e.has(gave_up) ? ", times out"
                                                                           : ", wakes spuriously";
            else if ((e.mode == read_mode::cas || e.mode == read_mode::weak_cas) && !e.has(exclusive))
                text += ", fails (expected " + value_text(at, e.expect) + ")";
            trace_row_at(e.site, address, std::move(text));
            trace_row& row = trace_->back();
            row.event = row_id(e.id());
            row.reads = true;
            row.read = row_id(e.rf);
            const auto& co = g_->slots[e.slot].co;
            const unsigned from = g_->position(e.rf);
            for (unsigned i = earliest_store(*g_, e.slot, knowledge_before(*g_, e)); i <= co.size(); ++i)
                row.could_read.push_back(row_id(g_->store_at(e.slot, i)));
            if (from < co.size() && !e.has(exclusive)) row.note = why_stale(e, g_->at(co[from]));
            break;
        }
        case event_kind::write:
            if (e.has(exclusive) && !trace_->empty() && trace_->back().thread == e.thread) {
                trace_row& row = trace_->back();
                row.text += ", stores " + value_text(at, e.value);
                row.writes = true;
                row.wrote = row_id(e.id());
            } else {
                trace_row_at(e.site, address, "= " + value_text(at, e.value) + " " + order_name(e.order));
                trace_->back().writes = true;
                trace_->back().wrote = row_id(e.id());
                if (e.position < g_->slots[e.slot].co.size())
                    trace_->back().note =
                        "takes a place before stores that are already there, in the order of stores to this location";
            }
            break;
        case event_kind::fence:
            trace_row_at(e.site, 0, order_name(e.order));
            trace_->back().event = row_id(e.id());
            break;
        case event_kind::choice:
            trace_row_at(e.site, 0, "chooses " + std::to_string(e.value));
            break;
        case event_kind::alloc:
            trace_row_at(0, 0,
                         (e.loc == memory_of_a_scope ? "begin scope " : "create ") + number_text(e.value) +
                             (is_event(e.rf) ? ", memory freed before" : ""));
            break;
        case event_kind::release:
            trace_row_at(0, 0, (e.loc == memory_of_a_scope ? "end scope " : "destroy ") + number_text(e.value));
            break;
    }
}

// Why `newer`, a store that had taken effect, need not be seen by `read`: the step that could have carried it over and
// does not, or the one that is not there. "row {ID}" becomes a number when the rows are laid out.
std::string engine::why_stale(const event& read, const event& newer) const {
    const auto row = [](const event& e) { return "row {" + std::to_string(row_id(e.id())) + "}"; };
    const auto in_order = [&](const event& e) {
        return row(e) + " (" + sites_[e.site].operation + " " + order_name(e.order) + ")";
    };
    const std::string start = "no happens-before edge from " + row(newer) + " to this read: ";
    const auto& here = g_->threads[read.thread];
    for (unsigned i = 0; i < read.index; ++i) {
        const event& r = here[i];
        if (r.kind != event_kind::read || !is_event(r.rf)) continue;
        const event& w = g_->at(r.rf);
        if (w.porf[newer.thread] <= newer.index) continue;
        if (w.rel[newer.thread] > newer.index)
            return start + in_order(r) + " takes the value of " + row(w) + ", which releases it, but is " +
                   order_name(r.order) + "; acquire would make the edge";
        if (w.hb[newer.thread] > newer.index)
            return start + in_order(r) + " takes the value of " + in_order(w) + "; release there would make the edge";
        return start + row(w) + ", which " + in_order(r) + " reads, does not know of it either";
    }
    // Store buffering: each thread has stored, and misses the other's store. Only a total order of the four forbids it.
    const auto& there = g_->threads[newer.thread];
    const auto fenced = [](const std::vector<event>& events, unsigned from, unsigned to) {
        for (unsigned i = from + 1; i < to; ++i)
            if (events[i].kind == event_kind::fence && events[i].seq_cst()) return true;
        return false;
    };
    for (unsigned i = 0; i < read.index; ++i)
        for (std::size_t k = newer.index + 1U; here[i].kind == event_kind::write && k < there.size(); ++k) {
            const event &mine = here[i], &other = there[k];
            if (other.kind != event_kind::read || other.slot != mine.slot || g_->position(other.rf) >= mine.position)
                continue;
            std::string text = "each thread misses the other's store (" + row(mine) + ", " + row(newer) +
                               "), which only seq_cst forbids: ";
            const bool fence_here = fenced(here, i, read.index),
                       fence_there = fenced(there, newer.index, static_cast<unsigned>(k));
            if (!fence_here && !fence_there) {
                text += "no seq_cst fence stands between them";
                const char* separator = ", and not seq_cst are ";
                for (const event* e : {&mine, &read, &newer, &other})
                    if (!e->seq_cst()) {
                        text.append(separator).append(in_order(*e));
                        separator = ", ";
                    }
                return text;
            }
            if (!fence_here) return text + "no seq_cst fence stands between " + row(mine) + " and this read";
            if (!fence_there) return text + "no seq_cst fence stands between " + row(newer) + " and " + row(other);
        }
    return start + "no earlier read of this thread takes the value of a store that comes after it";
}

// ---- deciders ----------------------------------------------------------------------------------------

void recording::note_thread(unsigned t) { token_ += static_cast<char>('A' + t); }
void recording::note_option(std::size_t index, std::size_t of) {
    if (of <= 1) return;
    if (index < 36)
        token_ += "0123456789abcdefghijklmnopqrstuvwxyz"[index];
    else
        token_.append("(").append(std::to_string(index)).append(")");
}

void along_graph::start() {
    token_.clear();
    last_ = max_threads;
}

bool along_graph::ready(const graph& g, const event& e, unsigned strictness) const {
    const auto done = [&](event_id id) { return !is_event(id) || index_of(id) < g.size(thread_of(id)); };
    if (e.has(blocked)) return false;
    if ((e.kind == event_kind::read || e.kind == event_kind::alloc) && !done(e.rf)) return false;
    const event* write = nullptr;
    if (e.kind == event_kind::write) write = &e;
    if (e.kind == event_kind::read && e.has(exclusive))
        for (std::size_t i = e.index + 1U; i < target_.threads[e.thread].size() && write == nullptr; ++i)
            if (target_.threads[e.thread][i].kind == event_kind::write) write = &target_.threads[e.thread][i];
    if (write == nullptr) return true;
    if (strictness >= 1)
        for (unsigned i = 1; i < write->position; ++i)
            if (!done(target_.store_at(write->slot, i))) return false;
    if (strictness >= 2)
        for (const auto& t : target_.threads)
            for (const event& r : t)
                if (r.kind == event_kind::read && r.slot == write->slot && r.id() != e.id() &&
                    target_.position(r.rf) < write->position && !done(r.id()) && !r.has(blocked))
                    return false;
    return true;
}

unsigned along_graph::pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                                  const std::array<const operation*, max_threads>&) {
    const auto choose = [&](unsigned t) {
        last_ = t;
        note_thread(t);
        return t;
    };
    for (unsigned strictness = 3; strictness-- > 0;) {
        unsigned first = max_threads;
        for (const unsigned t : can_go_on) {
            const unsigned i = g.size(t);
            if (i >= target_.size(t) || !ready(g, target_.threads[t][i], strictness)) continue;
            if (t == last_) return choose(t);
            if (first == max_threads) first = t;
        }
        if (first != max_threads) return choose(first);
    }
    // All that the graph has is done: what failed comes next.
    for (const unsigned t : can_go_on)
        if (g.size(t) >= target_.size(t) && static_cast<int>(t) == failing_) return choose(t);
    return max_threads;
}

unsigned along_graph::pick_option(const graph& g, const event& e, const std::vector<option>& options) {
    unsigned index = 0;
    if (e.index < target_.size(e.thread)) {
        const event& want = target_.threads[e.thread][e.index];
        const auto fits = [&](const option& o) {
            switch (e.kind) {
                case event_kind::read:
                    return o.rf == want.rf && o.flags == (want.flags & ~unsigned{recheck | woken});
                case event_kind::alloc:
                    return o.rf == want.rf;
                case event_kind::choice:
                    return o.place == want.value;
                case event_kind::write: {
                    unsigned earlier = 0;
                    for (const event_id id : g.slots[e.slot].co)
                        earlier += target_.at(id).position < want.position ? 1U : 0U;
                    return o.place == earlier;
                }
                case event_kind::fence:
                case event_kind::release:
                    return true;
            }
            return true;
        };
        for (unsigned i = 0; i < options.size(); ++i)
            if (fits(options[i])) {
                index = i;
                break;
            }
    }
    note_option(index, options.size());
    return index;
}

void along_token::start() { at_ = 0; }

unsigned along_token::pick_thread(const graph&, const std::vector<unsigned>& can_go_on,
                                  const std::array<const operation*, max_threads>&) {
    if (at_ >= text_.size()) return max_threads;
    const unsigned t = static_cast<unsigned char>(text_[at_]) - unsigned{'A'};
    for (const unsigned ready : can_go_on)
        if (ready == t) {
            ++at_;
            return t;
        }
    off_ = true;
    return max_threads;
}

unsigned along_token::pick_option(const graph&, const event&, const std::vector<option>& options) {
    if (options.size() <= 1 || at_ >= text_.size()) return 0;
    const char c = text_[at_];
    std::size_t index = 0;
    if (c == '(') {
        const std::size_t end = text_.find(')', at_);
        if (end == std::string::npos) return 0;
        for (++at_; at_ < end; ++at_) index = index * 10 + static_cast<std::size_t>(text_[at_] - '0');
        ++at_;
    } else if (c >= '0' && c <= '9') {
        index = static_cast<std::size_t>(c - '0');
        ++at_;
    } else if (c >= 'a' && c <= 'z') {
        index = static_cast<std::size_t>(c - 'a') + 10;
        ++at_;
    } else {
        off_ = true;
    }
    if (index >= options.size()) {
        off_ = true;
        index = 0;
    }
    return static_cast<unsigned>(index);
}

// ---- hunting -------------------------------------------------------------------------------------------

std::uint64_t hunter::next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545'F491'4F6C'DD1DU >> 16;
}

void hunter::start() {
    token_.clear();
    step_ = 0;
    for (unsigned t = 0; t < max_threads; ++t) priority_[t] = (next() | 1U << 8) + max_threads;
    changes_.clear();
    for (unsigned i = 0; i < depth_; ++i) changes_.push_back(next() % (longest_ + 1));
}

unsigned hunter::pick_thread(const graph&, const std::vector<unsigned>& can_go_on,
                             const std::array<const operation*, max_threads>&) {
    ++step_;
    longest_ = std::max(longest_, step_);
    unsigned best = can_go_on[next() % can_go_on.size()];
    if (depth_ > 0) {
        for (const unsigned t : can_go_on)
            if (priority_[t] > priority_[best]) best = t;
        for (unsigned i = 0; i < changes_.size(); ++i)
            if (changes_[i] == step_) {
                priority_[best] = i;
                for (const unsigned t : can_go_on)
                    if (priority_[t] > priority_[best]) best = t;
            }
    }
    note_thread(best);
    return best;
}

unsigned hunter::pick_option(const graph&, const event& e, const std::vector<option>& options) {
    std::size_t index = 0;
    if (options.size() > 1 && (e.kind == event_kind::choice || next() % (depth_ > 0 ? 4 : 2) == 0))
        index = next() % options.size();
    note_option(index, options.size());
    return static_cast<unsigned>(index);
}

// ---- few preemptions -------------------------------------------------------------------------------------

void few_preemptions::start() {
    token_.clear();
    at_ = 0;
    used_ = 0;
    last_ = max_threads;
}

unsigned few_preemptions::decide(std::size_t of) {
    if (of <= 1) return 0;
    if (at_ == line_.size()) line_.push_back({0, static_cast<unsigned>(of)});
    return line_[at_++].taken;
}

unsigned few_preemptions::pick_thread(const graph&, const std::vector<unsigned>& can_go_on,
                                      const std::array<const operation*, max_threads>& pending) {
    candidates_.clear();
    bool costs = false;
    for (const unsigned t : can_go_on)
        if (t == last_) {
            candidates_.push_back(t);
            const read_mode mode = pending[t]->mode;
            costs = !has_deadline(mode) && mode != read_mode::in_queue;
        }
    if (!costs || used_ < most_)
        for (const unsigned t : can_go_on)
            if (t != last_) candidates_.push_back(t);
    const unsigned t = candidates_[decide(candidates_.size())];
    if (costs && t != last_) ++used_;
    last_ = t;
    note_thread(t);
    return t;
}

unsigned few_preemptions::pick_option(const graph&, const event&, const std::vector<option>& options) {
    const unsigned index = decide(options.size());
    note_option(index, options.size());
    return index;
}

bool few_preemptions::mine() const {
    if (shards_ <= 1) return true;
    std::uint64_t h = 0;
    for (std::size_t i = 0; i < std::min(line_.size(), shared_prefix); ++i)
        h = (h ^ (line_[i].taken + 1)) * 0x9E37'79B9'7F4A'7C15U, h ^= h >> 29;
    return h % shards_ == shard_;
}

bool few_preemptions::next() {
    // Of another's part one line shows all: on to the next prefix.
    if (!mine() && line_.size() > shared_prefix) line_.resize(shared_prefix);
    while (!line_.empty() && line_.back().taken + 1 == line_.back().of) line_.pop_back();
    if (line_.empty()) return false;
    ++line_.back().taken;
    return true;
}

}  // namespace apiary::model::explorer
