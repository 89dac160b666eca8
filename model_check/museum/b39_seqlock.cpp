// B39: a seqlock whose reader loads the sequence again without a fence: its loads of the data may move past that load, and
// it accepts a mixture of two writes.
//
// From: xenium 8152339.
// Seen by: both engines; a stale load.
// Fixed twin: its own repaired form, with the acquire fence behind the data.
#include <apiary/model_check/register.hpp>

namespace b39_seqlock {
namespace {

using namespace apiary;

// One writer. The data are atomics, read relaxed: a reader may look while they change, and then throws away what it saw.
template <class Sync, bool Fenced>
class two_word_seqlock {
public:
    two_word_seqlock() {
        for (auto* word : {&sequence_, &first_, &second_}) word->store(0, std::memory_order_relaxed);
    }
    void write(unsigned value) {
        const unsigned s = sequence_.load(std::memory_order_relaxed);
        sequence_.store(s + 1, std::memory_order_relaxed);
        Sync::fence(std::memory_order_release);  // the odd sequence before the data: pairs with the reader's fence
        first_.store(value, std::memory_order_relaxed);
        second_.store(value, std::memory_order_relaxed);
        sequence_.store(s + 2, std::memory_order_release);
    }
    // False: a write was under way.
    bool read(unsigned& first, unsigned& second) const {
        const unsigned before = sequence_.load(std::memory_order_acquire);
        if (before % 2 != 0) return false;
        first = first_.load(std::memory_order_relaxed);
        second = second_.load(std::memory_order_relaxed);
        if constexpr (Fenced)
            Sync::fence(std::memory_order_acquire);  // a reader that saw new data sees their odd sequence
        return sequence_.load(std::memory_order_relaxed) == before;
    }

private:
    typename Sync::template atomic<unsigned> sequence_, first_, second_;
};

template <class Sync, bool Fenced>
struct one_write_one_read {
    static constexpr unsigned threads = 2;
    two_word_seqlock<Sync, Fenced> lock;
    void thread(unsigned i) {
        if (i == 0) return lock.write(1);
        unsigned first = 0, second = 0;
        if (lock.read(first, second)) Sync::law(first == second, "a torn read was accepted");
    }
};
template <class Sync>
struct b39_second_look_unfenced : one_write_one_read<Sync, false> {
    static constexpr const char* what = "the second load of the sequence is not ordered behind the data";
};
APIARY_EXHIBIT(b39_second_look_unfenced, "torn read");
template <class Sync>
struct b39_fixed : one_write_one_read<Sync, true> {
    static constexpr const char* what = "twin of B39: an acquire fence between the data and the second look";
    static constexpr const char* exhibit = "b39_second_look_unfenced";
};
APIARY_CHECK(b39_fixed);

}  // namespace
}  // namespace b39_seqlock
