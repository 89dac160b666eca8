// enkiTS 52: a pipe of two slots, one writer and one reader. In its first use, and where the writer takes its own item back.
#include <cassert>
#include <cstdint>
#include <cstring>
#include <thread>

#include <LockLessMultiReadPipe.h>
#include <apiary/check.hpp>

namespace {
struct item {
    int value = 0;
};
using two_slots = enki::LockLessMultiReadPipe<1, item>;
void read(two_slots& p) {
    if (item got; p.ReaderTryReadBack(&got)) apiary::check(got.value == 1 || got.value == 2, "what nobody wrote");
}
}  // namespace

APIARY_SCENARIO(first_use) {
    static two_slots p;
    std::thread reader([] { read(p); });
    p.WriterTryWriteFront(item{1});
    reader.join();
}
APIARY_SCENARIO(used_again) {
    static two_slots p;
    std::thread reader([] { read(p); });
    p.WriterTryWriteFront(item{1});
    if (item back; p.WriterTryReadFront(&back)) p.WriterTryWriteFront(item{2});
    reader.join();
}
