// What a runtime easily misses, each once as it must pass and once with the mistake in it.
#include <apiary/check.hpp>

#include <sys/mman.h>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

// ---- the expected value of a compare-exchange -----------------------------------------------------------------

namespace {
struct node {
    int value = 0;
    node* next = nullptr;
};
void push(std::atomic<node*>& head, node* n) {
    n->next = nullptr;
    while (!head.compare_exchange_weak(n->next, n, std::memory_order_release, std::memory_order_relaxed)) {
    }
}
}  // namespace

// A failed exchange writes n->next: the loop changed something, and goes on.
APIARY_FAILING_SCENARIO(expected_on_the_heap, "two lies on one") {
    std::atomic<node*> head{nullptr};
    node* const one = new node{1};
    node* const two = new node{2};
    std::thread a([&] { push(head, one); }), b([&] { push(head, two); });
    a.join();
    b.join();
    const bool both = head.load() == two && two->next == one && one->next == nullptr;
    delete one;
    delete two;
    apiary::check(!both, "two lies on one");
}

APIARY_SCENARIO(expected_of_its_own, "expected_is_shared") {
    std::atomic<int> word{0};
    const auto set = [&](int to) {
        int expected = 0;
        word.compare_exchange_strong(expected, to);
        apiary::check(expected == 0 || expected == 3 - to, "neither");
    };
    std::thread a(set, 1), b(set, 2);
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(expected_is_shared, "data race") {
    std::atomic<int> word{0};
    int expected = 0;
    const auto set = [&](int to) { word.compare_exchange_strong(expected, to, std::memory_order_relaxed); };
    std::thread a(set, 1), b(set, 2);
    a.join();
    b.join();
}

// ---- an access like the latest one to the same bytes --------------------------------------------------------------

// Each lies alone in its eight bytes, so that nothing else comes between.
namespace {
struct alone {
    alignas(8) int value = 0;
};
}  // namespace

APIARY_SCENARIO(read_again_and_again, "written_again_behind_the_release") {
    alone data;
    alignas(8) std::atomic<bool> ready{false};
    std::thread a([&] {
        data.value = 1;
        data.value = 2;
        ready.store(true, std::memory_order_release);
    });
    if (ready.load(std::memory_order_acquire)) apiary::check(data.value == 2, "stale");
    a.join();
}

APIARY_FAILING_SCENARIO(written_again_behind_the_release, "data race") {
    alone data;
    alignas(8) std::atomic<bool> ready{false};
    std::thread a([&] {
        data.value = 1;
        ready.store(true, std::memory_order_release);
        data.value = 2;
    });
    if (ready.load(std::memory_order_acquire)) apiary::check(data.value != 0, "stale");
    a.join();
}

APIARY_FAILING_SCENARIO(read_again_behind_the_release, "data race") {
    alone data;
    alignas(8) std::atomic<bool> ready{false};
    alignas(8) int sum = 0;
    std::thread a([&] {
        sum = data.value;
        ready.store(true, std::memory_order_release);
        sum += data.value;
    });
    if (ready.load(std::memory_order_acquire)) data.value = 1;
    a.join();
}

APIARY_FAILING_SCENARIO(same_write_by_another_thread, "data race") {
    alone data;
    std::thread a([&] { data.value = 1; }), b([&] { data.value = 2; });
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(byte_beside_the_one_just_written, "data race") {
    alignas(8) char bytes[8] = {};
    std::thread a([&] {
        bytes[0] = 1;
        bytes[1] = 2;
    });
    std::thread b([&] { bytes[1] = 3; });
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(write_behind_a_read, "data race") {
    alone data;
    alignas(8) int seen = 0;
    std::thread a([&] {
        seen = data.value;
        data.value = 1;
    });
    std::thread b([&] { apiary::check(data.value < 2); });
    a.join();
    b.join();
}

// ---- padding ------------------------------------------------------------------------------------------------------

// Whether a compare-exchange looks at it is the standard library's affair, and that of this program before main.
namespace {
struct with_padding {
    char c;
    int i;
};
[[gnu::noinline]] void one_and_two(with_padding& p, unsigned char padding) {
    std::memset(static_cast<void*>(&p), padding, sizeof p);
    p.c = 1;
    p.i = 2;
}
bool succeeds_on(std::atomic<with_padding>& word, unsigned char padding) {
    with_padding stored, expected;
    one_and_two(stored, 0x11);
    one_and_two(expected, padding);
    word.store(stored);
    return word.compare_exchange_strong(expected, {3, 4});
}
std::atomic<with_padding> word_of_before;
const bool padding_is_no_value = succeeds_on(word_of_before, 0x22);
}  // namespace

APIARY_SCENARIO(padding_is_compared_as_without_the_checker, "expected_is_shared") {
    std::atomic<with_padding> word{};
    bool same = false, other = false;
    std::thread a([&] { other = succeeds_on(word, 0x22), same = succeeds_on(word, 0x11); });
    a.join();
    apiary::check(same && other == padding_is_no_value, "padding is compared otherwise than before main");
}

// ---- futexes ------------------------------------------------------------------------------------------------------

namespace {
struct event {
    std::atomic<int> word{0}, waiters{0};
    void wait() {
        waiters.store(1, std::memory_order_relaxed);
        while (word.load(std::memory_order_relaxed) == 0) ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr);
    }
    template <class Fence>
    void set(Fence between) {
        word.store(1, std::memory_order_relaxed);
        between();
        if (waiters.load(std::memory_order_relaxed) != 0) ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
    }
};
template <class Fence>
void one_waits_for_one(Fence between) {
    event e;
    std::thread waiter([&] { e.wait(); });
    e.set(between);
    waiter.join();
}
}  // namespace

APIARY_SCENARIO(waker_passes_a_fence, "waker_passes_a_compilers_fence") {
    one_waits_for_one([] { std::atomic_thread_fence(std::memory_order_seq_cst); });
}

// The barrier within the kernel's futex makes no processor pass one that does not itself.
APIARY_FAILING_SCENARIO(waker_passes_a_compilers_fence, "deadlock") {
    one_waits_for_one([] { std::atomic_signal_fence(std::memory_order_seq_cst); });
}

// A heavy fence is the one that makes every thread pass one; to ask for it, or to announce it, orders nothing.
namespace {
template <class Fence>
void store_buffering_against(Fence heavy) {
    std::atomic<int> x{0}, y{0};
    int a = -1, b = -1;
    std::thread light([&] {
        x.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        a = y.load(std::memory_order_relaxed);
    });
    y.store(1, std::memory_order_relaxed);
    heavy();
    b = x.load(std::memory_order_relaxed);
    light.join();
    apiary::check(a == 1 || b == 1, "both loads read the old value");
}
}  // namespace

APIARY_SCENARIO(membarrier_orders, "membarrier_is_announced") {
    store_buffering_against([] { ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); });
}
APIARY_FAILING_SCENARIO(membarrier_is_announced, "both loads read the old value") {
    store_buffering_against([] {
        apiary::check((::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0);
        ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    });
}
APIARY_FAILING_SCENARIO(membarrier_of_another_kind, "refused: membarrier command") {
    store_buffering_against([] { ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0); });
}
APIARY_FAILING_SCENARIO(futex_with_a_mask, "refused: a futex with a mask") {
    event e;
    std::thread waiter([&] { ::syscall(SYS_futex, &e.word, FUTEX_WAIT_BITSET_PRIVATE, 0, nullptr, nullptr, 1); });
    waiter.join();
}

// ---- mutexes of the C library -------------------------------------------------------------------------------------

APIARY_SCENARIO(mutex_is_destroyed_and_made_anew, "mutex_is_destroyed_too_early") {
    pthread_mutex_t m;
    pthread_cond_t c;
    int n = 0;
    for (int i = 0; i < 2; ++i) {
        ::pthread_mutex_init(&m, nullptr);
        ::pthread_cond_init(&c, nullptr);
        std::thread a([&] {
            ::pthread_mutex_lock(&m);
            ++n;
            ::pthread_cond_signal(&c);
            ::pthread_mutex_unlock(&m);
        });
        ::pthread_mutex_lock(&m);
        while (n == i) ::pthread_cond_wait(&c, &m);
        ::pthread_mutex_unlock(&m);
        a.join();
        ::pthread_cond_destroy(&c);
        ::pthread_mutex_destroy(&m);
    }
    apiary::check(n == 2);
}

APIARY_FAILING_SCENARIO(mutex_is_destroyed_too_early, "data race") {
    pthread_mutex_t m;
    ::pthread_mutex_init(&m, nullptr);
    std::thread a([&] {
        ::pthread_mutex_lock(&m);
        ::pthread_mutex_unlock(&m);
    });
    ::pthread_mutex_destroy(&m);
    a.join();
}

APIARY_FAILING_SCENARIO(condition_is_made_too_late, "data race") {
    pthread_cond_t c;
    std::thread a([&] { ::pthread_cond_signal(&c); });
    ::pthread_cond_init(&c, nullptr);
    a.join();
}

namespace {
void lock_twice_unlock_twice(bool elsewhere) {
    std::recursive_mutex m;
    std::atomic<int> n{0};
    m.lock();
    m.lock();
    std::thread a([&] {
        if (elsewhere) m.unlock();
        n.fetch_add(1);
    });
    a.join();
    if (!elsewhere) m.unlock();
    m.unlock();
}
}  // namespace

APIARY_SCENARIO(recursive_mutex_counts, "recursive_mutex_is_unlocked_elsewhere") { lock_twice_unlock_twice(false); }
APIARY_FAILING_SCENARIO(recursive_mutex_is_unlocked_elsewhere, "unlock") { lock_twice_unlock_twice(true); }

// ---- what nobody frees ----------------------------------------------------------------------------------------------

namespace {
struct chained {
    std::atomic<chained*> next{nullptr};
};
std::atomic<chained*> all_links;
thread_local chained* volatile kept_by_the_thread;
}  // namespace

APIARY_SCENARIO(reached_through_atomics, "was_reached_through_an_atomic") {
    const auto add = [] {
        auto* const mine = new chained;
        chained* first = all_links.load(std::memory_order_relaxed);
        do mine->next.store(first, std::memory_order_relaxed);
        while (!all_links.compare_exchange_strong(first, mine, std::memory_order_release, std::memory_order_relaxed));
    };
    std::thread a(add), b(add);
    a.join();
    b.join();
    kept_by_the_thread = new chained;
}

APIARY_FAILING_SCENARIO(was_reached_through_an_atomic, "memory leak") {
    new (&all_links) std::atomic<chained*>(new chained);
    std::thread a([] { all_links.store(nullptr); });
    a.join();
}

APIARY_FAILING_SCENARIO(kept_by_a_thread_that_ended, "memory leak") {
    std::thread a([] { kept_by_the_thread = new chained; });
    a.join();
}

// ---- memory that nobody wrote -----------------------------------------------------------------------------------------

namespace {
__attribute__((noinline)) int left_on_the_stack(bool write) {
    volatile int room[1900];
    if (write) room[0] = 1;
    return room[0];
}
}  // namespace

APIARY_FAILING_SCENARIO(heap_is_read_before_it_is_written, "it was no zero") {
    std::atomic<int> word{0};
    std::thread a([&] {
        int* const p = new int;
        word.store(*static_cast<volatile int*>(p));
        delete p;
    });
    a.join();
    apiary::check(word.load() == 0, "it was no zero");
}

APIARY_SCENARIO(stacks_begin_alike, "heap_is_read_before_it_is_written") {
    std::atomic<int> word{0};
    std::thread a([&] {
        apiary::check(left_on_the_stack(false) != 1, "what another execution left");
        word.store(left_on_the_stack(true));
    });
    apiary::check(word.load() != 2);
    a.join();
}

// ---- between two starts -----------------------------------------------------------------------------------------------

// No event of the first thread stands between the starts: what it writes there the thread behind knows, and no other does.
namespace {
struct between {
    int plain = 0;
    alignas(std::atomic<int>) std::byte room[sizeof(std::atomic<int>)];
    std::atomic<int>* word = nullptr;
};
void* looks(void* of) {
    const auto& b = *static_cast<const between*>(of);
    apiary::check(b.plain == 1 && b.word->load() == 2, "it was written before the start");
    return nullptr;
}
void* does_nothing(void*) { return nullptr; }
void writes_between_two_starts(bool the_first_looks) {
    between b;
    pthread_t first, second;
    ::pthread_create(&first, nullptr, the_first_looks ? looks : does_nothing, &b);
    b.plain = 1;
    b.word = ::new (b.room) std::atomic<int>(2);
    ::pthread_create(&second, nullptr, looks, &b);
    ::pthread_join(second, nullptr);
    ::pthread_join(first, nullptr);
}
}  // namespace

APIARY_SCENARIO(written_before_its_start, "written_behind_its_start") { writes_between_two_starts(false); }
APIARY_FAILING_SCENARIO(written_behind_its_start, "data race") { writes_between_two_starts(true); }

// ---- writes of two sizes in one place -------------------------------------------------------------------------------------

// The latest of them begins the atomic, whichever was there first.
namespace {
void written_by_halves(bool again) {
    union {
        std::uint64_t both;
        std::uint32_t half[2];
    } volatile place;
    std::atomic<bool> flag{false};
    std::thread other([&] { flag.store(true); });
    place.half[0] = 1;
    place.both = 2;
    auto& word = const_cast<std::uint32_t&>(place.half[0]);
    std::atomic_ref(word).store(3);
    if (again) place.half[0] = 4;
    apiary::check(std::atomic_ref(word).load() == 4, "what stood there before");
    (void)flag.load();  // more than one execution: the lists of accesses have room from the first one on
    other.join();
}
}  // namespace

APIARY_SCENARIO(written_by_halves_again, "written_by_halves_once") { written_by_halves(true); }
APIARY_FAILING_SCENARIO(written_by_halves_once, "what stood there before") { written_by_halves(false); }

// Its first read of a block that it has written and freed.
APIARY_FAILING_SCENARIO(freed_and_then_read, "access to freed memory") {
    std::thread a([] {
        int* const p = new int(1);
        int* volatile kept = p;
        delete p;
        (void)*const_cast<volatile int*>(kept);
    });
    a.join();
}

// ---- copied, filled, compared and searched by a call, or in place of one ---------------------------------------------

namespace {
template <class Read>
void written_while_read(int& place, Read read) {
    std::thread a([&] { place = 5; }), b(read);
    a.join();
    b.join();
}
template <class Read>
void text_written_while_read(Read read) {
    static char text[16] = "abc";
    std::thread a([] { text[1] = 'x'; }), b([=] { read(text); });
    a.join();
    b.join();
}
// Of a known size, so that g++ need not call anything.
[[gnu::noinline]] void fill(char* forty) { std::fill(forty, forty + 40, 'x'); }
int* const of_the_system =
    static_cast<int*>(::mmap(nullptr, 4 * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}  // namespace

APIARY_FAILING_SCENARIO(vector_is_copied_while_written, "data race") {
    std::vector<int> v{1, 2, 3};
    written_while_read(v[1], [&] { apiary::check(std::vector<int>(v)[0] == 1); });
}
APIARY_SCENARIO(vector_is_copied_under_a_lock, "vector_is_copied_while_written") {
    std::vector<int> v{1, 2, 3};
    std::mutex m;
    std::thread a([&] {
        const std::lock_guard held(m);
        v[1] = 5;
    });
    std::thread b([&] {
        const std::lock_guard held(m);
        const std::vector<int> w = v;
        apiary::check(w[0] == 1 && (w[1] == 2 || w[1] == 5) && w[2] == 3);
    });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(vector_is_erased_while_read, "data race") {
    std::vector<int> v{1, 2, 3};
    std::thread a([&] { v.erase(v.begin()); }), b([&] { apiary::check(v[0] != 0); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(vector_is_compared_while_written, "data race") {
    std::vector<int> v{1, 2, 3}, w = v;
    written_while_read(v[1], [&] { apiary::check(v == w || v[0] == 1); });
}
APIARY_FAILING_SCENARIO(bytes_are_filled_while_read, "data race") {
    std::vector<char> v(40);
    std::thread a([&] { std::fill(v.begin(), v.end(), 'x'); }), b([&] { apiary::check(v[20] != 1); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(so_many_bytes_are_filled_while_read, "data race") {
    char forty[40] = {};
    std::thread a([&] { fill(forty); }), b([&] { apiary::check(forty[20] != 1); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(text_is_measured_while_written, "data race") {
    text_written_while_read([](const char* t) { apiary::check(std::strlen(t) == 3); });
}
APIARY_FAILING_SCENARIO(text_is_compared_while_written, "data race") {
    text_written_while_read([](const char* t) { apiary::check(std::strcmp(t, "abd") != 0); });
}
APIARY_FAILING_SCENARIO(text_is_searched_while_written, "data race") {
    text_written_while_read([](const char* t) { apiary::check(std::strchr(t, 'c') == t + 2); });
}
APIARY_FAILING_SCENARIO(text_is_copied_while_written, "data race") {
    text_written_while_read([](const char* t) {
        char to[16];
        apiary::check(std::strcpy(to, t)[0] == 'a');
    });
}
APIARY_SCENARIO(text_is_searched_in_front_of_it, "text_is_searched_while_written") {
    text_written_while_read([](const char* t) {
        apiary::check(std::strchr(t, 'a') == t && std::memchr(t, 'a', 16) == t && std::strcmp(t, "b") < 0);
    });
}
// g++ hoists the read of a variable out of a loop, also where a condition guards it: before it instruments it must not.
namespace {
int total_of_loop;
const int weights[3] = {1, 2, 3};
void add_weights(bool mine) {
    for (const int w : weights)
        if (mine) total_of_loop += w;
}
}  // namespace
APIARY_SCENARIO(guarded_in_a_loop, "not_guarded_in_a_loop") {
    std::atomic<bool> ready{false};
    std::thread a([&] {
        total_of_loop = 5;
        ready.store(true, std::memory_order_release);
    });
    std::thread b([&] { add_weights(ready.load(std::memory_order_acquire)); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(not_guarded_in_a_loop, "data race") {
    std::atomic<bool> ready{false};
    std::thread a([&] {
        total_of_loop = 5;
        ready.store(true, std::memory_order_relaxed);
    });
    std::thread b([&] { add_weights(ready.load(std::memory_order_acquire)); });
    a.join();
    b.join();
}

// Silently, the next execution would begin with what this one left.
APIARY_FAILING_SCENARIO(copied_to_what_is_not_put_back, "refused: a write to memory that is not put back") {
    const std::vector<int> from{1, 2, 3, 4};
    std::thread a([&] { std::copy(from.begin(), from.end(), of_the_system); });
    a.join();
}

// ---- what a program knows of the instrumentation ---------------------------------------------------------------------------

// A library that strengthens itself where it sees a sanitizer, since that one does not follow fences: as it ships, the order is
// left out by mistake.
namespace {
#if defined(__SANITIZE_THREAD__)
constexpr bool sees_a_sanitizer = true;
#else
constexpr bool sees_a_sanitizer = false;
#endif
template <std::memory_order publishes>
void published_to_another() {
    int written = 0;
    std::atomic<bool> there{false};
    std::thread a([&] {
        written = 1;
        there.store(true, sees_a_sanitizer ? std::memory_order_release : publishes);
    });
    if (there.load(std::memory_order_acquire)) apiary::check(written == 1);
    a.join();
}
}  // namespace
APIARY_SCENARIO(ships_as_it_is_checked, "is_stronger_under_a_sanitizer") {
    published_to_another<std::memory_order_release>();
}
APIARY_FAILING_SCENARIO(is_stronger_under_a_sanitizer, "data race") {
    published_to_another<std::memory_order_relaxed>();
}

// They link, and order nothing.
extern "C" {
void AnnotateHappensBefore(const char* file, int line, const volatile void* at);
void AnnotateHappensAfter(const char* file, int line, const volatile void* at);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, long bytes, const char* what);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
int __tsan_mutex_pre_unlock(void* at, unsigned flags);
}
namespace {
template <std::memory_order publishes>
void annotated() {
    int written = 0;
    std::atomic<bool> there{false};
    AnnotateBenignRaceSized(__FILE__, __LINE__, &written, sizeof written, "only a test");
    std::thread a([&] {
        written = 1;
        AnnotateHappensBefore(__FILE__, __LINE__, &there);
        __tsan_release(&there);
        there.store(true, publishes);
    });
    if (there.load(std::memory_order_acquire)) {
        AnnotateHappensAfter(__FILE__, __LINE__, &there);
        __tsan_acquire(&there);
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        apiary::check(written == 1 + __tsan_mutex_pre_unlock(&there, 0));
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    a.join();
}
}  // namespace
APIARY_SCENARIO(annotated_and_ordered, "annotated_alone") { annotated<std::memory_order_release>(); }
APIARY_FAILING_SCENARIO(annotated_alone, "data race") { annotated<std::memory_order_relaxed>(); }
