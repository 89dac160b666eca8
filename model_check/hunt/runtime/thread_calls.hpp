// thread_calls: the library's own calls, of which the program sees others.
#pragma once

#include <pthread.h>
#include <sys/types.h>

namespace apiary::hunt {

struct thread;

struct real_calls {
    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    int (*join)(pthread_t, void**);
    int (*detach)(pthread_t);
    pid_t (*fork)();
};
void find_real_calls();

// The thread that calls: its end in the library, once its destructors have run, is the scheduler's `ends`.
void tells_its_end(thread& t);
// Of all threads, on which none runs any more.
std::size_t bytes_of_stacks();
void unmap_stacks();

}  // namespace apiary::hunt
