// Scopes, loops and forks in each situation: stopped before, meanwhile and by a job, full, stolen, thrown once and
// twice, too deep, left by an exception, destroyed without a wait, used again, and two of these at once. Two workers
// without threads: the thief looks when the script says so, and runs what it takes to its end. So each cell has one
// answer.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fork_matrix_test {
namespace {

using apiary::fork_too_deep;
using apiary::real_sync;

struct two_workers {
    using context = apiary::fork_context<real_sync, two_workers>;
    struct patience {
        explicit patience(const two_workers&) {}
        bool over() const { return true; }
        void spend() {}
    };
    two_workers() {
        for (unsigned i : {0U, 1U}) contexts[i].belongs_to(*this, i);
    }
    unsigned lists() const { return 2; }
    context& context_of(unsigned i) { return contexts[i]; }
    void wake(unsigned) {}
    void wake_one() {}
    void wait(unsigned) { ADD_FAILURE() << "a joiner sleeps, and nobody is there to wake it"; }
    bool somebody_sleeps() const { return false; }

    context& w() { return contexts[0]; }
    void thief_looks() { (void)contexts[1].look_for_offers(0, [] {}); }
    void stack_ends(bool here) {
        w().jobs().limit_stack(here ? UINTPTR_MAX : 0);
        w().jobs().ask();
    }
    std::array<context, 2> contexts;
};

// What has run, in order, by number; and what was answered: y all had their turn, n a stop came first, the number of
// what threw, d too deep.
struct record {
    std::string ran, answers;
};
struct thrown {
    char by;
};

struct situation {
    const char* name;
    const char* script;
    const char* ran;
    const char* answers;
    unsigned lost;
};
void PrintTo(const situation& s, std::ostream* out) { *out << s.script; }
std::string name_of(const testing::TestParamInfo<situation>& s) { return s.param.name; }

// a a job   t one that throws   h one that asks for the stop   s stop   T the thief looks   w wait   x the function is
// left by an exception   K the stack is at its end   k it is not
const situation of_scopes[] = {
    {"nothing", "w", "", "y", 0},
    {"two", "aaw", "10", "y", 0},
    {"full", "aaaw", "210", "y", 0},
    {"full_twice", "aaaaw", "2310", "y", 0},
    {"used_again", "awaw", "01", "yy", 0},
    {"stolen", "aTaw", "01", "y", 0},
    {"stolen_behind_another", "aaTw", "01", "y", 0},
    {"both_stolen", "aTaTw", "01", "y", 0},
    {"full_and_one_has_ended", "aaTaw", "021", "y", 0},
    {"full_and_both_have_ended", "aTaTaaw", "0132", "y", 0},
    {"stolen_and_used_again", "aTwaw", "01", "yy", 0},

    {"throws", "taw", "10", "0", 0},
    {"the_newest_throws", "atw", "10", "1", 0},
    {"both_throw", "ttw", "10", "1", 1},
    {"throws_and_waited_for_again", "tww", "0", "0y", 0},
    {"throws_and_used_again", "twaw", "01", "0y", 0},
    {"throws_in_each_wait", "twtw", "01", "01", 0},
    {"full_and_throws", "aatw", "210", "2", 0},
    {"full_and_all_throw", "tttw", "210", "2", 2},
    {"stolen_throws", "tTaw", "01", "0", 0},
    {"both_stolen_throw", "tTtTw", "01", "1", 1},
    {"stolen_throws_and_its_place_is_used", "taTaw", "021", "0", 0},
    {"stolen_throws_and_the_next_in_its_place_throws", "taTtw", "021", "0", 1},

    {"stopped_before", "saw", "", "n", 0},
    {"stopped_before_nothing", "sw", "", "y", 0},
    {"stopped_before_and_full", "saaaw", "", "n", 0},
    {"stopped_before_and_used_again", "sawaw", "", "nn", 0},
    {"stopped_before_and_waited_for_again", "saww", "", "ny", 0},
    {"stopped_meanwhile", "asaw", "", "n", 0},
    {"stopped_behind_all", "awsw", "0", "yy", 0},
    {"stopped_by_the_newest", "ahw", "1", "n", 0},
    {"stopped_by_the_last", "haw", "10", "y", 0},
    {"stopped_by_one_that_had_no_room", "aahw", "2", "n", 0},
    {"stopped_before_the_thief_looks", "asTw", "", "n", 0},
    {"stopped_behind_a_theft", "aTsaw", "0", "n", 0},
    {"stopped_by_a_theft", "hTaw", "0", "n", 0},
    {"stopped_and_a_place_is_used_again", "asaTaw", "", "n", 0},
    {"throws_and_stopped_behind_that", "htw", "10", "1", 0},
    {"stopped_before_it_throws", "thw", "1", "n", 0},
    {"stopped_before_it_throws_elsewhere", "tsTw", "", "n", 0},
    {"stolen_throws_and_stopped", "tTsaw", "0", "0", 0},
    {"stolen_throws_and_stopped_and_waited_for_again", "tTsaww", "0", "0y", 0},

    {"too_deep", "Kaw", "", "dy", 0},
    {"too_deep_and_goes_on", "Kakaw", "1", "dy", 0},
    {"too_deep_behind_another", "aKakaw", "20", "dy", 0},
    {"too_deep_and_full", "aaKaw", "210", "y", 0},
    {"too_deep_and_stopped", "sKaw", "", "dy", 0},
    {"too_deep_behind_a_theft", "aTKaw", "0", "dy", 0},

    {"not_waited_for", "aa", "10", "", 0},
    {"not_waited_for_and_throws", "ta", "10", "", 1},
    {"not_waited_for_and_both_throw", "tt", "10", "", 2},
    {"not_waited_for_and_stolen", "aTa", "01", "", 0},
    {"not_waited_for_and_stolen_throws", "tT", "0", "", 1},
    {"not_waited_for_and_stopped", "asa", "", "", 0},
    {"left_by_an_exception", "aax", "10", "x", 0},
    {"left_by_an_exception_and_both_throw", "ttx", "10", "x", 2},
    {"left_by_an_exception_behind_a_stop", "asx", "", "x", 0},
    {"left_by_an_exception_behind_a_theft", "tTax", "01", "x", 1},
};

struct scope_matrix : testing::TestWithParam<situation> {
    two_workers all;
    std::stop_source stop;
    record told;
    std::shared_ptr<int> held = std::make_shared<int>(0);

