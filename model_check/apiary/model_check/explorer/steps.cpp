// steps: one operation of a modelled thread. Replayed when the graph already has it, added when not.
#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

std::uint64_t engine::read(operation& op, std::uint8_t* flags) {
    event* e = replay(op);
    if (e == nullptr) {
        at_frontier(op);
        e = &append(op);
        read_options(e->id(), op, options_, decider_ != nullptr);
        e = &g_->threads[current_].back();
        if (decider_ == nullptr)
            branch(*e, options_);
        else if (options_.empty())
            stop(run_end::blocked);
        else
            apply(*e, options_[decider_->pick_option(*g_, *e, options_)]);
    } else if (e->has(recheck)) {
        e->flags = op.done.holds(op.done.closure, e->value) ? std::uint8_t{0} : std::uint8_t{blocked};
        if (e->has(blocked) && g_->position(e->rf) != g_->slots[e->slot].co.size()) stop(run_end::blocked);
    }
    slot_of(op.object);
    if (e->has(blocked)) {
        const unsigned index = e->index;
        fiber_blocks(op);
        e = &g_->threads[current_][index];
    }
    if (!is_event(e->rf) && g_->slots[e->slot].uninitialised)
        fail("uninitialised read: " + describe(op.site) + " may read an atomic that has no value yet");
    if (trace_ != nullptr) trace_event(*e);
    *flags = e->flags;
    return e->value;
}

void engine::write(operation& op) {
    event* e = replay(op);
    if (e == nullptr) {
        at_frontier(op);
        e = &append(op);
        if (op.in_rmw) e->flags = exclusive;
        add_write(*e);
        e = &g_->threads[current_].back();
    }
    slot_of(op.object);
    if (trace_ != nullptr) trace_event(*e);
}

void engine::fence(operation& op) {
    event* e = replay(op);
    if (e == nullptr) {
        at_frontier(op);
        e = &append(op);
        g_->link(*e);
        // A fence adds no edge out of itself: always consistent.
    }
    if (trace_ != nullptr) trace_event(*e);
}

std::uint32_t engine::choose(operation& op) {
    event* e = replay(op);
    if (e == nullptr) {
        at_frontier(op);
        e = &append(op);
        e->value = 0;
        g_->link(*e);
        if (decider_ != nullptr) {
            options_.clear();
            for (unsigned i = 0; i < op.alternatives; ++i) options_.push_back({no_event, 0, i});
            e->value = options_[decider_->pick_option(*g_, *e, options_)].place;
        } else {
            children_.clear();
            for (unsigned i = 1; i < op.alternatives; ++i) {
                e->value = i;
                children_.push_back({copy(*g_), 0, 0, 1});
            }
            e->value = 0;
            push_children(children_, true);
            e = &g_->threads[current_].back();
        }
    }
    if (trace_ != nullptr) trace_event(*e);
    return static_cast<std::uint32_t>(e->value);
}

}  // namespace apiary::model::explorer
