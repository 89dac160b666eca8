// Debian's atomic_queue of 2022-05-18: pop does not acquire, so the item is read before it is there.
#include <atomic_queue/atomic_queue.h>

#include <cstdlib>
#include <thread>

struct item {
    int v;
};
atomic_queue::AtomicQueue<item*, 8> queue;

int main() {
    std::jthread a([] {
        for (int i = 1; i < 4; ++i) queue.push(new item{i});
    });
    std::jthread b([] {
        for (int i = 1; i < 4; ++i) {
            item* const p = queue.pop();
            if (p->v != i) std::abort();
            delete p;
        }
    });
}
