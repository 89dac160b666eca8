// The brief lock by itself: what it covers is one thread's at a time, and the last to hold it may take
// it to its end.
#include <array>

#include <apiary/coroutines/brief_lock.hpp>
#include <apiary/model_check/register.hpp>

namespace brief_lock_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct brief_lock_excludes {
    static constexpr const char* what = "three threads add under it: none is lost, and each sees those before it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"brief_lock.waited"};
    brief_lock<Sync> lock;
    typename Sync::template cell<int> sum{0};
    void thread(unsigned) {
        const typename brief_lock<Sync>::held inside(lock);
        sum.write(sum.read() + 1);
    }
    void after() { Sync::law(sum.read() == 3, "what was added under the lock was lost"); }
};
APIARY_CHECK(brief_lock_excludes);

// The last of two takes it to its end: the release of the other was the last that touched it.
template <class Sync>
struct brief_lock_goes {
    static constexpr const char* what = "the second of two that held it destroys it at once";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"brief_lock.waited"};
    struct place {
        brief_lock<Sync> lock;
        typename Sync::template cell<int> came{0};
    };
    place* of = nullptr;
    void before() { of = Sync::template create<place>(); }
    void thread(unsigned) {
        int n;
        {
            const typename brief_lock<Sync>::held inside(of->lock);
            n = of->came.read() + 1;
            of->came.write(n);
        }
        if (n == 2) Sync::destroy(of);
    }
};
APIARY_CHECK(brief_lock_goes);

}  // namespace
}  // namespace brief_lock_check
