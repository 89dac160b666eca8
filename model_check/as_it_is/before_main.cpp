// What globals do before main, when nothing is checked yet: it is done as it always is.
#include <apiary/check.hpp>

#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <clocale>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace {
thread_local std::vector<int> of_a_thread;
std::mutex lock;
std::condition_variable posted;
const struct global {
    global() {
        of_a_thread.push_back(1);
        apiary::check(of_a_thread.size() == 1, "asked before main, too");
        const std::lock_guard held(lock);
        posted.notify_all();
    }
} made_before_main;
std::atomic<int> word;

void threads_have_their_own(std::size_t others) {
    std::thread a([=] {
        of_a_thread.push_back(2);
        const std::lock_guard held(lock);
        posted.notify_one();
        apiary::check(of_a_thread.size() == others, "another thread's");
    });
    word.store(1);
    a.join();
}
}  // namespace

namespace {
// Of the heap from before main: each execution finds it as it was made.
struct kept {
    std::atomic<int> count{0};
    int written = 0;
};
kept* const on_the_heap = new kept;
std::vector<int> grown{1, 2, 3};

void count_on_the_heap(bool one_writes_plainly) {
    apiary::check(on_the_heap->written == 0 && on_the_heap->count.load() == 0 && grown.size() == 3, "not put back");
    std::thread a([=] {
        if (one_writes_plainly) on_the_heap->written = 1;
        on_the_heap->count.fetch_add(1);
    });
    if (one_writes_plainly) on_the_heap->written = 2;
    on_the_heap->count.fetch_add(1);
    grown.push_back(4);
    a.join();
    apiary::check(on_the_heap->count.load() == 2 && grown.back() == 4, "lost");
}
}  // namespace

APIARY_SCENARIO(heap_from_before_main, "heap_from_before_main_races") { count_on_the_heap(false); }
APIARY_FAILING_SCENARIO(heap_from_before_main_races, "data race") { count_on_the_heap(true); }
APIARY_FAILING_SCENARIO(heap_from_before_main_is_freed, "access to freed memory") {
    std::thread a([] { on_the_heap->count.load(); });
    delete on_the_heap;
    a.join();
}

APIARY_SCENARIO(used_before_main, "used_before_main_by_all") { threads_have_their_own(1); }
APIARY_FAILING_SCENARIO(used_before_main_by_all, "another thread's") { threads_have_their_own(2); }

// ---- what main's thread had before the scenario, which goes on as that thread ------------------------------------

namespace {
thread_local int number_of_main = 0;
int* const address_from_before = &number_of_main;
std::mutex taken_before;
std::recursive_mutex taken_twice_before;
pthread_rwlock_t read_before = PTHREAD_RWLOCK_INITIALIZER;
sem_t posted_before;
pthread_barrier_t passed_before;
pthread_key_t key_before = 0, key_of_destructor_before = 0;
int value_before = 7;
std::thread::id id_before;
std::chrono::steady_clock::time_point time_before;
const struct main_before {
    main_before() {
        number_of_main = 7;
        taken_before.lock();
        taken_twice_before.lock();
        taken_twice_before.lock();
        pthread_rwlock_rdlock(&read_before);
        sem_init(&posted_before, 0, 0);
        sem_post(&posted_before);
        pthread_barrier_init(&passed_before, nullptr, 1);
        pthread_barrier_wait(&passed_before);
        pthread_key_create(&key_before, nullptr);
        pthread_key_create(&key_of_destructor_before, [](void* p) { static_cast<std::atomic<int>*>(p)->fetch_add(1); });
        pthread_setspecific(key_before, &value_before);
        id_before = std::this_thread::get_id();
        time_before = std::chrono::steady_clock::now();
    }
} before;

// Another thread, so that something is checked.
template <class F>
void beside(F f) {
    std::thread a(f);
    a.join();
}
}  // namespace

APIARY_SCENARIO(thread_locals_of_main, "thread_locals_of_main_by_all") {
    apiary::check(number_of_main == 7 && of_a_thread.size() == 1, "not what main's thread stored");
    number_of_main = 8;
    of_a_thread.push_back(3);
    beside([] { apiary::check(number_of_main == 0 && of_a_thread.empty(), "another thread's"); });
}
APIARY_FAILING_SCENARIO(thread_locals_of_main_by_all, "another thread's") {
    beside([] { apiary::check(number_of_main == 7, "another thread's"); });
}
APIARY_FAILING_SCENARIO(thread_local_by_an_address_from_before,
                        "refused: a thread-local variable by an address from before the scenario") {
    int seen = 0;
    beside([&] { seen = *address_from_before; });
    apiary::check(seen == 7, "not what main's thread stored");
}

