// Checks that do wrong on purpose, so that facade_test.py can see what the façade makes of them. Not in the
// manifest: as a gate this program is red.
#include <atomic>
#include <csignal>
#include <stdexcept>
#include <type_traits>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

namespace {

using namespace apiary;

// Two threads count without a read-modify-write.
template <class Sync>
struct loses_a_count {
    static constexpr const char* what = "two increments by load and store";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<int> n{0};
    void thread(unsigned) {
        const int seen = n.load(std::memory_order_relaxed);
        n.store(seen + 1, std::memory_order_relaxed);
    }
    void after() { Sync::law(n.load(std::memory_order_relaxed) == 2, "an increment was lost"); }
};
APIARY_CHECK(loses_a_count);

template <class Sync>
struct exhibit_seen : loses_a_count<Sync> {};
APIARY_EXHIBIT(exhibit_seen, "increment was lost");

template <class Sync>
struct exhibit_for_another_reason : loses_a_count<Sync> {};
APIARY_EXHIBIT(exhibit_for_another_reason, "some other reason");

// What a trace has to say of a stale read.
template <class Sync>
struct misses_a_message {
    static constexpr const char* what = "the <flag> is released, and not acquired";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<int> data{0}, flag{0};
    void thread(unsigned i) {
        if (i == 0) {
            data.store(1, std::memory_order_relaxed);
            flag.store(1, std::memory_order_release);
        } else if (flag.load(std::memory_order_relaxed) == 1) {
            Sync::law(data.load(std::memory_order_relaxed) != 0, "the message was missed");
        }
    }
};
APIARY_EXHIBIT(misses_a_message, "missed", model::explorer_only);

template <class Sync>
struct misses_each_other {
    static constexpr const char* what = "both store and look, a fence on one side only";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<int> stored[2];
    int seen[2] = {1, 1};
    void before() {
        for (auto& s : stored) s.store(0, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        stored[i].store(1, std::memory_order_relaxed);
        if (i == 0) Sync::fence(std::memory_order_seq_cst);
        seen[i] = stored[1 - i].load(std::memory_order_relaxed);
    }
    void after() { Sync::law(seen[0] + seen[1] != 0, "each missed the other"); }
};
APIARY_EXHIBIT(misses_each_other, "each missed", model::explorer_only);

template <class Sync>
struct quiet {
    static constexpr const char* what = "nothing wrong at all";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<int> n{0};
    void thread(unsigned i) {
        Sync::law(n.fetch_add(1, std::memory_order_relaxed) < 2, "more additions than threads");
        if (i == 7) Sync::reach("facade.never");
    }
};
APIARY_CHECK(quiet);

template <class Sync>
struct exhibit_not_caught : quiet<Sync> {};
APIARY_EXHIBIT(exhibit_not_caught, "anything", model::relacy_only);

// Wrong for one engine only, as far as anybody can tell.
template <class Sync>
struct only_the_explorer_sees : quiet<Sync> {
    static constexpr const char* relacy_passes = "it is made so";
    void after() { Sync::law(!std::is_same_v<Sync, model::explorer_sync>, "seen"); }
};
APIARY_EXHIBIT(only_the_explorer_sees, "seen", model::explorer_only);

template <class Sync>
struct relacy_sees_it_after_all : loses_a_count<Sync> {
    static constexpr const char* relacy_passes = "so somebody thought";
};
APIARY_EXHIBIT(relacy_sees_it_after_all, "increment was lost", model::explorer_only);

template <class Sync>
struct never_reaches : quiet<Sync> {
    static constexpr std::array must_reach{"facade.never"};
};
APIARY_CHECK(never_reaches, model::relacy_only);

// Hours of search.
template <class Sync>
struct immense {
    static constexpr const char* what = "four threads add to one word again and again";
    static constexpr unsigned threads = 4;
    typename Sync::template atomic<int> n{0};
    void thread(unsigned) {
        for (int i = 0; i < 6; ++i)
            Sync::law(n.fetch_add(1, std::memory_order_relaxed) < 24, "more additions than were made");
    }
};
APIARY_CHECK(immense, model::explorer_only);

template <class Sync>
struct fails_on_a_match : quiet<Sync> {
    void thread(unsigned i) {
        int expected = 0, failures = 0;
        if (i == 1) (void)this->n.load(std::memory_order_relaxed);
        while (i == 0 &&
               !this->n.compare_exchange_weak(expected, 0, std::memory_order_relaxed, std::memory_order_relaxed))
            ++failures;
        Sync::law(failures != 2, "failed on a match, twice");
    }
};
APIARY_CHECK(fails_on_a_match, model::explorer_only);

template <class Sync>
struct crashes : quiet<Sync> {
    void thread(unsigned) { std::raise(SIGSEGV); }
};
APIARY_CHECK(crashes, model::relacy_only);

template <class Sync>
struct hangs : quiet<Sync> {
    void thread(unsigned) {
        for (volatile int forever = 1; forever != 0;) {
        }
    }
};
APIARY_CHECK(hangs, model::relacy_only);

template <class Sync>
struct leaks : quiet<Sync> {
    void thread(unsigned i) {
        if (i == 0) (void)Sync::template create<int>(1);
    }
};
APIARY_CHECK(leaks, model::relacy_only);

template <class Sync>
struct uses_after_free : quiet<Sync> {
    struct object {
        typename Sync::template atomic<int> value{1};
    };
    object* shared = nullptr;
    void before() { shared = Sync::template create<object>(); }
    void thread(unsigned i) {
        if (i == 0)
            Sync::destroy(shared);
        else
            (void)shared->value.load(std::memory_order_relaxed);
    }
};
APIARY_CHECK(uses_after_free, model::relacy_only);

template <class Sync>
struct spins_for_ever : quiet<Sync> {
    void thread(unsigned i) {
        while (i == 0 && this->n.load(std::memory_order_relaxed) != 2) Sync::relax();
    }
};
APIARY_CHECK(spins_for_ever, model::relacy_only);

// What a stranger writes first: a loop where spin_until belongs. The explorer alone calls it a livelock.
template <class Sync>
struct spins_without_await : quiet<Sync> {
    void thread(unsigned i) {
        if (i == 0)
            this->n.store(2, std::memory_order_release);
        else
            while (this->n.load(std::memory_order_acquire) != 2) Sync::relax();
    }
};
APIARY_CHECK(spins_without_await, model::explorer_only);

template <class Sync>
struct awaits_for_ever : quiet<Sync> {
    void thread(unsigned i) {
        if (i == 0)
            Sync::spin_until(this->n, [](int v) { return v == 2; });
        else
            this->n.store(1, std::memory_order_release);
    }
};
APIARY_CHECK(awaits_for_ever, model::relacy_only);

template <class Sync>
struct awaits : quiet<Sync> {
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i == 0)
            Sync::spin_until(this->n, [](int v) { return v == 2; });
        else
            this->n.store(1, std::memory_order_release), this->n.store(2, std::memory_order_release);
    }
};
APIARY_CHECK(awaits, model::relacy_only);

