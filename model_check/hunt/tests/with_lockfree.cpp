// A pop from Boost.Lockfree's queue into a pointer that owns: what it copies before its exchange, which may fail, frees
// what the queue still has. With the argument `raw`, into one that does not.
#include <boost/lockfree/queue.hpp>

#include <cassert>
#include <memory>

int main(int argc, char**) {
    boost::lockfree::queue<int*> queue(1);
    queue.push(new int(1));
    std::unique_ptr<int> mine;
    int* raw = nullptr;
    if (argc > 1) {
        queue.pop(raw);
        mine.reset(raw);
    } else {
        queue.pop(mine);
    }
    assert(*mine == 1);
}