APIARY_SCENARIO(lock_held_since_before, "lock_held_since_before_is_waited_for") {
    int taken = 0;
    std::thread a([&] {
        if (!taken_before.try_lock()) return;
        taken = 1;
        taken_before.unlock();
    });
    apiary::check(taken == 0, "taken while main's thread held it");
    taken_before.unlock();
    a.join();
}
APIARY_SCENARIO(lock_held_since_before_is_kept, "lock_held_since_before_is_waited_for") {
    beside([] { apiary::check(!taken_before.try_lock(), "taken while main's thread held it"); });
}
APIARY_FAILING_SCENARIO(lock_held_since_before_is_waited_for, "deadlock") {
    beside([] { const std::lock_guard held(taken_before); });
}
APIARY_SCENARIO(recursive_lock_held_since_before, "recursive_lock_held_since_before_once_too_often") {
    taken_twice_before.unlock();
    taken_twice_before.unlock();
    beside([] { const std::lock_guard held(taken_twice_before); });
}
APIARY_FAILING_SCENARIO(recursive_lock_held_since_before_once_too_often, "deadlock") {
    taken_twice_before.unlock();
    beside([] { const std::lock_guard held(taken_twice_before); });
}
APIARY_SCENARIO(read_lock_held_since_before, "read_lock_held_since_before_keeps_writers_out") {
    beside([] {
        pthread_rwlock_rdlock(&read_before);
        pthread_rwlock_unlock(&read_before);
    });
}
APIARY_FAILING_SCENARIO(read_lock_held_since_before_keeps_writers_out, "deadlock") {
    beside([] { pthread_rwlock_wrlock(&read_before); });
}
APIARY_SCENARIO(semaphore_posted_before, "semaphore_posted_before_once") {
    beside([] { sem_wait(&posted_before); });
}
APIARY_FAILING_SCENARIO(semaphore_posted_before_once, "deadlock") {
    beside([] {
        sem_wait(&posted_before);
        sem_wait(&posted_before);
    });
}
APIARY_SCENARIO(barrier_passed_before, "semaphore_posted_before_once") {
    beside([] { apiary::check(pthread_barrier_wait(&passed_before) == PTHREAD_BARRIER_SERIAL_THREAD, "not the last"); });
}

APIARY_SCENARIO(values_of_keys_from_before, "values_of_keys_from_before_by_all") {
    apiary::check(pthread_getspecific(key_before) == &value_before, "not what main's thread stored");
    pthread_setspecific(key_before, nullptr);
    std::atomic<int> ended{0};
    beside([&] {
        apiary::check(pthread_getspecific(key_before) == nullptr, "another thread's");
        pthread_setspecific(key_of_destructor_before, &ended);
    });
    apiary::check(ended == 1, "its end was not told");
}
APIARY_FAILING_SCENARIO(values_of_keys_from_before_by_all, "another thread's") {
    beside([] { apiary::check(pthread_getspecific(key_before) == &value_before, "another thread's"); });
}

namespace {
std::array<pthread_key_t, 65> many_keys{};
const struct many_keys_before {
    many_keys_before() {
        for (int k = 0; k != 1100; ++k) {  // more than there may be at once
            pthread_key_create(&many_keys[0], nullptr);
            pthread_key_delete(many_keys[0]);
        }
        for (pthread_key_t& key : many_keys) {
            pthread_key_create(&key, nullptr);
            pthread_setspecific(key, &key);
        }
    }
} made_many_keys;
bool has_all_values() {
    bool all = true;
    for (const pthread_key_t& key : many_keys) all = all && pthread_getspecific(key) == &key;
    return all;
}
}  // namespace
APIARY_SCENARIO(many_keys_from_before, "many_keys_from_before_by_all") {
    apiary::check(has_all_values(), "not what main's thread stored");
    beside([] { apiary::check(pthread_getspecific(many_keys.back()) == nullptr, "another thread's"); });
}
APIARY_FAILING_SCENARIO(many_keys_from_before_by_all, "another thread's") {
    beside([] { apiary::check(has_all_values(), "another thread's"); });
}