// Beside a thread that looks again and again, with a deadline.
template <class Sync>
struct lock_circle_beside_a_timer {
    static constexpr const char* what =
        "two threads take two mutexes in opposite orders, a third waits with a deadline";
    static constexpr unsigned threads = 3;
    static constexpr std::array engine_laws{"deadlock"};
    typename Sync::mutex a, b;
    typename Sync::parker timer;
    typename Sync::template atomic<int> done{0};
    void thread(unsigned i) {
        if (i == 2) {
            while (done.load(std::memory_order_relaxed) != 2) (void)timer.park_until(Sync::now_ns() + 5);
            return;
        }
        {
            const typename Sync::lock one(i == 0 ? a : b);
            const typename Sync::lock two(i == 0 ? b : a);
        }
        if (done.fetch_add(1, std::memory_order_relaxed) == 1) timer.unpark();
    }
};
APIARY_CHECK(lock_circle_beside_a_timer);
template <class Sync>
struct lost_wake_beside_a_timer {
    static constexpr const char* what = "a wake is lost, and another thread waits with a deadline";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock"};
    typename Sync::parker sleeper, timer;
    typename Sync::template atomic<bool> sleeps{false}, ended{false};
    void thread(unsigned i) {
        if (i == 0) {
            sleeps.store(true, std::memory_order_seq_cst);
            sleeper.park();
            ended.store(true, std::memory_order_seq_cst);
            timer.unpark();
        } else {
            if (sleeps.load(std::memory_order_seq_cst)) sleeper.unpark();
            while (!ended.load(std::memory_order_seq_cst)) (void)timer.park_until(Sync::now_ns() + 5);
        }
    }
};
APIARY_CHECK(lost_wake_beside_a_timer);

