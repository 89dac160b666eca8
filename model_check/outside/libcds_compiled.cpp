// libcds's hazard pointers: their code is in libcds.so, and its sources are compiled in here, unchanged.
#include <apiary/check.hpp>

#include <cds/gc/hp.h>
#include <cds/init.h>

#include <atomic>
#include <thread>

namespace {
struct node {
    int value = 1;
    ~node() { value = 0; }
};
struct ends {
    void operator()(node* n) const { delete n; }
};
struct attached {
    attached() { cds::gc::hp::smr::attach_thread(); }
    ~attached() { cds::gc::hp::smr::detach_thread(); }
};

// One reads what it has guarded, as protect() does it; another one replaces, retires and disposes of it.
void read_while_it_is_retired(bool fences) {
    cds::gc::HP reclaimer(1, 2, 2);
    std::atomic<node*> shared{new node};
    std::thread reader([&] {
        const attached here;
        cds::gc::HP::Guard guard;
        node* p = nullptr;
        if (fences)
            do {
                p = guard.assign(shared.load(std::memory_order_relaxed));
                std::atomic_thread_fence(std::memory_order_seq_cst);
            } while (p != shared.load(std::memory_order_acquire));
        else
            p = guard.protect(shared);
        apiary::check(p->value == 1, "freed while it is guarded");
    });
    {
        const attached here;
        node* const old = shared.exchange(new node, std::memory_order_acq_rel);
        if (fences) std::atomic_thread_fence(std::memory_order_seq_cst);
        cds::gc::HP::retire<ends>(old);
        cds::gc::HP::force_dispose();
        reader.join();
    }
    delete shared.load();
}

// Of two that are retired the second is guarded.
void second_is_guarded(cds::gc::HP::scan_type scan) {
    cds::gc::HP reclaimer(1, 2, 2, scan);
    std::thread other([&] {
        const attached here;
        node *const first = new node, *const second = new node;
        {
            cds::gc::HP::Guard guard;
            guard.assign(second);
            cds::gc::HP::retire<ends>(first);
            cds::gc::HP::retire<ends>(second);
            cds::gc::HP::force_dispose();
            apiary::check(second->value == 1, "freed while it is guarded");
        }
        cds::gc::HP::force_dispose();
    });
    other.join();
}
}  // namespace

APIARY_FAILING_SCENARIO(libcds_hazard_pointer, "access to freed memory") { read_while_it_is_retired(false); }
// What the fences leave: a scan reads relaxed that a guard was given up, and that its thread has gone.
APIARY_FAILING_SCENARIO(libcds_hazard_pointer_with_fences, "access to freed memory") { read_while_it_is_retired(true); }
APIARY_FAILING_SCENARIO(libcds_classic_scan, "access to freed memory") { second_is_guarded(cds::gc::HP::scan_type::classic); }
APIARY_SCENARIO(libcds_inplace_scan, "libcds_classic_scan") { second_is_guarded(cds::gc::HP::scan_type::inplace); }