APIARY_SCENARIO(name_of_mains_thread, "name_of_mains_thread_by_all") {
    apiary::check(std::this_thread::get_id() == id_before, "another thread's");
    beside([] { apiary::check(std::this_thread::get_id() != id_before, "another thread's"); });
}
APIARY_FAILING_SCENARIO(name_of_mains_thread_by_all, "another thread's") {
    beside([] { apiary::check(std::this_thread::get_id() == id_before, "another thread's"); });
}
APIARY_SCENARIO(clock_from_before, "clock_from_before_goes_on") {
    const auto since = std::chrono::steady_clock::now() - time_before;
    apiary::check(since.count() > 0 && since < std::chrono::seconds(1), "another clock");
    beside([] {});
}
APIARY_FAILING_SCENARIO(clock_from_before_goes_on, "the deadline has passed") {
    beside([] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        apiary::check(std::chrono::steady_clock::now() < time_before + std::chrono::seconds(1), "the deadline has passed");
    });
}

// ---- what an execution would leave to the next one ----------------------------------------------------------------

namespace {
// Twice, so that a second execution sees what the first one left.
template <class F>
void in_each_of_two(F f) {
    std::thread a([] { word.store(1); });
    if (word.load() == 0) f();
    a.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(draws_by_rand, "refused: rand: its state is the process's") {
    in_each_of_two([] { (void)std::rand(); });
}
APIARY_FAILING_SCENARIO(seeds_rand, "refused: srand: its state is the process's") {
    in_each_of_two([] { std::srand(1); });
}
APIARY_FAILING_SCENARIO(draws_by_random, "refused: random: its state is the process's") {
    in_each_of_two([] { (void)::random(); });
}
APIARY_FAILING_SCENARIO(draws_by_drand48, "refused: drand48: its state is the process's") {
    in_each_of_two([] { (void)::drand48(); });
}
APIARY_FAILING_SCENARIO(asks_a_random_device, "refused: std::random_device: what it gives is not the same") {
    in_each_of_two([] {
        std::random_device device;
        (void)device();
    });
}
APIARY_FAILING_SCENARIO(asks_for_entropy, "refused: getentropy: what it gives is not the same") {
    in_each_of_two([] {
        int got = 0;
        (void)::getentropy(&got, sizeof got);
    });
}
APIARY_FAILING_SCENARIO(writes_its_environment, "refused: setenv: the environment is the process's") {
    in_each_of_two([] { ::setenv("APIARY_OF_A_SCENARIO", "1", 1); });
}
APIARY_FAILING_SCENARIO(clears_its_environment, "refused: unsetenv: the environment is the process's") {
    in_each_of_two([] { ::unsetenv("APIARY_OF_A_SCENARIO"); });
}
APIARY_FAILING_SCENARIO(takes_another_locale, "refused: setlocale: the locale is the process's") {
    in_each_of_two([] { std::setlocale(LC_ALL, "C"); });
}
APIARY_FAILING_SCENARIO(divides_by_strtok, "refused: strtok: its state is the process's") {
    in_each_of_two([] {
        char text[] = "a b";
        (void)std::strtok(text, " ");
    });
}
APIARY_FAILING_SCENARIO(changes_its_folder, "refused: chdir: the folder is the process's") {
    in_each_of_two([] { (void)::chdir("."); });
}
// A handler for memory that was refused: put back.
APIARY_SCENARIO(takes_another_new_handler, "writes_its_environment") {
    apiary::check(std::get_new_handler() == nullptr, "left by the execution before");
    in_each_of_two([] {});
    std::set_new_handler([] {});
}
APIARY_FAILING_SCENARIO(takes_another_mask_of_files, "refused: umask: the mask of new files is the process's") {
    in_each_of_two([] { (void)::umask(077); });
}
// std::terminate() is red, whatever its handler; the one that a global took is told.
namespace {
void ends_quietly() { std::_Exit(0); }
const std::terminate_handler handler_before_that = std::set_terminate(ends_quietly);
}  // namespace
APIARY_SCENARIO(terminate_handler_from_before, "takes_another_terminate_handler") {
    apiary::check(handler_before_that != nullptr && std::get_terminate() == ends_quietly, "another handler");
    in_each_of_two([] {});
}
APIARY_FAILING_SCENARIO(takes_another_terminate_handler, "refused: std::set_terminate: the handler is the process's") {
    in_each_of_two([] { std::set_terminate([] {}); });
}
APIARY_FAILING_SCENARIO(terminates_with_a_handler_of_its_own, "std::terminate() was called") {
    in_each_of_two([] { std::terminate(); });
}
