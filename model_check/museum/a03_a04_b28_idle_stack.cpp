// A03, A04 and B28: sleepers kept in a list, whose entries stay behind, stand twice in it, or come back.
//
// From: seed 002 section 4.6; tokio #8372 and cats-effect #4448. A04 takes the seed's stack as one without a tag.
// Seen by: both engines. Plain interleaving; A04 with a tag needs it narrow.
// Fixed twins: the shipped idle_set, where a worker is a bit and cannot stand twice; for A04 also a tag that is wide enough.
#include <array>
#include <optional>

#include <apiary/model_check/register.hpp>
#include <apiary/parking/idle_set.hpp>

namespace a03_a04_b28_idle_stack {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto acq_rel = std::memory_order_acq_rel;

// Treiber's stack of worker numbers. A push takes a new tag, of TagBits bits.
template <class Sync, unsigned Workers, unsigned TagBits>
class stack_of_workers {
    static constexpr std::uint64_t tags = (std::uint64_t{1} << TagBits) - 1;

public:
    stack_of_workers() {
        for (auto& n : below_) n.store(0, relaxed);
    }
    void push(unsigned worker) {
        std::uint64_t top = top_.load(relaxed), next = 0;
        do {
            below_[worker].store(top & 0xFF, relaxed);
            next = (worker + 1) | (((top >> 8) + 1) & tags) << 8;
        } while (!top_.compare_exchange_strong(top, next, acq_rel, relaxed));
    }
    std::optional<unsigned> pop() {
        std::uint64_t top = top_.load(acquire);
        for (;;) {
            if ((top & 0xFF) == 0) return std::nullopt;
            const auto worker = static_cast<unsigned>(top & 0xFF) - 1;
            const std::uint64_t next = below_[worker].load(relaxed) | (top & ~std::uint64_t{0xFF});
            if (top_.compare_exchange_strong(top, next, acq_rel, acquire)) return worker;
        }
    }

private:
    typename Sync::template atomic<std::uint64_t> top_{0};
    std::array<typename Sync::template atomic<std::uint64_t>, Workers> below_;
};

// A04. One popper stands still with an old look; the other one pops both workers and lets the first sleep again, and again.
// Each worker is then held by exactly one popper, or in the stack.
template <class Sync, unsigned TagBits, unsigned ComesBack>
struct two_poppers {
    static constexpr unsigned threads = 2;
    stack_of_workers<Sync, 2, TagBits> stack;
    std::array<std::optional<unsigned>, 2> held;

    void before() {
        stack.push(1);
        stack.push(0);
    }
    void thread(unsigned i) {
        if (i == 0) {
            held[0] = stack.pop();
            return;
        }
        const auto first = stack.pop();
        held[1] = stack.pop();
        for (unsigned n = 0; first && n < ComesBack; ++n) {
            stack.push(*first);
            if (n + 1 < ComesBack && stack.pop() != first) return;  // the other popper has it
        }
    }
    void after() {
        std::array<unsigned, 2> seen{};
        for (const auto& h : held)
            if (h) ++seen[*h];
        for (unsigned n = 0; n < 3; ++n)
            if (const auto left = stack.pop()) ++seen[*left];
        Sync::law(seen[0] <= 1 && seen[1] <= 1, "a sleeper is claimed twice");
    }
};
template <class Sync>
struct a04_no_tag : two_poppers<Sync, 0, 1> {
    static constexpr const char* what = "pop, pop, push of the same worker: the first popper's old look succeeds";
};
APIARY_EXHIBIT(a04_no_tag, "claimed twice");
template <class Sync>
struct a04_one_bit : two_poppers<Sync, 1, 2> {
    static constexpr const char* what = "a tag of one bit is back after two pushes";
};
APIARY_EXHIBIT(a04_one_bit, "claimed twice");
template <class Sync>
struct a04_two_bits : two_poppers<Sync, 2, 4> {
    static constexpr const char* what = "a tag of two bits is back after four pushes";
};
APIARY_EXHIBIT(a04_two_bits, "claimed twice");
template <class Sync>
struct a04_fixed : two_poppers<Sync, 32, 4> {
    static constexpr const char* what = "twin of A04: the same with a tag of 32 bits";
    static constexpr const char* exhibit = "a04_no_tag";
};
APIARY_CHECK(a04_fixed);

// A03. Put into the stack when its flag was clear; a worker that wakes by itself clears the flag, and stays linked.
template <class Sync>
class flagged_stack {
public:
    void sleep(unsigned w) {
        if (!sleeping_[w].exchange(true, acq_rel)) stack_.push(w);
    }
    void woke_by_itself(unsigned w) { sleeping_[w].store(false, std::memory_order_release); }
    bool claim() { return stack_.pop().has_value(); }

private:
    stack_of_workers<Sync, 1, 16> stack_;
    std::array<typename Sync::template atomic<bool>, 1> sleeping_;

public:
    flagged_stack() { sleeping_[0].store(false, relaxed); }
};
template <class Sync>
class set_of_sleepers {
public:
    void sleep(unsigned w) { idle_.announce_sleep(w, false); }
    void woke_by_itself(unsigned w) { (void)idle_.withdraw(w); }
    bool claim() { return idle_.claim(0); }

private:
    idle_set<Sync> idle_;
};
// A worker sleeps, wakes by itself, and sleeps again; then two posters want one each.
template <class Sync, class Sleepers>
struct sleeps_twice {
    static constexpr unsigned threads = 3;
    Sleepers sleepers;
    typename Sync::template atomic<bool> asleep{false};
    std::array<bool, 2> claimed{};

