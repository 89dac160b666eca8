// The two schedulers that stand in for Relacy's own.
//
// hunting_scheduler draws every decision from a good generator, seeded by (seed, number of the execution):
// Relacy's stock generator uses the low bits of a linear congruence, and with two threads reaches only a
// few thousand distinct executions. It varies its strategy from one execution to the next:
//   uniform   each step goes to any thread: good for short windows
//   burst     a thread keeps running for a while: good for deep states
//   pct       random priorities, lowered at a few random steps; finds a bug of depth d with probability at
//             least 1/(n k^(d-1)) (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010)
//
// tree_scheduler tries decisions in order, bounded by the number of preemptions or not at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>

#include <apiary/model_check/relacy/world.hpp>

namespace apiary::model::relacy_detail {

// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class split_mix {
public:
    void seed(std::uint64_t a, std::uint64_t b) {
        state_ = a * 0x9E3779B97F4A7C15U;
        state_ = next() ^ (b * 0xD1B54A32D192ED03U);
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    unsigned below(unsigned n) { return static_cast<unsigned>(((next() >> 32) * n) >> 32); }
    bool one_in(unsigned n) { return below(n) == 0; }

private:
    std::uint64_t state_ = 0;
};

template <rl::thread_id_t Threads>
class hunting_scheduler : public rl::scheduler<hunting_scheduler<Threads>, rl::scheduler_thread_info, Threads> {
    using base = rl::scheduler<hunting_scheduler<Threads>, rl::scheduler_thread_info, Threads>;

public:
    using shared_context_t = typename base::shared_context_t;
    using thread_info_t = typename base::thread_info_t;
    struct task_t {};

    hunting_scheduler(rl::test_params& params, shared_context_t& shared, rl::thread_id_t dynamic)
        : base(params, shared, dynamic) {}

    rl::thread_id_t iteration_begin_impl() {
        number_ = (this->iter_ - 1) * the_world.shards + the_world.shard + 1;
        random_.seed(the_world.seed, number_);
        choose_strategy();
        step_ = 0;
        current_ = -1;
        rl::unpark_reason reason{};
        return schedule_impl(reason, 0);
    }

    bool iteration_end_impl() {
        longest_ = std::max(longest_, step_);
        return the_world.budget_is_spent();
    }

    rl::thread_id_t schedule_impl(rl::unpark_reason& reason, unsigned yield) {
        ++step_;
        const rl::thread_id_t thread = choose(reason, yield != 0);
        current_ = thread;
        the_world.running = thread;
        return thread;
    }

    unsigned rand_impl(unsigned limit, rl::sched_type) { return random_.below(limit); }

    rl::iteration_t iteration_count_impl() { return ~rl::iteration_t{0}; }
    void get_state_impl(std::ostream& out) { out << number_ << ' ' << expected_; }
    void set_state_impl(std::istream&) {}
    void on_thread_block(rl::thread_id_t, bool) {}
    void thread_finished_impl() {}
    void purge_blocked_threads() {}

private:
    enum class strategy { uniform, burst, pct };

    void choose_strategy() {
        switch (the_world.strategy) {
            case world::hunt::uniform:
                how_ = strategy::uniform;
                break;
            case world::hunt::pct:
                how_ = strategy::pct;
                break;
            case world::hunt::mixed:
                how_ = static_cast<strategy>(number_ % 3);
                break;
        }
        if (how_ == strategy::burst) burst_ = 2U << random_.below(5);
        if (how_ != strategy::pct) return;
        for (std::size_t i = 0; i != priority_.size(); ++i) priority_[i] = static_cast<int>(i) + 1;
        for (std::size_t i = priority_.size(); i > 1; --i)
            std::swap(priority_[i - 1], priority_[random_.below(static_cast<unsigned>(i))]);
        lowest_ = 0;
        expected_ = the_world.replay_steps != 0 ? the_world.replay_steps : longest_;
        changes_ = std::min<std::size_t>(the_world.depth - 1, change_.size());
        for (std::size_t i = 0; i != changes_; ++i) change_[i] = 1 + random_.below(static_cast<unsigned>(expected_));
    }

    rl::thread_id_t choose(rl::unpark_reason& reason, bool yields) {
        const auto runnable = static_cast<unsigned>(this->running_threads_count);
        const auto timed = static_cast<unsigned>(this->timed_thread_count_);
        if (timed != 0) {
            const unsigned drawn = random_.below(runnable != 0 ? timed * 4 : timed);
            if (drawn < timed) return wake(this->timed_threads_[drawn], rl::unpark_reason_timeout, reason);
        }
        const auto spurious = static_cast<unsigned>(this->spurious_thread_count_);
        if (spurious != 0 && runnable != 0) {
            const unsigned drawn = random_.below(spurious * 8);
            if (drawn < spurious) return wake(this->spurious_threads_[drawn], rl::unpark_reason_spurious, reason);
        }
        reason = rl::unpark_reason_normal;
        if (how_ == strategy::pct) return by_priority(yields);
        if (how_ == strategy::burst && !yields && current_ >= 0 && !random_.one_in(burst_) &&
            this->threads_[current_].state_ == rl::thread_state_running)
            return current_;
        return this->running_threads[random_.below(runnable)];
    }