    template <class Scope>
    void run(Scope& s, char what, char by) {
        s.run([this, what, by, kept = held](auto&) {
            told.ran += by;
            if (what == 'h') (void)stop.request_stop();
            if (what == 't') throw thrown{by};
        });
    }
    void plays(std::string_view script) {
        apiary::task_scope<two_workers::context, 2, 64> s(all.w(), stop.get_token());
        char next = '0';
        for (const char what : script) try {
                if (what == 's') (void)stop.request_stop();
                if (what == 'T') all.thief_looks();
                if (what == 'K' || what == 'k') all.stack_ends(what == 'K');
                if (what == 'x') throw std::exception();
                if (what == 'w') told.answers += s.wait() ? 'y' : 'n';
                if (what == 'a' || what == 't' || what == 'h') run(s, what, next++);
            } catch (const thrown& t) {
                told.answers += t.by;
            } catch (const fork_too_deep&) {
                told.answers += 'd';
            }
    }
};
TEST_P(scope_matrix, gives_the_one_answer_that_is_allowed_and_keeps_nothing) {
    const situation& in = GetParam();
    try {
        plays(in.script);
    } catch (const std::exception&) {
        told.answers += 'x';
    }
    EXPECT_EQ(told.ran, in.ran);
    EXPECT_EQ(told.answers, in.answers);
    EXPECT_EQ(all.contexts[0].lost_exceptions() + all.contexts[1].lost_exceptions(), in.lost);
    EXPECT_EQ(held.use_count(), 1) << "a callable is left";
    EXPECT_TRUE(all.w().jobs().empty());
}
INSTANTIATE_TEST_SUITE_P(each, scope_matrix, testing::ValuesIn(of_scopes), name_of);

// Loops over 0 … 3, one at a time: a stop before (s); and at an index, after its number: h it asks for the stop, t it
// throws, T the thief looks. 4: chunks of four. e: no index. Divided once: the list begins with a request.
const situation of_loops[] = {
    {"all", "", "0123", "y", 0},
    {"no_index", "e", "", "y", 0},
    {"one_chunk", "4", "0123", "y", 0},
    {"stolen", "0T", "0231", "y", 0},
    {"stopped_before", "s", "", "n", 0},
    {"stopped_before_no_index", "se", "", "y", 0},
    {"stopped_at_the_first", "0h", "0", "n", 0},
    {"stopped_at_the_last", "3h", "0123", "y", 0},
    {"stopped_in_one_chunk", "41h", "0123", "y", 0},
    {"stopped_before_the_thief_looks", "0h0T", "0", "n", 0},
    {"stopped_by_the_thief", "0T2h", "02", "n", 0},
    {"stopped_by_the_last_of_the_thief", "0T3h", "023", "n", 0},
    {"throws", "1t", "01", "1", 0},
    {"the_first_throws", "0t", "0", "0", 0},
    {"the_last_throws", "3t", "0123", "3", 0},
    {"throws_in_one_chunk", "41t", "01", "1", 0},
    {"stolen_throws", "0T2t", "02", "2", 0},
    {"stolen_throws_and_the_first_too", "0T0t2t", "02", "0", 1},
    {"throws_behind_a_theft", "0T1t", "0231", "1", 0},
    {"throws_and_stops", "0h0t", "0", "0", 0},
    {"stolen_throws_and_stops", "0T2h2t", "02", "2", 0},
    {"too_deep", "K", "", "d", 0},
    {"too_deep_and_one_chunk", "K4", "0123", "y", 0},
    {"too_deep_and_stopped_before", "Ks", "", "n", 0},
    {"two_throw_of_which_one_never_begins", "0t2t", "0", "0", 0},
};
struct loop_matrix : testing::TestWithParam<situation> {
    two_workers all;
    std::stop_source stop;
    record told;
    std::string_view script = GetParam().script;
    unsigned last = has('e') ? 0U : 4U;
    apiary::loop_options options{.grain = has('4') ? 4U : 1U, .stop = stop.get_token()};

