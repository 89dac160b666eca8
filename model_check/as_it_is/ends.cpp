// The end of an object while another thread uses it (gxx_plugin.cpp): a local's at the end of its scope, any other's behind its
// destructor. Each once too early, and once behind the use.
#include <apiary/check.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>

namespace {

// In one granule of the shadow, so that a number which is written over its first half leaves its end standing.
struct alignas(8) noisy {
    std::atomic<int> word{1};
    int plain = 2;
    ~noisy() { word.store(0); }
};

// `life` makes one, hands it over, and ends it.
template <class Life>
void one_is_used_while_it_ends(bool waits, Life life) {
    std::atomic<noisy*> posted{nullptr};
    std::atomic<bool> used{false};
    std::thread a([&] {
        if (noisy* n = posted.load()) (void)n->word.load();
        used.store(true);
    });
    life([&](noisy& n) {
        posted.store(&n);
        while (waits && !used.load()) {
        }
    });
    a.join();
}
void local(const std::function<void(noisy&)>& use) {
    noisy n;
    use(n);
}
void local_that_is_left_by_a_throw(const std::function<void(noisy&)>& use) {
    try {
        noisy n;
        use(n);
        throw std::runtime_error("left");
    } catch (const std::runtime_error&) {
    }
}
void in_a_static_room(const std::function<void(noisy&)>& use) {
    alignas(noisy) static std::byte room[sizeof(noisy)];
    auto* const n = new (room) noisy;
    use(*n);
    n->~noisy();
}
void in_an_optional(const std::function<void(noisy&)>& use) {
    std::optional<noisy> n(std::in_place);
    use(*n);
    n.reset();
}
void in_a_variant(const std::function<void(noisy&)>& use) {
    std::variant<int, noisy> n(std::in_place_type<noisy>);
    use(std::get<noisy>(n));
    n = 3;
}

template <class T, class Use>
void local_is_used_by_a_thread(bool waits, Use use) {
    std::atomic<bool> used{false};
    std::thread a;
    {
        T local{};
        a = std::thread([&] {
            use(local);
            used.store(true);
        });
        while (waits && !used.load()) {
        }
    }
    a.join();
}
const auto set = [](auto& object) { object = 1; };
const auto read_text = [](const std::string& text) { apiary::check(text.empty()); };

}  // namespace

APIARY_FAILING_SCENARIO(local_ends, "the end of this object at model_check/as_it_is/ends.cpp:") {
    one_is_used_while_it_ends(false, local);
}
APIARY_SCENARIO(local_ends_behind_its_use, "local_ends") { one_is_used_while_it_ends(true, local); }
APIARY_FAILING_SCENARIO(local_is_left_by_a_throw, "the end of this object") {
    one_is_used_while_it_ends(false, local_that_is_left_by_a_throw);
}
APIARY_SCENARIO(local_is_left_by_a_throw_behind_its_use, "local_is_left_by_a_throw") {
    one_is_used_while_it_ends(true, local_that_is_left_by_a_throw);
}
APIARY_FAILING_SCENARIO(object_in_a_static_room_ends, "the end of this object") {
    one_is_used_while_it_ends(false, in_a_static_room);
}
APIARY_SCENARIO(object_in_a_static_room_ends_behind_its_use, "object_in_a_static_room_ends") {
    one_is_used_while_it_ends(true, in_a_static_room);
}
APIARY_FAILING_SCENARIO(optional_is_reset, "the end of this object") {
    one_is_used_while_it_ends(false, in_an_optional);
}
APIARY_SCENARIO(optional_is_reset_behind_its_use, "optional_is_reset") {
    one_is_used_while_it_ends(true, in_an_optional);
}
APIARY_FAILING_SCENARIO(variant_changes, "the end of this object") { one_is_used_while_it_ends(false, in_a_variant); }
APIARY_SCENARIO(variant_changes_behind_its_use, "variant_changes") { one_is_used_while_it_ends(true, in_a_variant); }