template <class Sync>
struct futex_wakes_for_nothing {
    static constexpr const char* what = "a futex's wait with a deadline may return for no reason";
    static constexpr unsigned threads = 2;
    typename Sync::futex word{0};
    typename Sync::template atomic<int> n{0};
    void thread(unsigned i) {
        if (i == 0)
            Sync::law(!word.wait(0, Sync::now_ns() + 5), "woken for nothing");
        else
            n.store(1, std::memory_order_relaxed);
    }
};
APIARY_CHECK(futex_wakes_for_nothing);

template <class Sync>
struct parker_behind_its_deadline {
    static constexpr const char* what = "a wait whose deadline is over takes the token, or goes on without";
    static constexpr unsigned threads = 2;
    typename Sync::parker parker;
    void thread(unsigned i) {
        if (i == 1) return parker.unpark();
        const auto deadline = Sync::now_ns() + 5;
        const bool first = parker.park_until(deadline), second = parker.park_until(deadline);
        Sync::law(first || second, "twice without");
    }
};
APIARY_CHECK(parker_behind_its_deadline);

// Said to be alike, and what they exchange, add, or order differs.
template <class Sync, auto Step>
struct said_to_be_alike {
    static constexpr const char* what = "two threads that are said to be alike";
    static constexpr unsigned threads = 2;
    static constexpr std::array alike{0U, 1U};
    typename Sync::template atomic<unsigned> n{0};
    std::array<unsigned, 2> got{};
    void thread(unsigned i) { got[i] = Step(n, i); }
    void after() { Sync::law(got[0] != 2, "thread 0 saw what thread 1 wrote"); }
};
template <class Sync>
struct alike_but_for_an_exchange
    : said_to_be_alike<Sync, [](auto& n, unsigned i) { return n.exchange(i + 1, std::memory_order_acq_rel); }> {};
APIARY_CHECK(alike_but_for_an_exchange);
template <class Sync>
struct alike_but_for_an_addition
    : said_to_be_alike<Sync, [](auto& n, unsigned i) { return n.fetch_add(i + 1, std::memory_order_acq_rel); }> {};
APIARY_CHECK(alike_but_for_an_addition);
template <class Sync>
struct alike_but_for_an_order : said_to_be_alike<Sync, [](auto& n, unsigned i) {
    unsigned expected = 0;
    n.compare_exchange_strong(expected, 1, std::memory_order_acq_rel,
                              i == 0 ? std::memory_order_relaxed : std::memory_order_acquire);
    return expected;
}> {};
APIARY_CHECK(alike_but_for_an_order);

// ---- what the standard leaves undefined ----------------------------------------------------------------------