    void thread(unsigned i) {
        if (i == 2) {
            sleepers.sleep(0);
            sleepers.woke_by_itself(0);
            sleepers.sleep(0);
            asleep.store(true, std::memory_order_release);
            return;
        }
        Sync::spin_until(asleep, [](bool a) { return a; });
        claimed[i] = sleepers.claim();
    }
    void after() { Sync::law(!claimed[0] || !claimed[1], "one sleep was claimed twice"); }
};
template <class Sync>
struct a03_linked_twice : sleeps_twice<Sync, flagged_stack<Sync>> {
    static constexpr const char* what = "a worker that woke by itself is still linked; sleeping again links it twice";
};
APIARY_EXHIBIT(a03_linked_twice, "claimed twice");
template <class Sync>
struct a03_fixed : sleeps_twice<Sync, set_of_sleepers<Sync>> {
    static constexpr const char* what = "twin of A03: a bit, which its worker clears when it wakes by itself";
    static constexpr const char* exhibit = "a03_linked_twice";
};
APIARY_CHECK(a03_fixed);

// B28. Sleepers in a list with a count; a targeted wake leaves the entry where it is.
template <class Sync>
class counted_list {
public:
    // False: it stands in the list already.
    bool sleep(unsigned w) {
        const typename Sync::lock held(mutex_);
        if (listed_[w].read()) return false;
        listed_[w].write(true);
        return true;
    }
    void woke(unsigned) {}  // the waker has taken it out, this worker believes
    bool claim(unsigned w) {
        const typename Sync::lock held(mutex_);
        if (!listed_[w].read()) return false;
        listed_[w].write(false);
        return true;
    }
    counted_list() { listed_[0].write(false); }

private:
    typename Sync::mutex mutex_;
    std::array<typename Sync::template cell<bool>, 1> listed_;
};
template <class Sync>
class bit_of_sleeper {
public:
    bool sleep(unsigned w) {
        if (idle_.snapshot().sleeps(w)) return false;
        idle_.announce_sleep(w, false);
        return true;
    }
    void woke(unsigned w) {
        if (!idle_.withdraw(w)) idle_.stop_searching();
    }
    bool claim(unsigned w) { return idle_.claim(w); }

private:
    idle_set<Sync> idle_;
};
// The worker is woken twice: once for a message of its own, which claims nobody, and once as a sleeper.
template <class Sync, class Sleepers>
struct woken_for_another_reason {
    static constexpr unsigned threads = 3;
    Sleepers sleepers;
    typename Sync::parker parker;

    void thread(unsigned i) {
        if (i == 1) return parker.unpark();
        if (i == 2) {
            if (sleepers.claim(0)) parker.unpark();
            return;
        }
        for (int n = 0; n < 2; ++n) {
            Sync::law(sleepers.sleep(0), "a sleeper stands in the list twice");
            (void)parker.park_until(Sync::now_ns() + 5);
            sleepers.woke(0);
        }
    }
};
template <class Sync>
struct b28_entry_stays : woken_for_another_reason<Sync, counted_list<Sync>> {
    static constexpr const char* what = "a worker woken for another reason keeps its entry, and enters itself again";
};
APIARY_EXHIBIT(b28_entry_stays, "in the list twice");
template <class Sync>
struct b28_fixed : woken_for_another_reason<Sync, bit_of_sleeper<Sync>> {
    static constexpr const char* what = "twin of B28: whoever wakes withdraws, and learns whether it was claimed";
    static constexpr const char* exhibit = "b28_entry_stays";
};
APIARY_CHECK(b28_fixed);

}  // namespace
}  // namespace a03_a04_b28_idle_stack
