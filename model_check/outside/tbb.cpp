// oneTBB's locks and containers of libtbb-dev, those that are whole in its headers, unchanged.
#include <apiary/check.hpp>

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_vector.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace {
template <class Mutex>
void two_count() {
    Mutex mutex;
    int n = 0;
    const auto count = [&] {
        const typename Mutex::scoped_lock held(mutex);
        ++n;
    };
    std::thread a(count), b(count);
    a.join();
    b.join();
    apiary::check(n == 2, "a count was lost");
}
// Two that only read, or of which one writes with a reader's lock.
void reads_and_writes(bool writes_as_reader) {
    tbb::spin_rw_mutex mutex;
    int n = 0;
    std::thread a([&] {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, !writes_as_reader);
        ++n;
    });
    std::thread b([&] {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, false);
        apiary::check(n == 0 || n == 1, "what nobody wrote");
    });
    a.join();
    b.join();
}
}  // namespace

APIARY_SCENARIO(tbb_spin_mutex, "tbb_writes_as_reader") { two_count<tbb::spin_mutex>(); }
APIARY_SCENARIO(tbb_queuing_mutex, "tbb_writes_as_reader") { two_count<tbb::queuing_mutex>(); }
APIARY_SCENARIO(tbb_spin_rw_mutex, "tbb_writes_as_reader") { reads_and_writes(false); }
APIARY_FAILING_SCENARIO(tbb_writes_as_reader, "data race") { reads_and_writes(true); }

namespace {
// Memory of std::allocator, because that of oneTBB's own comes from libtbb.so.
using pairs = std::allocator<std::pair<const int, int>>;
using hash_map = tbb::concurrent_hash_map<int, int, tbb::tbb_hash_compare<int>, pairs>;
using unordered_map = tbb::concurrent_unordered_map<int, int, std::hash<int>, std::equal_to<int>, pairs>;
using vector = tbb::concurrent_vector<int, std::allocator<int>>;

// The reader reads what it holds, or only what it has found.
void erased_while_it_is_read(bool keeps_the_lock) {
    hash_map map;
    map.insert({1, 10});
    std::thread a([&] { apiary::check(map.erase(1), "not there"); });
    std::thread b([&] {
        hash_map::const_accessor entry;
        if (!map.find(entry, 1)) return;
        const int& n = entry->second;
        if (!keeps_the_lock) entry.release();
        apiary::check(n == 10, "another value");
    });
    a.join();
    b.join();
    apiary::check(map.empty(), "erased, and still there");
}
// An element counts before it is constructed: it is read by the thread that pushed it, or by one that asks for the size.
void two_push(bool reads_by_size) {
    vector v;
    std::thread a([&] { apiary::check(*v.push_back(1) == 1, "another value"); });
    std::thread b([&] {
        if (!reads_by_size)
            v.push_back(2);
        else if (v.size() == 1)
            apiary::check(v[0] == 1, "another value");
    });
    a.join();
    b.join();
    apiary::check(reads_by_size || (v.size() == 2 && v[0] + v[1] == 3 && v[0] != v[1]), "lost or doubled");
}
}  // namespace

APIARY_SCENARIO(tbb_hash_map_same_key, "tbb_hash_map_read_unlocked") {
    hash_map map;
    bool first[2] = {};
    const auto inserts = [&](int i) { first[i] = map.insert({1, i}); };
    std::thread a(inserts, 0), b(inserts, 1);
    a.join();
    b.join();
    hash_map::const_accessor entry;
    apiary::check(map.find(entry, 1) && first[entry->second] && !first[1 - entry->second],
                  "not the value of the first");
}
APIARY_SCENARIO(tbb_hash_map_erases, "tbb_hash_map_read_unlocked") { erased_while_it_is_read(true); }
APIARY_FAILING_SCENARIO(tbb_hash_map_read_unlocked, "freed") { erased_while_it_is_read(false); }
APIARY_SCENARIO(tbb_vector_grows, "tbb_vector_read_while_it_grows") { two_push(false); }
APIARY_FAILING_SCENARIO(tbb_vector_read_while_it_grows, "data race") { two_push(true); }
// One of them inserts, and both read what it wrote.
APIARY_SCENARIO(tbb_unordered_map_same_key, "tbb_unordered_map_written_by_two") {
    unordered_map map;
    bool first[2] = {};
    const auto inserts = [&](int i) {
        const auto [found, was_first] = map.insert({1, i});
        first[i] = was_first;
        apiary::check(found->second == (was_first ? i : 1 - i), "not the value of the first");
    };
    std::thread a(inserts, 0), b(inserts, 1);
    a.join();
    b.join();
    apiary::check(first[0] != first[1] && map.size() == 1, "both were the first, or neither");
}
APIARY_FAILING_SCENARIO(tbb_unordered_map_written_by_two, "data race") {
    unordered_map map;
    const auto writes = [&](int i) { map[1] = i; };
    std::thread a(writes, 0), b(writes, 1);
    a.join();
    b.join();
}

// The memory of concurrent_queue's counters and pages: libtbb.so has these two functions, and is not instrumented.
namespace tbb::detail::r1 {
void* cache_aligned_allocate(std::size_t size) { return std::aligned_alloc(128, (size + 127) / 128 * 128); }
void cache_aligned_deallocate(void* block) { std::free(block); }
}  // namespace tbb::detail::r1

namespace {
// So large that a page has one: pages come and go.
struct large {
    int n = 0;
    char rest[252];
};
// One pushes, one pops what is there.
template <class Value>
void queue_one_at_each_end() {
    tbb::concurrent_queue<Value> q;
    std::thread producer([&] {
        q.push({1});
        q.push({2});
    });
    int last = 0;
    for (int k = 0; k < 2; ++k)
        if (Value got; q.try_pop(got)) {
            apiary::check(got.n > last, "out of order");
            last = got.n;
        }
    producer.join();
    for (Value got; q.try_pop(got); last = got.n) apiary::check(got.n > last, "out of order");
    apiary::check(last == 2, "lost");
}
struct small {
    int n = 0;
};
}  // namespace
APIARY_SCENARIO(tbb_queue_one_pops, "tbb_queue") { queue_one_at_each_end<small>(); }
APIARY_SCENARIO(tbb_queue_one_pops_pages, "tbb_queue") { queue_one_at_each_end<large>(); }
// As many were pushed as are there at any time at which a thread pops.
APIARY_FAILING_SCENARIO(tbb_queue, "empty although it was pushed") {
    tbb::concurrent_queue<int> q;
    int got[2] = {0, 0};
    const auto push_and_pop = [&](int i) {
        q.push(i + 1);
        apiary::check(q.try_pop(got[i]), "empty although it was pushed");
    };
    std::thread a(push_and_pop, 0), b(push_and_pop, 1);
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3 && got[0] != got[1], "lost or doubled");
}
// The ninth element comes into the first one's lane: the thread that pushes it must know of the page there.
APIARY_FAILING_SCENARIO(tbb_queue_ninth, "lost or doubled") {
    tbb::concurrent_queue<int> q;
    std::thread a([&] {
        for (int k = 1; k <= 8; ++k) q.push(k);
    });
    q.push(9);
    a.join();
    int sum = 0;
    for (int got = 0; q.try_pop(got);) sum += got;
    apiary::check(sum == 45, "lost or doubled");
}
