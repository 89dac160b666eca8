// B25 of a semaphore: the thread that takes its last permit destroys it, and the release that added the permit touches it
// once more.
//
// From: glibc #12674, where sem_post reads the number of waiters after it has posted; async_semaphore as it shipped in
// 0.1.0, whose release added the permit before it unlocked its own mutex.
// Seen by: both engines, as use after the end; of the mutex by the explorer, since Relacy says that an owned one ends.
// Fixed twin: a permit that nobody waits for comes last, without the mutex (async_semaphore).
#include <apiary/model_check/register.hpp>

namespace b25_semaphore_ends {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

enum class permit { last, then_a_look, under_the_mutex };

template <class Sync, permit Comes>
struct last_user_destroys_it {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    struct semaphore {
        typename Sync::template atomic<unsigned> permits{0}, waiters{0};
        typename Sync::mutex mutex;
    };
    semaphore* s = nullptr;
    bool looked = false;

    void before() { s = Sync::template create<semaphore>(); }
    void thread(unsigned i) {
        if (i == 0) return releases();
        Sync::spin_until(s->permits, [](unsigned n) { return n != 0; });
        s->permits.fetch_sub(1, acquire);
        Sync::destroy(s);
    }
    void releases() {
        if constexpr (Comes == permit::under_the_mutex) {
            typename Sync::lock held(s->mutex);
            s->permits.fetch_add(1, release);
        } else {
            s->permits.fetch_add(1, release);
            if constexpr (Comes == permit::then_a_look) looked = s->waiters.load(relaxed) != 0;
        }
    }
};
template <class Sync>
struct b25_waiters_read_after_the_post : last_user_destroys_it<Sync, permit::then_a_look> {
    static constexpr const char* what = "the release reads the number of waiters after it has added its permit";
};
APIARY_EXHIBIT(b25_waiters_read_after_the_post, "access to freed memory");
template <class Sync>
struct b25_permit_under_the_mutex : last_user_destroys_it<Sync, permit::under_the_mutex> {
    static constexpr const char* what = "the release unlocks the semaphore's mutex after it has added its permit";
    static constexpr const char* one_engine = "Relacy says that a mutex that is owned is destroyed, and no more";
};
APIARY_EXHIBIT(b25_permit_under_the_mutex, "access to freed memory", apiary::model::explorer_only);
template <class Sync>
struct b25_permit_comes_last : last_user_destroys_it<Sync, permit::last> {
    static constexpr const char* what = "twin of B25 of a semaphore: the permit is the last that is done to it";
    static constexpr const char* exhibit = "b25_permit_under_the_mutex";
};
APIARY_CHECK(b25_permit_comes_last);

}  // namespace
}  // namespace b25_semaphore_ends