// Without a destructor that does anything.
APIARY_FAILING_SCENARIO(local_atomic_ends, "the end of this object") {
    local_is_used_by_a_thread<std::atomic<int>>(false, set);
}
APIARY_SCENARIO(local_atomic_ends_behind_its_use, "local_atomic_ends") {
    local_is_used_by_a_thread<std::atomic<int>>(true, set);
}
APIARY_FAILING_SCENARIO(local_number_ends, "access to freed memory") { local_is_used_by_a_thread<int>(false, set); }
APIARY_SCENARIO(local_number_ends_behind_its_use, "local_number_ends") { local_is_used_by_a_thread<int>(true, set); }
APIARY_FAILING_SCENARIO(local_text_ends, "access to freed memory") {
    local_is_used_by_a_thread<std::string>(false, read_text);
}
APIARY_SCENARIO(local_text_ends_behind_its_use, "local_text_ends") {
    local_is_used_by_a_thread<std::string>(true, read_text);
}

APIARY_FAILING_SCENARIO(local_mutex_ends_while_it_is_held, "undefined behaviour: a mutex ends that thread 1 holds") {
    std::thread a([] {
        std::mutex m;
        m.lock();
    });
    a.join();
}

// The owner that counts last ends it: the counts order the uses.
APIARY_SCENARIO(last_owner_ends_it, "owner_counts_relaxed") {
    const auto two = [](std::shared_ptr<noisy> mine) {
        std::thread a([mine] { mine->word.store(2); });
        mine.reset();
        a.join();
    };
    two(std::make_shared<noisy>());
}
namespace {
struct counted {
    std::atomic<int> owners{2};
    noisy held;
    void leave(std::memory_order order) {
        if (owners.fetch_sub(1, order) == 1) std::destroy_at(this);
    }
};
void two_leave(std::memory_order order) {
    alignas(counted) static std::byte room[sizeof(counted)];
    auto* const c = new (room) counted;
    const auto use = [=] {
        c->held.word.store(3);
        c->leave(order);
    };
    std::thread a(use), b(use);
    a.join();
    b.join();
}
}  // namespace
APIARY_SCENARIO(last_one_to_leave_ends_it, "owner_counts_relaxed") { two_leave(std::memory_order_acq_rel); }
APIARY_FAILING_SCENARIO(owner_counts_relaxed, "access to freed memory: the end of this object") {
    two_leave(std::memory_order_release);
}

// A futex is woken by its address, which needs no object there: it may have ended, and another may stand there by then.
namespace {
using word = std::atomic<int>;
std::thread stores_and_wakes(word& w) {
    return std::thread([&w] {
        w.store(1);
        ::syscall(SYS_futex, &w, FUTEX_WAKE_PRIVATE, INT_MAX);
    });
}
void local_is_woken(bool waits) {
    std::thread a;
    {
        word w{0};
        a = stores_and_wakes(w);
        while (waits && w.load() == 0) {
        }
    }
    a.join();
}
void another_stands_where_a_futex_was(bool waits) {
    alignas(word) static std::byte room[sizeof(word)];
    auto* const w = new (room) word(0);
    std::thread a = stores_and_wakes(*w);
    while (waits && w->load() == 0) {
    }
    std::destroy_at(w);
    auto* const next = new (room) word(0);
    std::thread b([next] { next->wait(0); });
    next->store(2);
    next->notify_all();
    a.join();
    b.join();
    apiary::check(next->load() == 2, "the wake wrote");
}
}  // namespace
APIARY_FAILING_SCENARIO(futex_is_freed_before_its_wake, "access to freed memory") {
    auto* const w = new word(0);
    std::thread a = stores_and_wakes(*w);
    while (w->load() == 0) {
    }
    delete w;
    a.join();
}
APIARY_FAILING_SCENARIO(futex_ends_before_its_store, "access to freed memory") { local_is_woken(false); }
APIARY_SCENARIO(futex_is_woken_behind_its_end, "futex_ends_before_its_store") { local_is_woken(true); }
APIARY_FAILING_SCENARIO(futex_is_made_anew_before_its_store, "data race: an atomic write") {
    another_stands_where_a_futex_was(false);
}
APIARY_SCENARIO(futex_is_woken_where_another_stands, "futex_is_made_anew_before_its_store") {
    another_stands_where_a_futex_was(true);
}
