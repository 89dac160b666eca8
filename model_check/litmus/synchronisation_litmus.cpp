// Classic litmus tests of what synchronises: store buffering, message passing, release sequences.
//
// Each has the outcome set that C++20 (RC11) allows and, where it differs, the one that Relacy shows. They run
// before every other check: an engine that has changed its mind makes the rest worthless.
#include "two_words.hpp"

namespace {

using namespace apiary;
using namespace apiary::litmus;

// --- store buffering: each thread stores its own word, then loads the other's -------------------------

template <class Sync, std::memory_order Store, std::memory_order Load>
struct sb : two_words<Sync, 2> {
    void thread(unsigned i) {
        auto& mine = i == 0 ? this->x : this->y;
        auto& other = i == 0 ? this->y : this->x;
        mine.store(1, Store);
        this->r[i] = other.load(Load);
    }
};

template <class Sync>
struct sb_relaxed : sb<Sync, relaxed, relaxed> {
    static constexpr const char* what = "store buffering, relaxed: both may miss each other";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
};
APIARY_LITMUS(sb_relaxed);

template <class Sync>
struct sb_release_acquire : sb<Sync, release, acquire> {
    static constexpr const char* what = "store buffering, release and acquire: both may still miss each other";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
};
APIARY_LITMUS(sb_release_acquire);

template <class Sync>
struct sb_seq_cst : sb<Sync, seq_cst, seq_cst> {
    static constexpr const char* what = "store buffering, seq_cst: at least one sees the other";
    static constexpr outcomes rc11{"0 1", "1 0", "1 1"};
};
APIARY_LITMUS(sb_seq_cst);

template <class Sync>
struct sb_fences : two_words<Sync, 2> {
    static constexpr const char* what =
        "store buffering, relaxed with seq_cst fences between: at least one sees the other";
    static constexpr outcomes rc11{"0 1", "1 0", "1 1"};
    void thread(unsigned i) {
        auto& mine = i == 0 ? this->x : this->y;
        auto& other = i == 0 ? this->y : this->x;
        mine.store(1, relaxed);
        Sync::fence(seq_cst);
        this->r[i] = other.load(relaxed);
    }
};
APIARY_LITMUS(sb_fences);

template <class Sync>
struct sb_fence_against_accesses : two_words<Sync, 2> {
    static constexpr const char* what =
        "store buffering, seq_cst accesses in one thread and a seq_cst fence in the other";
    static constexpr outcomes rc11{"0 1", "1 0", "1 1"};
    static constexpr outcomes relacy{"0 0", "0 1", "1 0", "1 1"};
    static constexpr const char* relacy_differs =
        "too weak: it orders fences with fences and accesses with accesses only";
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, seq_cst);
            this->r[0] = this->y.load(seq_cst);
        } else {
            this->y.store(1, relaxed);
            Sync::fence(seq_cst);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(sb_fence_against_accesses);

template <class Sync>
struct sb_rmw_apart : two_words<Sync, 2> {
    static constexpr const char* what =
        "store buffering, an acq_rel read-modify-write of a private word between: it is no fence";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
    typename Sync::template atomic<int> a{0}, b{0};
    void thread(unsigned i) {
        auto& mine = i == 0 ? this->x : this->y;
        auto& other = i == 0 ? this->y : this->x;
        mine.store(1, relaxed);
        (i == 0 ? a : b).fetch_add(1, acq_rel);
        this->r[i] = other.load(relaxed);
    }
};
APIARY_LITMUS(sb_rmw_apart);

template <class Sync>
struct sb_rmw_shared : two_words<Sync, 2> {
    static constexpr const char* what =
        "store buffering, an acq_rel read-modify-write of one shared word between: one sees the other";
    static constexpr outcomes rc11{"0 1", "1 0", "1 1"};
    typename Sync::template atomic<int> z{0};
    void thread(unsigned i) {
        auto& mine = i == 0 ? this->x : this->y;
        auto& other = i == 0 ? this->y : this->x;
        mine.store(1, relaxed);
        z.fetch_add(1, acq_rel);
        this->r[i] = other.load(relaxed);
    }
};
APIARY_LITMUS(sb_rmw_shared);

// --- message passing: data in x, a flag in y ----------------------------------------------------------

template <class Sync, std::memory_order Store, std::memory_order Load>
struct mp : two_words<Sync, 2> {
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, Store);
        } else {
            this->r[0] = this->y.load(Load);
            this->r[1] = this->x.load(relaxed);
        }
    }
};

