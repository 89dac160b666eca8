// thread_calls: the library's own calls, of which the program sees others.
#pragma once

#include <pthread.h>
#include <sys/types.h>

namespace apiary::hunt {

struct real_calls {
    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    int (*join)(pthread_t, void**);
    int (*detach)(pthread_t);
    pid_t (*fork)();
};
void find_real_calls();

// Of all threads, on which none runs any more.
std::size_t bytes_of_stacks();
void unmap_stacks();

}  // namespace apiary::hunt
