// Counters and trace: the books agree with what was done, and the trace is well-formed JSON.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <iomanip>
#include <locale>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>

namespace hive_trace_test {
namespace {

using namespace std::chrono_literals;
using apiary::worker_counters;

// Just enough of a parser to say whether a text is one JSON value; counts the objects' "name" members by value.
class json {
public:
    explicit json(std::string_view text) : rest_(text) {}
    bool well_formed() { return value() && (space(), rest_.empty()); }

private:
    bool value() {
        space();
        if (rest_.empty()) return false;
        if (rest_[0] == '{') return sequence('}', [this] { return string() && take(':') && value(); });
        if (rest_[0] == '[') return sequence(']', [this] { return value(); });
        if (rest_[0] == '"') return string();
        const auto n = rest_.find_first_not_of("-+.eE0123456789");
        if (n == 0) return false;
        rest_.remove_prefix(std::min(n, rest_.size()));
        return true;
    }
    template <class Element>
    bool sequence(char end, Element element) {
        rest_.remove_prefix(1);
        if (take(end)) return true;
        do {
            if (!element()) return false;
        } while (take(','));
        return take(end);
    }
    bool string() {
        if (!take('"')) return false;
        const auto end = rest_.find_first_of("\"\\\n");
        if (end == rest_.npos || rest_[end] != '"') return false;
        rest_.remove_prefix(end + 1);
        return true;
    }
    bool take(char c) {
        space();
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void space() {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) rest_.remove_prefix(1);
    }
    std::string_view rest_;
};

std::size_t count(std::string_view text, std::string_view what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
    return n;
}

TEST(hive_trace, is_json_and_shows_every_task) {
    apiary::traced_hive h({.io_workers = 2});
    std::atomic<int> ran{0};
    constexpr int tasks = 300;
    ASSERT_TRUE(h.post_micro([&] {
        for (int i = 1; i < tasks; ++i)
            ASSERT_TRUE(h.post_micro([&] {
                if (++ran == tasks - 1) h.request_stop();
            }));
    }));
    h.run();
    std::ostringstream out;
    h.write_trace(out);
    const std::string text = out.str();
    EXPECT_TRUE(json(text).well_formed()) << text;
    EXPECT_EQ(count(text, R"("name":"task")"), static_cast<std::size_t>(tasks));
    EXPECT_EQ(count(text, R"("name":"thread_name")"), 2U);
    EXPECT_EQ(count(text, R"("name":"steal")"), h.total(&worker_counters::stolen));
    EXPECT_EQ(count(text, R"("name":"park")"), h.total(&worker_counters::parked));
    EXPECT_EQ(count(text, R"("name":"woken")"), h.total(&worker_counters::woken));
    EXPECT_EQ(count(text, R"("name":"batch")"), h.total(&worker_counters::batches));
}

struct thousands_apart : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST(hive_trace, is_json_also_in_a_stream_that_writes_numbers_for_people) {
    apiary::traced_hive h({});
    ASSERT_TRUE(h.post_micro([&h] { h.request_stop(); }));
    h.run();
    std::ostringstream plain, dressed;
    dressed.imbue(std::locale(std::locale::classic(), new thousands_apart));
    dressed << std::hex << std::showbase << std::setfill('*');
    h.write_trace(plain);
    h.write_trace(dressed);
    EXPECT_EQ(dressed.str(), plain.str());
    dressed.str({});
    dressed << 1000;
    EXPECT_EQ(dressed.str(), "0x3e8") << "it is left as it was";
}

TEST(hive_trace, is_json_also_where_the_program_writes_numbers_for_people) {
    apiary::traced_hive h({});
    ASSERT_TRUE(h.post_micro([&h] { h.request_stop(); }));
    h.run();
    std::ostringstream plain, other;
    h.write_trace(plain);
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new thousands_apart));
    h.write_trace(other);
    std::locale::global(before);
    EXPECT_EQ(other.str(), plain.str());
    EXPECT_EQ(count(plain.str(), R"("left_out":0})"), 1U);
}

TEST(hive_trace, says_that_the_stream_is_full) {
    apiary::traced_hive h({});
    h.request_stop();
    h.run();
    struct full final : std::streambuf {
    } takes_nothing;
    std::ostream out(&takes_nothing);
    h.write_trace(out);
    EXPECT_FALSE(out.good());
}

