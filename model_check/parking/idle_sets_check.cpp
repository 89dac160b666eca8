// The idle sets of a crew, with one worker to a set: what is checked of one word in idle_set_check is checked here where the
// workers, the searcher and the sleeper stand in words of their own.
#include <array>

#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/parking/sleeper.hpp>

namespace idle_sets_check {
namespace {

using namespace apiary;

template <class Sync, unsigned Workers>
struct words {
    // Three threads are too many for the parker that ships; parker_check holds it to the abstract one.
    using driver = parker_driver<Sync, typename Sync::parker>;
    using sets_type = idle_sets<Sync, 1, Workers>;

    sets_type sets;
    std::array<driver, Workers> drivers;

    words() {
        for (unsigned w = 0; w != Workers; ++w) sets.join(w);
    }
    sleeper<Sync, driver> sleeper_of(unsigned w) {
        return sleeper<Sync, driver>(sets.within(w), sets.of(w), drivers[w]);
    }
    void wake_one(bool can_wait = false) {
        if (const auto w = sets.claim_any(can_wait)) drivers[*w].wake();
    }
    void books_balance() const {
        for (unsigned w = 0; w != Workers; ++w) {
            const idle_word end = sets.of(w).snapshot();
            Sync::law(end.sleepers() == 0 && end.searching() == 0 && !end.napping(), "the books do not balance");
        }
    }
};

// Worker 0 runs. Worker 1, in the second word, goes to sleep beside a post.
template <class Sync, bool Naps>
struct post_and_the_second_word : words<Sync, 2> {
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<int> work;

    void before() { work.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_seq_cst);  // idle_set S1
            return this->wake_one(Naps);
        }
        const auto look = [this] { return work.load(std::memory_order_seq_cst) != 0; };
        auto self = this->sleeper_of(1);
        if (Naps && !look()) self.nap(Sync::now_ns() + 5, look);
        while (!look()) self.sleep(words<Sync, 2>::driver::forever, look);
        (void)self.found_work();
    }
    void after() { this->books_balance(); }
};

template <class Sync>
struct sleeper_of_the_second_word_sees_the_post : post_and_the_second_word<Sync, false> {
    static constexpr const char* what =
        "a worker in the second word goes to sleep and a poster: the work is seen or the worker is woken";
    static constexpr std::array must_reach{"idle_sets.looked_on", "sleeper.slept", "sleeper.stayed",
                                           "sleeper.stayed_and_was_claimed"};
};
APIARY_CHECK(sleeper_of_the_second_word_sees_the_post);

template <class Sync>
struct napper_of_the_second_word_sees_the_post : post_and_the_second_word<Sync, true> {
    static constexpr const char* what =
        "a worker in the second word naps, then sleeps; a post that can wait relies on the nap: it is seen or wakes";
    static constexpr std::array must_reach{"idle_set.left_to_a_napper", "sleeper.napped", "sleeper.slept"};
};
APIARY_CHECK(napper_of_the_second_word_sees_the_post);

// The second word comes into use while a post looks at the first: the newcomer joins, and falls asleep.
template <class Sync>
struct post_meets_the_first_of_the_second_word {
    static constexpr const char* what =
        "the first worker of a second word joins and falls asleep beside a post: it sees the work or is woken";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "sets.the_post_came_before_the_word"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr unsigned threads = 2;
    using driver = parker_driver<Sync>;

    idle_sets<Sync, 1, 2> sets;
    driver newcomer;
    typename Sync::template atomic<int> work;

    void before() {
        sets.join(0);
        work.store(0, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_seq_cst);  // idle_set S1
            const idle_word seen = sets.look();
            if (!seen.several()) Sync::reach("sets.the_post_came_before_the_word");
            if (sets.claim_any(seen, false, [] { return false; })) newcomer.wake();
            return;
        }
        const auto look = [this] { return work.load(std::memory_order_seq_cst) != 0; };
        sleeper<Sync, driver> self(0, sets.join(1), newcomer);
        while (!look()) self.sleep(driver::forever, look);
        (void)self.found_work();
    }
};
APIARY_CHECK(post_meets_the_first_of_the_second_word);

