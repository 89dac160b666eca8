// The other checks of facade_misbehaving: scopes, memory as bytes, and a pointer of each thread's own. What the
// explorer alone has to see of them (reuse of a place, a race with the end) is in its own tests.
#include <array>

#include <apiary/model_check/register.hpp>

namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto release = std::memory_order_release;

template <class Sync>
struct node {
    typename Sync::template atomic<int> word{1};
    typename Sync::template cell<int> data{2};
};

template <class Sync>
struct two_threads {
    static constexpr const char* what = "one thread has an object, the other uses it";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    typename Sync::template atomic<node<Sync>*> posted{nullptr};
    typename Sync::template atomic<bool> used{false};

    node<Sync>& get() {
        return *Sync::spin_until(posted, [](auto* p) { return p != nullptr; });
    }
};

template <class Sync, bool Waits, bool Cell>
struct scope_ends : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            typename Sync::template scoped<node<Sync>> mine;
            this->posted.store(&*mine, release);
            if (Waits) Sync::spin_until(this->used, [](bool u) { return u; });
        } else {
            if (Cell)
                (void)this->get().data.read();
            else
                (void)this->get().word.load(relaxed);
            this->used.store(true, release);
        }
    }
};
template <class Sync>
struct atomic_of_an_ended_scope : scope_ends<Sync, false, false> {};
APIARY_CHECK(atomic_of_an_ended_scope);
template <class Sync>
struct cell_of_an_ended_scope : scope_ends<Sync, false, true> {};
APIARY_CHECK(cell_of_an_ended_scope);
template <class Sync>
struct scope_that_waits : scope_ends<Sync, true, true> {};
APIARY_CHECK(scope_that_waits);

// What one thread does with bytes; the other only stores to a word.
template <class Sync, auto Body>
struct bytes : two_threads<Sync> {
    void thread(unsigned i) {
        this->used.store(true, relaxed);
        if (i == 0) Body(Sync::allocate(sizeof(node<Sync>), alignof(node<Sync>)));
    }
};
template <class Sync>
void back(void* p, std::size_t more = 0, std::size_t aligned = alignof(node<Sync>)) {
    Sync::deallocate(p, sizeof(node<Sync>) + more, aligned);
}
template <class Sync>
struct bytes_leak : bytes<Sync, [](void*) {}> {};
APIARY_CHECK(bytes_leak);
template <class Sync>
struct bytes_twice : bytes<Sync, [](void* p) { back<Sync>(p), back<Sync>(p); }> {};
APIARY_CHECK(bytes_twice);
template <class Sync>
struct bytes_of_another_size : bytes<Sync, [](void* p) { back<Sync>(p, 8); }> {};
APIARY_CHECK(bytes_of_another_size);
template <class Sync>
struct bytes_of_another_alignment : bytes<Sync, [](void* p) { back<Sync>(p, 0, 64); }> {};
APIARY_CHECK(bytes_of_another_alignment);
template <class Sync>
struct bytes_none : bytes<Sync, [](void* p) { back<Sync>(p), back<Sync>(nullptr); }> {};
APIARY_CHECK(bytes_none);

template <class Sync, bool Waits>
struct object_in_bytes : two_threads<Sync> {
    static constexpr std::size_t aligned = 64;
    void thread(unsigned i) {
        if (i == 0) {
            void* const memory = Sync::allocate(sizeof(node<Sync>), aligned);
            Sync::law(reinterpret_cast<std::uintptr_t>(memory) % aligned == 0, "memory is aligned as was asked");
            auto* const p = new (memory) node<Sync>;
            this->posted.store(p, release);
            if (Waits) Sync::spin_until(this->used, [](bool u) { return u; });
            p->~node();
            Sync::deallocate(p, sizeof(node<Sync>), aligned);
        } else {
            (void)this->get().word.load(relaxed);
            this->used.store(true, release);
        }
    }
};
template <class Sync>
struct object_in_bytes_given_back : object_in_bytes<Sync, false> {};
APIARY_CHECK(object_in_bytes_given_back);
template <class Sync>
struct object_in_bytes_that_waits : object_in_bytes<Sync, true> {};
APIARY_CHECK(object_in_bytes_that_waits);