TEST(hive_trace, shows_the_compute_workers_beside_the_io_workers) {
    apiary::traced_hive h({.io_workers = 1, .compute_workers = 2});
    std::atomic<int> ran{0};
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(h.post_compute([&] {
            if (++ran == 5) h.request_stop();
        }));
    h.run();
    std::ostringstream out;
    h.write_trace(out);
    const std::string text = out.str();
    EXPECT_TRUE(json(text).well_formed()) << text;
    EXPECT_EQ(count(text, R"("name":"compute worker 1")"), 1U);
    EXPECT_EQ(count(text, R"("name":"task")"), 5U);
    EXPECT_EQ(count(text, R"("name":"park")"), h.total(&worker_counters::parked));
    EXPECT_EQ(count(text, R"("name":"woken")"), h.total(&worker_counters::woken));
}

TEST(hive_trace, shows_each_sleep_that_a_post_ended) {
    apiary::traced_hive h({.io_workers = 1, .compute_workers = 1});
    std::thread t([&h] { h.run(); });
    const auto compute = [&h] { return h.snapshot().at(1); };
    for (unsigned i = 0; i < 8; ++i) {
        while (compute().parked <= i) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it has been counted, and goes to sleep
        ASSERT_TRUE(h.post_compute([] {}));
        while (compute().run == i) std::this_thread::yield();
    }
    h.request_stop();
    t.join();
    std::ostringstream out;
    h.write_trace(out);
    EXPECT_GE(compute().woken, 1U);
    EXPECT_EQ(count(out.str(), R"("name":"woken")"), h.total(&worker_counters::woken));
}

TEST(hive_trace, the_parser_knows_what_is_no_json) {
    for (const char* bad : {"", "{", "[1,]", R"({"a"})", R"({"a":1}})", "[\"a\n\"]", "{]"}) {
        EXPECT_FALSE(json(bad).well_formed()) << bad;
    }
    EXPECT_TRUE(json(R"( {"a":[1,-2.5e3,{}],"b":"c"} )").well_formed());
}

TEST(hive_counters, agree_with_what_was_done) {
    apiary::hive h({.io_workers = 1});
    auto never = h.post_delayed([] {}, 1h);
    EXPECT_TRUE(never.cancel());
    ASSERT_TRUE(h.post_delayed([] { throw 1; }, 1ms));
    ASSERT_TRUE(h.post_delayed([&h] { h.request_stop(apiary::stop_mode::discard); }, 2ms));
    h.run();
    const auto all = h.snapshot();
    ASSERT_EQ(all.size(), 1U);
    const worker_counters& c = all[0];
    EXPECT_EQ(c.run, 2U);
    EXPECT_EQ(c.exceptions, 1U);
    EXPECT_EQ(c.cancelled, 1U);
    EXPECT_EQ(c.timers_fired, 2U);
    EXPECT_GE(c.timer_lateness_ns, c.timer_lateness_max_ns);
    EXPECT_EQ(c.timers_pending, 0U);
    EXPECT_EQ(c.stolen, 0U);
}

TEST(hive_counters, are_kept_for_compute_workers_too) {
    apiary::hive h({.io_workers = 1, .compute_workers = 1});
    std::thread t([&h] { h.run(); });
    const auto compute = [&h] { return h.snapshot().at(1); };
    EXPECT_EQ(h.snapshot().at(0).kind, apiary::worker_kind::io);
    EXPECT_EQ(compute().kind, apiary::worker_kind::compute);
    while (h.snapshot().at(0).parked == 0 || compute().parked == 0) std::this_thread::yield();
    ASSERT_TRUE(h.post_compute([] { throw 1; }));
    while (compute().run == 0) std::this_thread::yield();
    h.request_stop();
    t.join();
    EXPECT_EQ(compute().slot, 0U);
    EXPECT_EQ(compute().run, 1U);
    EXPECT_EQ(compute().exceptions, 1U);
    EXPECT_EQ(compute().stolen, 0U);
    EXPECT_GE(compute().parked, compute().woken);
}

TEST(hive_counters, can_be_read_while_it_runs) {
    apiary::hive h({.io_workers = 2});
    std::thread t([&h] { h.run(); });
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
    while (h.total(&worker_counters::run) < 200) std::this_thread::yield();
    EXPECT_EQ(ran, 200);
    h.request_stop();
    t.join();
}

}  // namespace
}  // namespace hive_trace_test
