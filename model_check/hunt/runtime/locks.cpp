// locks: see the header.
#include "locks.hpp"

namespace apiary::hunt {

lock_result take(thread& t, lock_state& l, std::uint64_t deadline) {
    if (l.owner == t.id() + 1) return lock_result::is_mine;
    while (!is_free(l)) {
        if (the_scheduler.now >= deadline) return lock_result::timed_out;
        if (!the_scheduler.wait(t, &l, deadline, l.owner) && !is_free(l)) return lock_result::timed_out;
    }
    l.owner = t.id() + 1;
    l.count = 1;
    weak_memory::acquire(t.sees, l.released);
    weak_memory::acquire(t.sees, l.released_by_readers);
    the_scheduler.changed(t);
    return lock_result::taken;
}

lock_result take_shared(thread& t, lock_state& l, std::uint64_t deadline) {
    if (l.owner == t.id() + 1) return lock_result::is_mine;
    while (l.owner != 0) {
        if (the_scheduler.now >= deadline) return lock_result::timed_out;
        if (!the_scheduler.wait(t, &l, deadline, l.owner) && l.owner != 0) return lock_result::timed_out;
    }
    ++l.readers;
    weak_memory::acquire(t.sees, l.released);
    the_scheduler.changed(t);
    return lock_result::taken;
}

void give_back(thread& t, lock_state& l) {
    the_scheduler.changed(t);
    l.owner = 0;
    l.count = 0;
    l.released_by_readers.clear();
    l.released.clear();  // the owner knows what it acquired here
    weak_memory::release(t.sees, l.released);
    the_scheduler.wake_all(&l);
}

void give_back_shared(thread& t, lock_state& l) {
    the_scheduler.changed(t);
    --l.readers;
    weak_memory::release(t.sees, l.released_by_readers);
    the_scheduler.wake_all(&l);
}

void misuse(thread& t, std::uintptr_t place, const char* what, const volatile void* object) {
    say("%s, %p, by thread %u\n", what, const_cast<const void*>(object), t.id());
    tell_stack(t, place);
    report->where[0] = place;
    found(ending::misuse);
}

}  // namespace apiary::hunt
