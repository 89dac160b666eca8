// Scopes and bytes under the explorer: what is reported of them, which memory comes back, and that a scope costs no graphs.
#include <cstdio>
#include <string>
#include <utility>

#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/complaints.hpp>

namespace {

using namespace apiary::model;
using sync = explorer_sync;

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto acq = std::memory_order_acquire;
constexpr auto rel = std::memory_order_release;

template <class Check>
void must_fail(const char* name, const char* reason, const char* in_trace = "") {
    const auto fails = [&](const verdict& v) {
        return v.result == outcome::fail && v.reason.find(reason) != std::string::npos;
    };
    const verdict v = run_explorer<Check>({});
    expect(fails(v), std::string(name) + " fails with '" + reason + "', but: " + v.reason);
    expect(v.trace.find(in_trace) != std::string::npos, std::string(name) + "'s trace tells of '" + in_trace + "'");
    search_options again;
    again.replay = v.replay;
    expect(fails(run_explorer<Check>(again)), std::string(name) + " replays " + v.replay);
}

template <class Check>
void must_pass(const char* name, const search_options& o = {}) {
    const verdict v = run_explorer<Check>(o);
    expect(v.result == outcome::pass, std::string(name) + " passes, but: " + v.reason + "\n" + v.trace);
    expect(v.executions == v.graphs + v.blocked, std::string(name) + " explores nothing twice");
}

struct node {
    sync::atomic<int> word{0};
};
using scope = sync::scoped<node>;

struct two_threads {
    static constexpr unsigned threads = 2;
    sync::atomic<node*> posted{nullptr};
    sync::atomic<bool> over{false};
};

// The use comes after the end by happens-before: no race, and wrong all the same.
struct use_behind_the_end : two_threads {
    void thread(unsigned i) {
        if (i == 0) {
            {
                scope mine;
                posted.store(&*mine, rlx);
            }
            over.store(true, rel);
        } else if (over.load(acq)) {
            posted.load(rlx)->word.store(1, rlx);
        }
    }
};

// The end comes after the use in every execution, and nothing orders the two.
struct end_that_acquires_nothing : two_threads {
    void thread(unsigned i) {
        if (i == 0) {
            scope mine;
            posted.store(&*mine, rel);
            while (!over.load(rlx)) sync::spin_until(over, [](bool o) { return o; });
        } else if (node* p = posted.load(acq)) {
            over.store(true, rlx);
            p->word.store(1, rlx);
        } else {
            over.store(true, rlx);
        }
    }
};

struct own_thread_keeps_a_pointer : two_threads {
    void thread(unsigned i) {
        if (i == 1) return (void)over.load(rlx);
        node* gone = nullptr;
        {
            scope mine;
            gone = &*mine;
        }
        (void)gone->word.load(rlx);
    }
};

// The late use comes when the same thread has its next scope, which may lie at the same place.
struct use_in_the_next_scope : two_threads {
    void thread(unsigned i) {
        if (i == 0) {
            {
                scope first;
                posted.store(&*first, rel);
            }
            scope second;
            over.store(true, rel);
            sync::spin_until(over, [](bool o) { return !o; });
        } else {
            node* p = sync::spin_until(posted, [](node* n) { return n != nullptr; });
            sync::spin_until(over, [](bool o) { return o; });
            p->word.store(1, rlx);
            over.store(false, rel);
        }
    }
};

// Two objects, the second when the first has gone: of one thread, of two threads, of heap and stack.
template <class First, class Second, bool OneThread>
struct one_after_the_other : two_threads {
    const void *first = nullptr, *second = nullptr;
    void thread(unsigned i) {
        if (i == 0) {
            first = First::address();
            if (OneThread) second = Second::address();
            over.store(true, rel);
        } else {
            sync::spin_until(over, [](bool o) { return o; });
            if (!OneThread) second = Second::address();
            sync::law(first != second, "the same place");
        }
    }
};
struct on_the_stack {
    static const void* address() {
        const scope s;
        return &*s;
    }
};
struct on_the_heap {
    static const void* address() {
        node* p = sync::create<node>();
        sync::destroy(p);
        return p;
    }
};
struct as_bytes {
    static const void* address() {
        void* p = sync::allocate(sizeof(node), alignof(node));
        sync::deallocate(p, sizeof(node), alignof(node));
        return p;
    }
};

template <auto Body>
struct alone : two_threads {
    void thread(unsigned i) {
        over.store(i == 0, rlx);
        if (i == 0) Body();
    }
};

// The same race of two threads for a word, with and without a scope in each.
template <bool Scopes>
struct adds_in_a_frame : two_threads {
    sync::atomic<int> sum{0};
    void thread(unsigned) {
        if (Scopes) {
            scope mine;
            mine->word.store(1, rlx);
            sum.fetch_add(mine->word.load(rlx), rlx);
        } else {
            sum.fetch_add(1, rlx);
        }
        (void)sum.load(rlx);
    }
};

void scopes() {
    must_fail<use_behind_the_end>("use_behind_the_end", "after the scope of a", "end scope");
    must_fail<end_that_acquires_nothing>("end_that_acquires_nothing", "the use does not happen before");
    must_fail<own_thread_keeps_a_pointer>("own_thread_keeps_a_pointer", "access to freed memory");
    must_fail<use_in_the_next_scope>("use_in_the_next_scope", "access to freed memory");
    must_fail<alone<[] {
        scope mine;
        sync::destroy(&*mine);
    }>>("a scope's object is destroyed", "bad destroy");

    const std::uint64_t with = run_explorer<adds_in_a_frame<true>>({}).graphs,
                        without = run_explorer<adds_in_a_frame<false>>({}).graphs;
    expect(with == without && with > 1,
           "scopes cost no graphs: " + std::to_string(with) + " with, " + std::to_string(without) + " without");
}

void bytes() {
    must_fail<alone<[] { sync::destroy(static_cast<node*>(sync::allocate(sizeof(node), alignof(node)))); }>>(
        "bytes are destroyed", "bad destroy");
    must_fail<alone<[] { sync::deallocate(sync::create<node>(), sizeof(node), alignof(node)); }>>(
        "an object is given back as bytes", "bad deallocate");
    must_fail<alone<[] { sync::deallocate(static_cast<char*>(sync::allocate(16, 8)) + 8, 8, 8); }>>(
        "a part is given back", "bad deallocate");
    must_pass<alone<[] { sync::deallocate(sync::allocate(0, 1), 0, 1); }>>("no bytes");
}

void places() {
    must_fail<one_after_the_other<on_the_stack, on_the_stack, true>>("a frame where the last one lay",
                                                                     "the same place");
    must_fail<one_after_the_other<on_the_heap, as_bytes, false>>("bytes from another thread's heap", "the same place");
    must_pass<one_after_the_other<on_the_stack, on_the_stack, false>>("no stack is another's");
    must_pass<one_after_the_other<on_the_heap, on_the_stack, true>>("no stack is heap");
    must_pass<one_after_the_other<on_the_stack, as_bytes, false>>("no heap is stack");
    search_options o;
    o.bounds.reuses = 0;
    must_pass<one_after_the_other<on_the_stack, on_the_stack, true>>("nothing is reused", o);
}

}  // namespace

int main() {
    scopes();
    bytes();
    places();
    return apiary::model::told();
}
