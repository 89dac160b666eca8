// trace: deciders. One line through the program is drawn (along a graph), replayed (along a token), hunted at random
// or enumerated.
//
// A token is a string: an upper-case letter lets that thread go on, a digit (0-9, a-z, or a number in
// parentheses) is the option taken where there were several. In front may stand how many timeouts it has, where that is
// more than the bound: +2,
#pragma once

#include <string>

#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

class recording : public decider {
public:
    [[nodiscard]] const std::string& token() const { return token_; }

protected:
    void note_thread(unsigned t);
    void note_option(std::size_t index, std::size_t of);
    std::string token_;
};

// Builds a known graph in an order that is easy to read: stores in the order of co, reads before what they
// did not see where possible, few changes of thread.
class along_graph final : public recording {
public:
    along_graph(const graph& target, int failing) : target_(target), failing_(failing) {}
    void start() override;
    unsigned pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                         const std::array<const operation*, max_threads>& pending) override;
    unsigned pick_option(const graph& g, const event& e, const std::vector<option>& options) override;

private:
    [[nodiscard]] bool ready(const graph& g, const event& e, unsigned strictness) const;
    const graph& target_;
    int failing_;
    unsigned last_ = max_threads;
};

class along_token final : public decider {
public:
    explicit along_token(std::string text) : text_(std::move(text)) {}
    void start() override;
    unsigned pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                         const std::array<const operation*, max_threads>& pending) override;
    unsigned pick_option(const graph& g, const event& e, const std::vector<option>& options) override;
    [[nodiscard]] bool off() const { return off_; }

private:
    std::string text_;
    std::size_t at_ = 0;
    bool off_ = false;
};

// depth 0: uniformly random. Otherwise PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010) with
// `depth` priority changes, and mostly the latest store in reads.
class hunter final : public recording {
public:
    hunter(std::uint64_t seed, unsigned depth) : state_(seed * 0x9E37'79B9'7F4A'7C15U | 1U), depth_(depth) {}
    void start() override;
    unsigned pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                         const std::array<const operation*, max_threads>& pending) override;
    unsigned pick_option(const graph& g, const event& e, const std::vector<option>& options) override;

private:
    std::uint64_t next();
    std::uint64_t state_;
    unsigned depth_;
    std::uint64_t step_ = 0, longest_ = 20;
    std::array<std::uint64_t, max_threads> priority_{};
    std::vector<std::uint64_t> changes_;
};

// All lines of execution with at most `most` preemptions (Musuvathi, Qadeer, PLDI 2007), one after the other: a thread
// that could go on, and not only by giving up its wait, is left for another at most so often. Depth first.
class few_preemptions final : public recording {
public:
    few_preemptions(unsigned most, unsigned shard, unsigned shards) : most_(most), shard_(shard), shards_(shards) {}
    void start() override;
    unsigned pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                         const std::array<const operation*, max_threads>& pending) override;
    unsigned pick_option(const graph& g, const event& e, const std::vector<option>& options) override;
    // Of the line that was followed last.
    [[nodiscard]] unsigned used() const { return used_; }
    [[nodiscard]] bool mine() const;
    // False after the last line.
    bool next();

private:
    struct decision {
        unsigned taken, of;
    };
    // Parts are made by a hash of so many decisions.
    static constexpr std::size_t shared_prefix = 6;
    unsigned decide(std::size_t of);
    unsigned most_, shard_, shards_, used_ = 0, last_ = max_threads;
    std::vector<decision> line_;
    std::size_t at_ = 0;
    std::vector<unsigned> candidates_;
};

}  // namespace apiary::model::explorer
