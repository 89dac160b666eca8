// Subject `coro_pool`: this project's coroutines, with N workers; the main thread, which waits, is none of them.
// Subject `coro_pool_heap`: the same with every frame from the heap (APIARY_CORO_HEAP).
#include "subjects/coro_pool.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
#if defined(APIARY_CORO_HEAP)
    using sync = apiary::heap_frames;
#else
    using sync = apiary::real_sync;
#endif
    return apiary::bench::subject_main<apiary::bench::coro_pool_adapter<apiary::bench::real_host, sync>>(argc, argv);
}
