// Classic litmus tests of what threads agree on: load buffering, independent readers, write order, coherence.
//
// Each has the outcome set that C++20 (RC11) allows and, where it differs, the one that Relacy shows. They run
// before every other check: an engine that has changed its mind makes the rest worthless.
#include "two_words.hpp"

namespace {

using namespace apiary;
using namespace apiary::litmus;

// --- load buffering, independent readers, write order ---------------------------------------------------

template <class Sync>
struct lb_relaxed : two_words<Sync, 2> {
    static constexpr const char* what =
        "load buffering, relaxed: RC11 forbids values out of thin air, and with them (1 1)";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0"};
    void thread(unsigned i) {
        this->r[i] = (i == 0 ? this->x : this->y).load(relaxed);
        (i == 0 ? this->y : this->x).store(1, relaxed);
    }
};
APIARY_LITMUS(lb_relaxed);

// Two writers, two readers that look in opposite order. Outcome: what reader 2 saw (x y), what reader 3 saw (y x).
template <class Sync, std::memory_order Store, std::memory_order Load>
struct iriw : two_words<Sync, 4, 4> {
    void thread(unsigned i) {
        if (i == 0) this->x.store(1, Store);
        if (i == 1) this->y.store(1, Store);
        if (i == 2) {
            this->r[0] = this->x.load(Load);
            this->r[1] = this->y.load(Load);
        }
        if (i == 3) {
            this->r[2] = this->y.load(Load);
            this->r[3] = this->x.load(Load);
        }
    }
};

template <class Sync>
struct iriw_acquire : iriw<Sync, release, acquire> {
    static constexpr const char* what =
        "independent readers of independent writes, acquire: they may disagree (1 0 1 0)";
    static constexpr outcomes rc11{"0 0 0 0", "0 0 0 1", "0 0 1 0", "0 0 1 1", "0 1 0 0", "0 1 0 1",
                                   "0 1 1 0", "0 1 1 1", "1 0 0 0", "1 0 0 1", "1 0 1 0", "1 0 1 1",
                                   "1 1 0 0", "1 1 0 1", "1 1 1 0", "1 1 1 1"};
};
APIARY_LITMUS(iriw_acquire);

template <class Sync>
struct iriw_seq_cst : iriw<Sync, seq_cst, seq_cst> {
    static constexpr const char* what = "independent readers of independent writes, seq_cst: they agree on an order";
    static constexpr outcomes rc11{"0 0 0 0", "0 0 0 1", "0 0 1 0", "0 0 1 1", "0 1 0 0",
                                   "0 1 0 1", "0 1 1 0", "0 1 1 1", "1 0 0 0", "1 0 0 1",
                                   "1 0 1 1", "1 1 0 0", "1 1 0 1", "1 1 1 0", "1 1 1 1"};
};
APIARY_LITMUS(iriw_seq_cst);

// The stores are not seq_cst. RC11's order of seq_cst operations takes co and rb between them one at a time, and each of those
// leads to a store. C++20's goes on over the store to the next seq_cst load ([atomics.order] 3.4 with 4.1), so that the readers
// agree.
template <class Sync>
struct iriw_release_seq_cst : iriw<Sync, release, seq_cst> {
    static constexpr const char* what =
        "independent readers of independent release stores, seq_cst loads: RC11 lets them disagree, C++20 does not "
        "(1 0 1 0)";
    static constexpr outcomes rc11 = iriw_acquire<Sync>::rc11;
};
APIARY_LITMUS(iriw_release_seq_cst);

template <class Sync>
struct rwc_release_seq_cst : two_words<Sync, 3, 3> {
    static constexpr const char* what = "read to write, a release store, seq_cst loads: RC11 allows 1 0 0, C++20 does not";
    static constexpr outcomes rc11{"0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1"};
    void thread(unsigned i) {
        if (i == 0) this->x.store(1, release);
        if (i == 1) {
            this->r[0] = this->x.load(seq_cst);
            this->r[1] = this->y.load(seq_cst);
        }
        if (i == 2) {
            this->y.store(1, seq_cst);
            this->r[2] = this->x.load(seq_cst);
        }
    }
};
APIARY_LITMUS(rwc_release_seq_cst);

// Each thread writes both words, in opposite order. Outcome: the final values.
template <class Sync, std::memory_order Store>
struct two_plus_two_writes : two_words<Sync, 2> {
    void thread(unsigned i) {
        auto& first = i == 0 ? this->x : this->y;
        auto& second = i == 0 ? this->y : this->x;
        first.store(1, Store);
        second.store(2, Store);
    }
    void after() { this->r = {this->x.load(relaxed), this->y.load(relaxed)}; }
};

template <class Sync>
struct w22_relaxed : two_plus_two_writes<Sync, relaxed> {
    static constexpr const char* what = "2+2W, relaxed: both first stores may win (1 1)";
    static constexpr outcomes rc11{"1 1", "1 2", "2 1", "2 2"};
    static constexpr outcomes relacy{"1 2", "2 1", "2 2"};
    static constexpr const char* relacy_differs =
        "too strong: a store always goes to the end of the modification order";
};
APIARY_LITMUS(w22_relaxed);

template <class Sync>
struct w22_seq_cst : two_plus_two_writes<Sync, seq_cst> {
    static constexpr const char* what = "2+2W, seq_cst: the first stores cannot both win";
    static constexpr outcomes rc11{"1 2", "2 1", "2 2"};
};
APIARY_LITMUS(w22_seq_cst);

// --- coherence ------------------------------------------------------------------------------------------

template <class Sync>
struct corr : two_words<Sync, 2> {
    static constexpr const char* what = "coherence: two loads of one word never go back in time";
    static constexpr outcomes rc11{"0 0", "0 1", "0 2", "1 1", "1 2", "2 2"};
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->x.store(2, relaxed);
        } else {
            this->r[0] = this->x.load(relaxed);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(corr);

template <class Sync>
struct corr_two_writers : two_words<Sync, 3> {
    static constexpr const char* what =
        "coherence with two writers: the reader sees the two stores in either order, but not back again";
    static constexpr outcomes rc11{"0 0", "0 1", "0 2", "1 1", "1 2", "2 1", "2 2"};
    void thread(unsigned i) {
        if (i == 0) this->x.store(1, relaxed);
        if (i == 1) this->x.store(2, relaxed);
        if (i == 2) {
            this->r[0] = this->x.load(relaxed);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(corr_two_writers);

template <class Sync>
struct stale_depth : two_words<Sync, 2> {
    static constexpr const char* what = "how far back a relaxed load may look: four stores and a flag, all relaxed";
    static constexpr outcomes rc11{"0 0", "0 1", "0 2", "0 3", "0 4", "1 0", "1 1", "1 2", "1 3", "1 4"};
    static constexpr outcomes relacy{"0 0", "0 1", "0 2", "0 3", "0 4", "1 2", "1 3", "1 4"};
    static constexpr const char* relacy_differs = "too strong: a load sees at most two stores back";
    void thread(unsigned i) {
        if (i == 0) {
            for (int v = 1; v != 5; ++v) this->x.store(v, relaxed);
            this->y.store(1, relaxed);
        } else {
            this->r[0] = this->y.load(relaxed);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(stale_depth);

template <class Sync>
struct rmw_atomic : two_words<Sync, 2> {
    static constexpr const char* what = "two relaxed read-modify-writes of one word never read the same store";
    static constexpr outcomes rc11{"0 1", "1 0"};
    void thread(unsigned i) { this->r[i] = this->x.fetch_add(1, relaxed); }
};
APIARY_LITMUS(rmw_atomic);

template <class Sync>
struct strong_cas_stale : two_words<Sync, 2> {
    static constexpr const char* what =
        "a flag is seen, and a strong compare-exchange still fails on the word's old value (1 0)";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
    static constexpr outcomes relacy{"0 0", "0 1", "1 1"};
    static constexpr const char* relacy_differs =
        "too strong: a compare-exchange that fails has always seen the newest store";
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, relaxed);
        } else {
            this->r[0] = this->y.load(relaxed);
            int one = 1;
            this->r[1] = this->x.compare_exchange_strong(one, 1, relaxed, relaxed) ? 1 : 0;
        }
    }
};
APIARY_LITMUS(strong_cas_stale);

template <class Sync>
struct wrc_acquire : two_words<Sync, 3, 3> {
    static constexpr const char* what =
        "write to read causality, release and acquire: what a thread passes on is seen after it";
    static constexpr outcomes rc11{"0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 1"};
    void thread(unsigned i) {
        if (i == 0) this->x.store(1, relaxed);
        if (i == 1) {
            this->r[0] = this->x.load(relaxed);
            this->y.store(1, release);
        }
        if (i == 2) {
            this->r[1] = this->y.load(acquire);
            this->r[2] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(wrc_acquire);

}  // namespace
