// The shipped slot under its scenarios: each element to one taker, and what it points to with it. The owner's steps are plain
// stores and loads; what a thief pays for them is a heavy fence, which the explorer alone knows (relacy_sync).
#include <array>
#include <cstddef>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/lifo_slot.hpp>

namespace lifo_slot_check {
namespace {

using namespace apiary;

// The owner is thread 0; the others steal.
template <class Sync, std::size_t Count, unsigned Threads>
struct slot_scenario {
    static constexpr unsigned threads = Threads;
    using element = typename Sync::template cell<std::size_t>;

    lifo_slot<element, Sync> slot;
    std::array<element, Count> elements;
    identity_ledger<Sync, Count, Threads> ledger;

    void put(std::size_t id) {
        ledger.put(id);
        elements[id].write(id);
        slot.put(&elements[id]);
    }
    bool took(unsigned thread, element* e) {
        if (e != nullptr) ledger.took(thread, e->read());
        return e != nullptr;
    }
    bool take() { return took(0, slot.take()); }
    bool steal(unsigned thread) { return took(thread, slot.steal()); }
    void after() {
        while (take()) {
        }
        ledger.settle();
    }
};

template <class Sync>
struct slot_take_against_steal : slot_scenario<Sync, 1, 2> {
    static constexpr const char* what = "one element: the owner takes, a thief steals";
    static constexpr std::array must_reach{"lifo_slot.raced", "lifo_slot.left_to_the_owner"};
    void before() { this->put(0); }
    void thread(unsigned i) {
        if (i == 0)
            this->take();
        else
            this->steal(1);
    }
};
APIARY_CHECK(slot_take_against_steal);

template <class Sync>
struct slot_take_against_two_thieves : slot_scenario<Sync, 1, 3> {
    static constexpr const char* what = "one element: the owner puts and takes, two thieves steal";
    static constexpr std::array must_reach{"lifo_slot.raced"};
    static constexpr std::array alike{1U, 2U};
    void thread(unsigned i) {
        if (i != 0) {
            this->steal(i);
            return;
        }
        this->put(0);
        this->take();
    }
};
APIARY_CHECK(slot_take_against_two_thieves);

// A thief that came for the first meets the second, or the owner at the second take.
template <class Sync>
struct slot_chain_against_steal : slot_scenario<Sync, 2, 2> {
    static constexpr const char* what = "the owner puts and takes twice, a thief steals";
    static constexpr std::array must_reach{"lifo_slot.raced", "lifo_slot.left_to_the_owner"};
    void before() { this->put(0); }
    void thread(unsigned i) {
        if (i != 0) {
            this->steal(1);
            return;
        }
        this->take();
        this->put(1);
        this->take();
    }
};
APIARY_CHECK(slot_chain_against_steal);

// One address again and again, as storage hands it out: what is taken is what was put last.
template <class Sync>
struct slot_same_address_against_steal {
    static constexpr const char* what = "the owner puts one object, takes it back, and puts it again; a thief steals";
    static constexpr std::array must_reach{"slot.stolen_first", "slot.stolen_second"};
    static constexpr unsigned threads = 2;
    typename Sync::template cell<int> object;
    lifo_slot<typename Sync::template cell<int>, Sync> slot;
    int taken = 0, stolen = 0, puts = 1;

    void before() {
        object.write(1);
        slot.put(&object);
    }
    void thread(unsigned i) {
        if (i == 1) {
            if (auto* o = slot.steal()) stolen = o->read();
            return;
        }
        if (slot.take() == nullptr) return;
        ++taken;
        object.write(2);
        slot.put(&object);
        ++puts;
        if (slot.take() != nullptr) ++taken;
    }
    void after() {
        if (stolen != 0) Sync::reach(stolen == 1 ? "slot.stolen_first" : "slot.stolen_second");
        if (stolen != 0) Sync::law(stolen == puts, "a thief got what its owner had taken");
        Sync::law(taken + (stolen != 0 ? 1 : 0) + (slot.take() != nullptr ? 1 : 0) == puts,
                  "an element was lost, or taken twice");
    }
};
APIARY_CHECK(slot_same_address_against_steal);

template <class Sync>
struct slot_steal_then_steal : slot_scenario<Sync, 2, 3> {
    static constexpr const char* what = "the owner puts twice and takes once, one thief steals twice, another once";
    static constexpr std::array must_reach{"lifo_slot.raced"};
    void before() { this->put(0); }
    void thread(unsigned i) {
        if (i == 0) {
            if (!this->take()) this->put(1);
            this->take();
        } else if (i == 1) {
            this->steal(1), this->steal(1);
        } else {
            this->steal(2);
        }
    }
};
APIARY_CHECK(slot_steal_then_steal);

// lifo_slot S5, as a worker that posts and one that falls asleep use it. What an earlier take has left of the turn must not hide the element.
template <class Sync>
struct slot_put_against_the_last_look {
    static constexpr const char* what =
        "the owner takes, puts and looks for a sleeper; a sleeper announces itself and looks: one sees the other";
    static constexpr std::array must_reach{"slot.met", "slot.announced"};
    static constexpr unsigned threads = 2;
    using element = typename Sync::template cell<int>;

    lifo_slot<element, Sync> slot;
    element elements[2];
    typename Sync::template atomic<bool> sleeps;
    bool seen_asleep = false, seen_there = false;

    void before() {
        sleeps.store(false, std::memory_order_relaxed);
        slot.put(&elements[0]);
    }
    void thread(unsigned i) {
        if (i == 0) {
            Sync::law(slot.take() != nullptr, "nobody else took it");
            slot.put(&elements[1]);
            Sync::fence_light();
            seen_asleep = sleeps.load(std::memory_order_relaxed);
            if (seen_asleep) Sync::reach("slot.announced");
        } else {
            sleeps.store(true, std::memory_order_relaxed);
            Sync::fence_heavy();
            seen_there = !slot.looks_empty();
            if (seen_there) Sync::reach("slot.met");
        }
    }
    void after() { Sync::law(seen_asleep || seen_there, "an element stays beside a sleeper that nobody wakes"); }
};
APIARY_CHECK(slot_put_against_the_last_look);

}  // namespace
}  // namespace lifo_slot_check