// By plain stores, behind a light fence: one worker slept, wakes and pushes while worker `Lies`, in the other word, falls asleep.
template <class Sync, unsigned Lies>
struct pusher_of_another_word : words<Sync, 2> {
    static constexpr unsigned threads = 2, pushes = 1 - Lies;
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "sleeper.stayed_and_was_claimed"};
    typename Sync::template atomic<int> work;

    void before() {
        work.store(0, std::memory_order_relaxed);
        this->sets.of(pushes).announce_sleep(0, false);
    }
    void thread(unsigned i) {
        if (i == 1) {
            (void)this->sets.of(pushes).withdraw(0);
            work.store(1, std::memory_order_relaxed);
            Sync::fence_light();  // idle_set S2
            return this->wake_one();
        }
        const auto look = [this] { return work.load(std::memory_order_relaxed) != 0; };
        auto self = this->sleeper_of(Lies);
        while (!look())
            self.sleep(words<Sync, 2>::driver::forever, [&] {
                self.fence_against_pushers([] { return 2U; });
                return look();
            });
        (void)self.found_work();
    }
    void after() { this->books_balance(); }
};
template <class Sync>
struct sleeper_of_the_first_word_meets_a_pusher : pusher_of_another_word<Sync, 0> {
    static constexpr const char* what =
        "a worker of the second word wakes and pushes while the one of the first goes to sleep: seen, or woken";
};
APIARY_CHECK(sleeper_of_the_first_word_meets_a_pusher);
template <class Sync>
struct sleeper_of_the_second_word_meets_a_pusher : pusher_of_another_word<Sync, 1> {
    static constexpr const char* what =
        "a worker of the first word wakes and pushes while the one of the second goes to sleep: seen, or woken";
};
APIARY_CHECK(sleeper_of_the_second_word_meets_a_pusher);

// Two pieces of work, for two workers in two words: each takes one, and keeps it until the other has its own. The workers of `First`
// words before those run meanwhile.
template <class Sync, unsigned First = 0>
struct two_posts : words<Sync, First + 2> {
    static constexpr unsigned threads = 3;
    using driver = typename words<Sync, First + 2>::driver;
    typename Sync::template atomic<unsigned> pieces, taken;

    void before() {
        pieces.store(0, std::memory_order_relaxed);
        taken.store(0, std::memory_order_relaxed);
    }
    void post_both() {
        for (int post = 0; post < 2; ++post) {
            pieces.fetch_add(1, std::memory_order_seq_cst);  // idle_set S1
            this->wake_one();
        }
    }
    bool take_one() {
        unsigned n = pieces.load(std::memory_order_relaxed);
        while (n != 0)
            if (pieces.compare_exchange_strong(n, n - 1, std::memory_order_relaxed, std::memory_order_relaxed))
                return true;
        return false;
    }
    void hold() {
        taken.fetch_add(1, std::memory_order_relaxed);
        Sync::spin_until(taken, [](unsigned n) { return n == 2; });
    }
    void recruit() {
        if (pieces.load(std::memory_order_seq_cst) == 0) return;
        Sync::reach("sets.recruited");
        this->wake_one();
    }
    void work(sleeper<Sync, driver>& self) {
        while (!take_one()) self.sleep(driver::forever, [this] { return pieces.load(std::memory_order_seq_cst) != 0; });
        if (self.found_work()) recruit();
        hold();
    }
    void after() { this->books_balance(); }
};

template <class Sync>
struct searcher_recruits_from_another_word : two_posts<Sync> {
    static constexpr const char* what =
        "two posts, two workers that fall asleep in two words: whoever finds work first wakes the other";
    static constexpr std::array must_reach{"idle_sets.looked_on", "sets.recruited"};
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i == 2) return this->post_both();
        auto self = this->sleeper_of(i);
        this->work(self);
    }
};
APIARY_CHECK(searcher_recruits_from_another_word);