template <class Sync, auto Step>
struct with_an_order : quiet<Sync> {
    void thread(unsigned i) {
        Sync::law(this->n.fetch_add(1, std::memory_order_relaxed) < 3, "more additions than threads");
        if (i == 0) Step(this->n);
    }
};
template <class Sync>
struct load_release : with_an_order<Sync, [](auto& n) { (void)n.load(std::memory_order_release); }> {};
APIARY_CHECK(load_release);
template <class Sync>
struct load_acq_rel : with_an_order<Sync, [](auto& n) { (void)n.load(std::memory_order_acq_rel); }> {};
APIARY_CHECK(load_acq_rel);
template <class Sync>
struct store_acquire : with_an_order<Sync, [](auto& n) { n.store(0, std::memory_order_acquire); }> {};
APIARY_CHECK(store_acquire);
template <class Sync>
struct store_consume : with_an_order<Sync, [](auto& n) { n.store(0, std::memory_order_consume); }> {};
APIARY_CHECK(store_consume);
template <class Sync>
struct store_acq_rel : with_an_order<Sync, [](auto& n) { n.store(0, std::memory_order_acq_rel); }> {};
APIARY_CHECK(store_acq_rel);
template <class Sync, std::memory_order Failure>
struct exchanges : with_an_order<Sync, [](auto& n) {
    int expected = 1;
    n.compare_exchange_strong(expected, 2, std::memory_order_seq_cst, Failure);
}> {};
template <class Sync>
struct exchange_fails_release : exchanges<Sync, std::memory_order_release> {};
APIARY_CHECK(exchange_fails_release);
template <class Sync>
struct exchange_fails_acq_rel : exchanges<Sync, std::memory_order_acq_rel> {};
APIARY_CHECK(exchange_fails_acq_rel);
template <class Sync>
struct exchange_fails_consume : exchanges<Sync, std::memory_order_consume> {};
APIARY_CHECK(exchange_fails_consume);

template <class Sync, auto Step>
struct with_a_mutex : quiet<Sync> {
    typename Sync::mutex mutex;
    void thread(unsigned i) {
        Sync::law(this->n.fetch_add(1, std::memory_order_relaxed) < 2, "more additions than threads");
        if (i == 0) Step(mutex);
    }
};
template <class Sync>
struct mutex_is_unlocked_by_another : with_a_mutex<Sync, [](auto& m) { m.unlock(); }> {};
APIARY_CHECK(mutex_is_unlocked_by_another);
template <class Sync>
struct mutex_is_locked_twice : with_a_mutex<Sync, [](auto& m) { m.lock(), m.lock(); }> {};
APIARY_CHECK(mutex_is_locked_twice);
template <class Sync>
struct mutex_is_tried_by_its_owner : with_a_mutex<Sync, [](auto& m) { m.lock(), (void)m.try_lock(), m.unlock(); }> {};
APIARY_CHECK(mutex_is_tried_by_its_owner);
template <class Sync>
struct mutex_is_kept_to_the_end : with_a_mutex<Sync, [](auto& m) { m.lock(); }> {};
APIARY_CHECK(mutex_is_kept_to_the_end);
template <class Sync>
struct mutex_ends_while_it_is_held : quiet<Sync> {
    void thread(unsigned i) {
        quiet<Sync>::thread(i);
        if (i != 0) return;
        auto* const mutex = Sync::template create<typename Sync::mutex>();
        mutex->lock();
        Sync::destroy(mutex);
    }
};
APIARY_CHECK(mutex_ends_while_it_is_held);
template <class Sync>
struct mutex_is_kept_behind_the_threads : quiet<Sync> {
    typename Sync::mutex mutex;
    void after() { mutex.lock(); }
};
APIARY_CHECK(mutex_is_kept_behind_the_threads);

template <class Sync, bool OneMutex>
struct two_wait_for_a_condition {
    static constexpr const char* what = "two threads wait for a condition that a third one brings about";
    static constexpr unsigned threads = 3;
    static constexpr std::array engine_laws{"deadlock"};
    typename Sync::mutex first, second;
    typename Sync::condvar told;
    typename Sync::template atomic<bool> is_so{false};
    void thread(unsigned i) {
        if (i == 2) {
            const typename Sync::lock one(first), other(second);
            is_so.store(true, std::memory_order_relaxed);
            return told.notify_all();
        }
        typename Sync::lock held(i == 0 || OneMutex ? first : second);
        while (!is_so.load(std::memory_order_relaxed)) told.wait(held);
    }
};
template <class Sync>
struct two_wait_with_one_mutex : two_wait_for_a_condition<Sync, true> {};
APIARY_CHECK(two_wait_with_one_mutex, model::explorer_only);
template <class Sync>
struct two_wait_with_two_mutexes : two_wait_for_a_condition<Sync, false> {};
APIARY_CHECK(two_wait_with_two_mutexes, model::explorer_only);