    rl::thread_id_t wake(thread_info_t* thread, rl::unpark_reason why, rl::unpark_reason& reason) {
        this->unpark_thread(thread->index_);
        reason = why;
        return thread->index_;
    }

    rl::thread_id_t by_priority(bool yields) {
        bool lower = yields;
        for (std::size_t i = 0; i != changes_; ++i) lower = lower || change_[i] == step_;
        if (lower && current_ >= 0) priority_[static_cast<std::size_t>(current_)] = --lowest_;
        rl::thread_id_t best = this->running_threads[0];
        for (rl::thread_id_t i = 1; i != this->running_threads_count; ++i) {
            const rl::thread_id_t other = this->running_threads[static_cast<std::size_t>(i)];
            if (priority_[static_cast<std::size_t>(other)] > priority_[static_cast<std::size_t>(best)]) best = other;
        }
        return best;
    }

    split_mix random_;
    strategy how_ = strategy::uniform;
    std::uint64_t number_ = 0;
    std::uint64_t step_ = 0, longest_ = 16, expected_ = 16;
    rl::thread_id_t current_ = -1;
    unsigned burst_ = 2;
    std::array<int, static_cast<std::size_t>(Threads)> priority_{};
    std::array<std::uint64_t, 8> change_{};
    std::size_t changes_ = 0;
    int lowest_ = 0;
};

// Decisions are written as one character each, 0-9 and a-z, so that a token fits on a line.
inline constexpr char decision_digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

template <rl::thread_id_t Threads>
class tree_scheduler : public rl::tree_search_scheduler<tree_scheduler<Threads>,
                                                        rl::context_bound_scheduler_thread_info<Threads>, Threads> {
    using base =
        rl::tree_search_scheduler<tree_scheduler<Threads>, rl::context_bound_scheduler_thread_info<Threads>, Threads>;

public:
    using shared_context_t = typename base::shared_context_t;
    using thread_info_t = typename base::thread_info_t;

    tree_scheduler(rl::test_params& params, shared_context_t& shared, rl::thread_id_t dynamic)
        : base(params, shared, dynamic) {}

    rl::thread_id_t iteration_begin_impl() {
        this->stree_depth_ = 0;
        left_ = the_world.bound;
        const auto running = static_cast<unsigned>(this->running_threads_count);
        const rl::thread_id_t first = this->running_threads[rand_impl(running, rl::sched_type_sched)];
        the_world.running = first;
        return first;
    }

    bool iteration_end_impl() {
        if (skip_foreign_subtree()) return true;
        if (base::iteration_end_impl()) {
            the_world.finished = true;
            return true;
        }
        return the_world.budget_is_spent();
    }

    rl::thread_id_t schedule_impl(rl::unpark_reason& reason, unsigned yield) {
        const rl::thread_id_t thread = base::schedule_impl(reason, yield);
        the_world.running = thread;
        return thread;
    }

    unsigned rand_impl(unsigned limit, rl::sched_type type) {
        // Freed memory is always kept back: recycling it at once would double the tree at every free and
        // hide uses after free.
        if (type == rl::sched_type_mem_realloc) return 0;
        const std::size_t depth = this->stree_depth_;
        if (depth == this->stree_.size() && depth < the_world.decisions.size()) {
            const char digit = the_world.decisions[depth];
            const unsigned index = static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
            this->stree_.push_back({limit, std::min(index, limit - 1), type, 0});
        }
        return base::rand_impl(limit, type);
    }

    bool can_switch(thread_info_t&) { return the_world.unbounded || left_ != 0; }
    void on_switch(thread_info_t& from) {
        if (!the_world.unbounded && from.state_ == rl::thread_state_running) --left_;
    }
    double iteration_count_approx() { return 1.0; }

    void get_state_impl(std::ostream& out) {
        for (const auto& node : this->stree_) out << decision_digits[std::min(node.index_, 35U)];
    }
    void set_state_impl(std::istream&) {}

private:
    // A shard owns the subtrees whose first decisions hash to it, and sees one execution of each other one.
    bool skip_foreign_subtree() {
        constexpr std::size_t prefix = 8;
        if (the_world.shards == 1 || this->stree_.size() <= prefix) return false;
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i != prefix; ++i) hash = (hash + this->stree_[i].index_ + 1) * 0x9E3779B97F4A7C15U;
        if ((hash >> 33) % the_world.shards == the_world.shard) return false;
        for (std::size_t i = prefix; i != this->stree_.size(); ++i) this->stree_[i].index_ = this->stree_[i].count_ - 1;
        return false;
    }

    unsigned left_ = 0;
};

}  // namespace apiary::model::relacy_detail