// One was woken for nothing. Both posts may count on it although nobody sleeps in its word; the other sleeps in the next one.
template <class Sync, bool GivesUp, unsigned First>
struct searcher_beside_a_sleeper_of_another_word : two_posts<Sync, First> {
    static constexpr std::array engine_laws{"deadlock"};
    using driver = typename two_posts<Sync, First>::driver;
    static constexpr unsigned searcher = First, other = First + 1;

    void before() {
        two_posts<Sync, First>::before();
        this->sets.of(other).announce_sleep(0, false);
    }
    void thread(unsigned i) {
        if (i == 2) return this->post_both();
        if (i == 1) {
            this->drivers[other].wait(driver::forever);
            Sync::law(!this->sets.of(other).withdraw(0), "woken and not claimed");
            do Sync::spin_until(this->pieces, [](unsigned n) { return n != 0; });
            while (!this->take_one());
            this->sets.of(other).stop_searching();
            this->recruit();
            return this->hold();
        }
        auto self = this->sleeper_of(searcher);
        self.sleep(driver::forever, [this] {
            if (this->sets.of(searcher).claim(0)) this->drivers[searcher].wake();  // now it searches
            return false;
        });
        if (!GivesUp) {  // it looks until there is work
            Sync::spin_until(this->pieces, [](unsigned n) { return n != 0; });
        }
        this->work(self);
    }
};
template <class Sync>
struct searcher_finds_work_beside_another_word : searcher_beside_a_sleeper_of_another_word<Sync, false, 0> {
    static constexpr const char* what =
        "two posts count on a searcher in whose word nobody sleeps: it wakes the sleeper of the other word";
    static constexpr std::array must_reach{"sets.recruited"};
};
APIARY_CHECK(searcher_finds_work_beside_another_word);
template <class Sync>
struct searcher_gives_up_beside_another_word : searcher_beside_a_sleeper_of_another_word<Sync, true, 0> {
    static constexpr const char* what =
        "two posts count on a searcher that lies down: it stays, and wakes the sleeper of the other word";
    static constexpr std::array must_reach{"sleeper.stayed", "sets.recruited"};
};
APIARY_CHECK(searcher_gives_up_beside_another_word);
template <class Sync>
struct searcher_of_the_second_word_beside_the_third : searcher_beside_a_sleeper_of_another_word<Sync, false, 1> {
    static constexpr const char* what = "the same of the second word and the third: it wakes the sleeper of the third";
    static constexpr std::array must_reach{"sets.recruited"};
};
APIARY_CHECK(searcher_of_the_second_word_beside_the_third);

// Two posters and two sleepers in two words.
template <class Sync>
struct sleepers_of_two_words_are_claimed_once : words<Sync, 2> {
    static constexpr const char* what =
        "two posters, each counted on, meet a sleeper in each of two words: each is "
        "claimed once at most, and one of them in any case";
    static constexpr std::array must_reach{"sets.both_claimed", "sets.one_claimed"};
    static constexpr unsigned threads = 3;
    std::array<unsigned, 2> claimed{};
    bool left = false;

    void before() {
        for (unsigned w : {0U, 1U}) this->sets.of(w).announce_sleep(0, false);
    }
    void thread(unsigned i) {
        if (i == 2) {
            left = this->sets.of(0).withdraw(0);
            if (!left) this->sets.of(0).stop_searching();
            return;
        }
        const auto w = this->sets.claim_any();
        claimed[i] = w ? 1U << *w : 0;
    }
    void after() {
        Sync::law((claimed[0] & claimed[1]) == 0, "one sleeper was claimed twice");
        Sync::law((claimed[0] | claimed[1]) != 0, "two posts met a sleeper, and nobody was claimed");
        Sync::law(left == (((claimed[0] | claimed[1]) & 1U) == 0), "a sleeper was claimed and does not know");
        Sync::reach((claimed[0] | claimed[1]) == 3 ? "sets.both_claimed" : "sets.one_claimed");
    }
};
APIARY_CHECK(sleepers_of_two_words_are_claimed_once);

}  // namespace
}  // namespace idle_sets_check