// A node that is taken out and constructed again in its place, for its next owner, while a reader may still be at the old one.
template <class Sync, bool Waits>
struct constructed_anew {
    static constexpr const char* what = "an object is constructed where another was";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    typename Sync::template atomic<node<Sync>*> head{nullptr};
    typename Sync::template atomic<bool> used{false};
    void* memory = nullptr;
    void before() {
        memory = Sync::allocate(sizeof(node<Sync>), alignof(node<Sync>));
        head.store(new (memory) node<Sync>, relaxed);
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (node<Sync>* n = head.load(std::memory_order_acquire)) (void)n->data.read();
            used.store(true, release);
        } else if (node<Sync>* n = head.exchange(nullptr, std::memory_order_acq_rel)) {
            if (Waits) Sync::spin_until(used, [](bool u) { return u; });
            n->~node();
            head.store(new (memory) node<Sync>, release);
        }
    }
    void after() {
        head.load(relaxed)->~node();
        Sync::deallocate(memory, sizeof(node<Sync>), alignof(node<Sync>));
    }
};
template <class Sync>
struct constructed_anew_too_early : constructed_anew<Sync, false> {};
APIARY_CHECK(constructed_anew_too_early);
template <class Sync>
struct constructed_anew_behind_its_use : constructed_anew<Sync, true> {};
APIARY_CHECK(constructed_anew_behind_its_use);

// Nothing says that the old one ends.
template <class Sync>
struct constructed_over : constructed_anew<Sync, false> {
    void thread(unsigned i) {
        if (i == 0) return constructed_anew<Sync, false>::thread(i);
        if (this->head.exchange(nullptr, std::memory_order_acq_rel) != nullptr)
            this->head.store(new (this->memory) node<Sync>, release);
    }
};
APIARY_CHECK(constructed_over, model::explorer_only);

// The same where nothing is constructed in its place: an object of its own ends, or a thread's local does.
template <class Sync, bool Waits>
struct ends_in_place : constructed_anew<Sync, Waits> {
    static constexpr const char* what = "an object ends that another thread uses";
    void thread(unsigned i) {
        if (i == 0) {
            if (node<Sync>* n = this->head.load(std::memory_order_acquire)) (void)n->word.load(relaxed);
            this->used.store(true, release);
        } else if (node<Sync>* n = this->head.exchange(nullptr, std::memory_order_acq_rel)) {
            if (Waits) Sync::spin_until(this->used, [](bool u) { return u; });
            n->~node();
        }
    }
    void after() { Sync::deallocate(this->memory, sizeof(node<Sync>), alignof(node<Sync>)); }
};
template <class Sync>
struct ends_too_early : ends_in_place<Sync, false> {};
APIARY_CHECK(ends_too_early);
template <class Sync>
struct ends_behind_its_use : ends_in_place<Sync, true> {};
APIARY_CHECK(ends_behind_its_use);

template <class Sync, bool Waits, bool Cell>
struct local_ends : two_threads<Sync> {
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i == 0) {
            node<Sync> mine;
            this->posted.store(&mine, release);
            if (Waits) Sync::spin_until(this->used, [](bool u) { return u; });
        } else {
            if (Cell)
                (void)this->get().data.read();
            else
                (void)this->get().word.load(relaxed);
            this->used.store(true, release);
        }
    }
};
template <class Sync>
struct atomic_of_an_ended_local : local_ends<Sync, false, false> {};
APIARY_CHECK(atomic_of_an_ended_local, model::explorer_only);
template <class Sync>
struct cell_of_an_ended_local : local_ends<Sync, false, true> {};
APIARY_CHECK(cell_of_an_ended_local, model::explorer_only);
template <class Sync>
struct local_that_waits : local_ends<Sync, true, true> {};
APIARY_CHECK(local_that_waits, model::explorer_only);

// Each thread says which worker it is, gives way, and asks.
template <class Sync, bool Plain>
struct own_worker {
    static constexpr const char* what = "each thread keeps a pointer of its own";
    static constexpr unsigned threads = 2;
    struct worker {};
    struct of_another_type {};
    static inline thread_local worker* here = nullptr;
    typename Sync::template atomic<int> turns{0};
    std::array<worker, 2> workers;

    static worker* mine() { return Plain ? here : Sync::template current<worker>(); }
    void thread(unsigned i) {
        if (Plain)
            here = &workers[i];
        else
            Sync::law(mine() == nullptr, "a slot is empty when an execution begins"), Sync::set_current(&workers[i]);
        turns.fetch_add(1, std::memory_order_acq_rel);
        Sync::law(mine() == &workers[i], "a thread sees the pointer of another");
        Sync::law(Plain || Sync::template current<of_another_type>() == nullptr, "types share a slot");
    }
};
template <class Sync>
struct worker_by_thread_local : own_worker<Sync, true> {};
APIARY_EXHIBIT(worker_by_thread_local, "the pointer of another");
template <class Sync>
struct worker_by_current : own_worker<Sync, false> {
    void before() {
        Sync::law(this->mine() == nullptr, "the set-up has a slot of its own, empty");
        Sync::set_current(&this->workers[0]);
    }
    void after() { Sync::law(this->mine() == &this->workers[0], "and keeps it"); }
};
APIARY_CHECK(worker_by_current);

}  // namespace