    bool has(char what) const { return script.find(what) != std::string_view::npos; }
    bool has(char at, char what) const { return script.find(std::string{at, what}) != std::string_view::npos; }
    void body(unsigned i) {
        const char at = static_cast<char>('0' + i);
        told.ran += at;
        if (has(at, 'h')) (void)stop.request_stop();
        if (has(at, 'T')) all.thief_looks();
        if (has(at, 't')) throw thrown{at};
    }
    template <class Loop>
    void plays(Loop loop) {
        if (has('s')) (void)stop.request_stop();
        if (has('K')) all.stack_ends(true);
        try {
            told.answers += loop() ? 'y' : 'n';
        } catch (const thrown& t) {
            told.answers += t.by;
        } catch (const fork_too_deep&) {
            told.answers += 'd';
        }
        EXPECT_EQ(told.ran, GetParam().ran);
        EXPECT_EQ(told.answers, GetParam().answers);
        EXPECT_EQ(all.contexts[0].lost_exceptions() + all.contexts[1].lost_exceptions(), GetParam().lost);
        EXPECT_TRUE(all.w().jobs().empty());
    }
};
TEST_P(loop_matrix, a_parallel_for_gives_the_one_answer_that_is_allowed) {
    plays([&] { return apiary::parallel_for(all.w(), 0U, last, [&](unsigned i) { body(i); }, options); });
}
TEST_P(loop_matrix, a_parallel_reduce_gives_it_and_its_parts_in_order) {
    std::optional<std::string> r;
    plays([&] {
        r = apiary::parallel_reduce(
            all.w(), 0U, last, std::string(),
            [&](unsigned i) {
                body(i);
                return std::to_string(i);
            },
            [](std::string a, const std::string& b) { return std::move(a) + b; }, options);
        return r.has_value();
    });
    EXPECT_EQ(r.value_or(""), r && last != 0 ? "0123" : "");
}
INSTANTIATE_TEST_SUITE_P(each, loop_matrix, testing::ValuesIn(of_loops), name_of);

// Forks of three branches: the same letters after the number of a branch, and A: it asks for an offer; K.
const situation of_forks[] = {
    {"all", "", "012", "y", 0},
    {"stolen", "0T", "012", "y", 0},
    {"the_last_stolen", "0A1T", "012", "y", 0},
    {"the_first_throws", "0t", "0", "0", 0},
    {"the_first_throws_and_the_rest_is_stolen", "0T0t", "012", "0", 0},
    {"the_second_throws", "1t", "01", "1", 0},
    {"the_third_throws", "2t", "012", "2", 0},
    {"stolen_throws", "0T1t", "01", "1", 0},
    {"stolen_throws_and_the_first_too", "0T0t1t", "01", "0", 1},
    {"the_last_is_stolen_and_throws", "0A1T2t", "012", "2", 0},
    {"the_last_is_stolen_and_both_throw", "0A1T1t2t", "012", "1", 1},
    {"too_deep", "K", "", "d", 0},
};
struct fork_matrix : testing::TestWithParam<situation> {};
TEST_P(fork_matrix, gives_the_one_answer_that_is_allowed_and_ends_each_result_once) {
    const situation& in = GetParam();
    const std::string_view script = in.script;
    two_workers all;
    record told;
    const auto counted = std::make_shared<int>(0);
    const auto does = [&](char by) {
        told.ran += by;
        if (script.find(std::string{by, 'A'}) != std::string_view::npos) all.w().jobs().ask();
        if (script.find(std::string{by, 'T'}) != std::string_view::npos) all.thief_looks();
        if (script.find(std::string{by, 't'}) != std::string_view::npos) throw thrown{by};
        return counted;
    };
    if (script == "K") all.stack_ends(true);
    try {
        const auto [x, y, z] = apiary::fork_join(
            all.w(), [&] { return does('0'); }, [&] { return does('1'); }, [&] { return does('2'); });
        EXPECT_EQ(counted.use_count(), 4);
        told.answers += 'y';
    } catch (const thrown& t) {
        told.answers += t.by;
    } catch (const fork_too_deep&) {
        told.answers += 'd';
    }
    EXPECT_EQ(told.ran, in.ran);
    EXPECT_EQ(told.answers, in.answers);
    EXPECT_EQ(all.contexts[0].lost_exceptions() + all.contexts[1].lost_exceptions(), in.lost);
    EXPECT_EQ(counted.use_count(), 1) << "a result is left";
    EXPECT_TRUE(all.w().jobs().empty());
}
INSTANTIATE_TEST_SUITE_P(each, fork_matrix, testing::ValuesIn(of_forks), name_of);

}  // namespace
}  // namespace fork_matrix_test