template <class Sync>
struct breaks_an_invariant : quiet<Sync> {
    void thread(unsigned i) { this->n.store(static_cast<int>(i) + 1, std::memory_order_relaxed); }
    void invariant() { Sync::law(this->n.load(std::memory_order_relaxed) != 2, "n is two"); }
};
APIARY_CHECK(breaks_an_invariant, model::relacy_only);

// Right as it stands; without its last look the sleeper misses the post.
template <class Sync>
struct looks_again {
    static constexpr const char* what = "a sleeper's last look has one source";
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<bool> work{false}, sleeping{false};
    typename Sync::parker parker;
    void thread(unsigned i) {
        if (i == 0) {
            sleeping.store(true, std::memory_order_seq_cst);
            if (Sync::recheck("facade.work") && work.load(std::memory_order_seq_cst)) return;
            parker.park();
        } else {
            work.store(true, std::memory_order_seq_cst);
            if (sleeping.load(std::memory_order_seq_cst)) parker.unpark();
        }
    }
};
APIARY_CHECK(looks_again);

// ---- what did nothing --------------------------------------------------------------------------------------

// What a stranger writes: nothing of it is seen.
template <class Sync, class Word>
struct unwatched {
    static constexpr const char* what = "two threads add to a word that no engine knows";
    static constexpr unsigned threads = 2;
    Word n{0};
    void thread(unsigned) { n += 1; }
    void after() { Sync::law(n == 2, "an increment was lost"); }
};
template <class Sync>
struct plain_words : unwatched<Sync, int> {};
APIARY_CHECK(plain_words);
template <class Sync>
struct std_atomics : unwatched<Sync, std::atomic<int>> {};
APIARY_CHECK(std_atomics);

template <class Sync>
struct one_idle_thread : quiet<Sync> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 1) quiet<Sync>::thread(i);
    }
};
APIARY_CHECK(one_idle_thread);

template <class Sync>
struct asserts_nothing : quiet<Sync> {
    void thread(unsigned) { this->n.fetch_add(1, std::memory_order_relaxed); }
};
APIARY_CHECK(asserts_nothing);

template <class Sync>
struct ledger_unused : asserts_nothing<Sync> {
    identity_ledger<Sync, 2, 2> ledger;
    void after() { ledger.settle(); }
};
APIARY_CHECK(ledger_unused);

template <class Sync>
struct never_waits : asserts_nothing<Sync> {
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(never_waits);

// Honest: no law but the engine's.
template <class Sync>
struct rests_on_the_engine {
    static constexpr const char* what = "a cell behind a mutex: no race, no deadlock, no leak";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"race", "deadlock", "lifetime"};
    typename Sync::mutex mutex;
    typename Sync::template cell<int>* data = nullptr;
    void before() { data = Sync::template create<typename Sync::template cell<int>>(0); }
    void thread(unsigned) {
        typename Sync::lock held(mutex);
        data->write(data->read() + 1);
    }
    void after() { Sync::destroy(data); }
};
APIARY_CHECK(rests_on_the_engine);

// ---- what messages and mutations say -----------------------------------------------------------------------

template <class Sync>
struct leaks_a_noted : quiet<Sync> {
    struct noted {
        int value = 1;
    };
    void before() {
        this->n.store(40, std::memory_order_relaxed);
        this->n.fetch_add(2, std::memory_order_relaxed);
        word.write(77);
        (void)Sync::template create<noted>();
    }
    typename Sync::template cell<int> word;
    void thread(unsigned) { this->n.fetch_add(1, std::memory_order_relaxed); }
};
APIARY_EXHIBIT(leaks_a_noted, "leak");

template <class Sync>
struct stronger_than_needed : quiet<Sync> {
    void thread(unsigned) { this->n.fetch_add(1, std::memory_order_acquire); }
    void after() { Sync::law(this->n.load(std::memory_order_relaxed) == 2, "an increment was lost"); }
};
APIARY_CHECK(stronger_than_needed);

template <class Sync>
struct wrong_set : quiet<Sync> {
    auto outcome() const { return std::array{1}; }
    static constexpr model::outcomes rc11{"1", "2"};
};
APIARY_LITMUS(wrong_set, model::relacy_only);

}  // namespace
