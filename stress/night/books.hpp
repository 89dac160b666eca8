// books: what becomes of every piece of work of a round, by its number: its post's answer, its run, its end.
//
// Threads. took, ended, answered, fresh: any. settle, pending: when no other thread writes, or for a watchdog's dump, to which an
//          answer a moment old will do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace apiary::night {

// What its poster was told. `loose`: it may have run or not: a part of a loop that a stop ended early, or a timer that a stop
// drops because it is not due.
enum class answer : std::uint8_t { accepted = 1, refused = 2, loose = 4 };

class books {
public:
    explicit books(std::size_t ids) : state_(ids) {}

    // The number of a new piece; none if all are used up.
    bool fresh(std::size_t n, std::size_t& first) noexcept {
        first = next_.fetch_add(n, std::memory_order_relaxed);
        if (first + n > state_.size()) return false;
        posted_.fetch_add(n, std::memory_order_relaxed);
        return true;
    }
    void took(std::size_t id) noexcept {
        if ((state_[id].fetch_or(ran, std::memory_order_relaxed) & ran) != 0)
            doubled_.store(id + 1, std::memory_order_relaxed);
        if (closed_.load(std::memory_order_relaxed)) late_.store(id + 1, std::memory_order_relaxed);
        ran_.fetch_add(1, std::memory_order_relaxed);
    }
    // The scheduler's stop has returned: no piece runs any more.
    void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
    // The piece has been destroyed, whether it ran or not.
    void ended(std::size_t id) noexcept {
        state_[id].fetch_or(gone, std::memory_order_relaxed);
        ended_.fetch_add(1, std::memory_order_release);
    }
    // Whether all pieces that were posted have been destroyed. Those that a piece posts count before it ends.
    bool all_ended() const noexcept {
        const std::uint64_t ended = ended_.load(std::memory_order_acquire);
        return ended == posted_.load(std::memory_order_relaxed);
    }
    void answered(std::size_t id, answer a) noexcept {
        state_[id].fetch_or(static_cast<std::uint8_t>(a), std::memory_order_relaxed);
        (a == answer::refused ? refused_ : answered_).fetch_add(1, std::memory_order_relaxed);
    }

    bool all_used() const noexcept { return next_.load(std::memory_order_relaxed) >= state_.size(); }
    std::uint64_t steps() const noexcept {
        return ran_.load(std::memory_order_relaxed) + answered_.load(std::memory_order_relaxed) +
               refused_.load(std::memory_order_relaxed);
    }
    std::uint64_t run() const noexcept { return ran_.load(std::memory_order_relaxed); }
    std::uint64_t refusals() const noexcept { return refused_.load(std::memory_order_relaxed); }

    // What does not add up; empty: nothing. `may_drop`: a stop that discards has been asked for.
    std::string settle(bool may_drop) const {
        if (const std::size_t id = doubled_.load(); id != 0) return "piece " + std::to_string(id - 1) + " ran twice";
        if (const std::size_t id = late_.load(); id != 0)
            return "piece " + std::to_string(id - 1) + " ran after the stop had returned";
        for (std::size_t id = 0; id != state_.size(); ++id) {
            const unsigned s = state_[id].load();
            const std::string piece = "piece " + std::to_string(id);
            if ((s & gone) == 0 && s != 0) return piece + " was never destroyed";
            if ((s & accepted) != 0 && (s & ran) == 0 && !may_drop) return piece + " was accepted, and lost";
            if ((s & refused) != 0 && (s & ran) != 0) return piece + " was refused, and ran";
        }
        return "";
    }
    // The first pieces that were posted and have not ended.
    std::string pending() const {
        std::string told;
        std::size_t n = 0;
        for (std::size_t id = 0; id != state_.size(); ++id) {
            const unsigned s = state_[id].load(std::memory_order_relaxed);
            if ((s & gone) != 0 || (s & (accepted | loose | ran)) == 0) continue;
            if (++n <= 16) told += " " + std::to_string(id) + ((s & ran) != 0 ? " (begun)" : "");
        }
        return std::to_string(n) + " pieces are pending:" + told;
    }

private:
    static constexpr unsigned accepted = 1, refused = 2, loose = 4, ran = 8, gone = 16;
    std::vector<std::atomic<std::uint8_t>> state_;
    std::atomic<std::size_t> next_{0}, doubled_{0}, late_{0};
    std::atomic<bool> closed_{false};
    std::atomic<std::uint64_t> ran_{0}, answered_{0}, refused_{0}, posted_{0}, ended_{0};
};

// A piece of work: a callable that can only be moved, and tells the books when it runs and when it is destroyed.
template <class Desk>
class piece {
public:
    piece(Desk& d, std::size_t id) : desk_(&d), id_(id) {}
    piece(piece&& other) noexcept : desk_(std::exchange(other.desk_, nullptr)), id_(other.id_) {}
    piece(const piece&) = delete;
    piece& operator=(piece&&) = delete;
    ~piece() {
        if (desk_ != nullptr) desk_->its_books().ended(id_);
    }
    void operator()() { desk_->body(id_); }

private:
    Desk* desk_;
    std::size_t id_;
};

}  // namespace apiary::night