template <class Sync>
struct mp_relaxed : mp<Sync, relaxed, relaxed> {
    static constexpr const char* what = "message passing, relaxed: the flag may come before the data";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
};
APIARY_LITMUS(mp_relaxed);

template <class Sync>
struct mp_release_acquire : mp<Sync, release, acquire> {
    static constexpr const char* what = "message passing, release and acquire: the flag brings the data";
    static constexpr outcomes rc11{"0 0", "0 1", "1 1"};
};
APIARY_LITMUS(mp_release_acquire);

template <class Sync>
struct mp_release_relaxed : mp<Sync, release, relaxed> {
    static constexpr const char* what = "message passing, release store and relaxed load: no synchronisation";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
};
APIARY_LITMUS(mp_release_relaxed);

template <class Sync>
struct mp_fences : two_words<Sync, 2> {
    static constexpr const char* what =
        "message passing, relaxed with a release and an acquire fence: the flag brings the data";
    static constexpr outcomes rc11{"0 0", "0 1", "1 1"};
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            Sync::fence(release);
            this->y.store(1, relaxed);
        } else {
            this->r[0] = this->y.load(relaxed);
            Sync::fence(acquire);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(mp_fences);

template <class Sync>
struct mp_seq_cst_fences_apart : two_words<Sync, 2> {
    static constexpr const char* what =
        "message passing, seq_cst fences but the flag's load behind the reader's fence: they order nothing here";
    static constexpr outcomes rc11{"0 0", "0 1", "1 0", "1 1"};
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, relaxed);
            Sync::fence(seq_cst);
        } else {
            Sync::fence(seq_cst);
            this->r[0] = this->y.load(relaxed);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(mp_seq_cst_fences_apart);

// --- release sequences --------------------------------------------------------------------------------

template <class Sync>
struct release_sequence_rmw : two_words<Sync, 3> {
    static constexpr const char* what = "another thread's relaxed read-modify-write continues the release sequence";
    static constexpr outcomes rc11{"0 0", "0 1", "1 1", "2 1"};
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, release);
        } else if (i == 1) {
            int one = 1;
            this->y.compare_exchange_strong(one, 2, relaxed, relaxed);
        } else {
            this->r[0] = this->y.load(acquire);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(release_sequence_rmw);

template <class Sync>
struct release_sequence_own_store : two_words<Sync, 2> {
    static constexpr const char* what =
        "a later relaxed store of the same thread continued the release sequence in C++11, not in C++20";
    static constexpr outcomes rc11{"0 0", "0 1", "1 1", "2 0", "2 1"};
    static constexpr outcomes relacy{"0 0", "0 1", "1 1", "2 1"};
    static constexpr const char* relacy_differs =
        "too strong: it has the release sequences of C++11, which such a store continued";
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, release);
            this->y.store(2, relaxed);
        } else {
            this->r[0] = this->y.load(acquire);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(release_sequence_own_store);

template <class Sync>
struct release_sequence_broken : two_words<Sync, 3> {
    static constexpr const char* what = "another thread's relaxed store breaks the release sequence";
    static constexpr outcomes rc11{"0 0", "0 1", "1 1", "2 0", "2 1"};
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, relaxed);
            this->y.store(1, release);
        } else if (i == 1) {
            this->y.store(2, relaxed);
        } else {
            this->r[0] = this->y.load(acquire);
            this->r[1] = this->x.load(relaxed);
        }
    }
};
APIARY_LITMUS(release_sequence_broken);

}  // namespace
