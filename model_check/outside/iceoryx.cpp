// iceoryx's queues of libiceoryx-hoofs-dev, unchanged.
#include <apiary/check.hpp>

#include <iceoryx_hoofs/concurrent/lockfree_queue.hpp>
#include <iceoryx_hoofs/internal/concurrent/fifo.hpp>
#include <iceoryx_hoofs/internal/concurrent/sofi.hpp>
#include <iceoryx_hoofs/internal/concurrent/taco.hpp>

#include <cstdint>
#include <thread>

// What their contracts call; it is in libiceoryx_hoofs.so, which is not instrumented.
namespace iox::cxx::internal {
void Require(bool holds, const char*, int, const char*, const char*) noexcept {
    apiary::check(holds, "a contract is broken");
}
}  // namespace iox::cxx::internal

namespace {
// As many go in as the queue holds, and one more, which comes into a slot that was emptied; or no more than it holds.
template <unsigned Capacity>
void fifo_of(int values) {
    iox::concurrent::FiFo<int, Capacity> q;
    std::thread producer([&] {
        for (int k = 1; k <= values; ++k) (void)q.push(k);
    });
    int last = 0;
    for (int k = 0; k < 2; ++k)
        if (const auto got = q.pop()) {
            apiary::check(*got > last, "out of order");
            last = *got;
        }
    producer.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(iceoryx_fifo, "data race") { fifo_of<2>(3); }
APIARY_SCENARIO(iceoryx_fifo_never_comes_round, "iceoryx_fifo") { fifo_of<2>(2); }

namespace {
// It gives the oldest value back when it is full.
template <unsigned Capacity>
void sofi_of(int values) {
    iox::concurrent::SoFi<int, Capacity> q;
    std::thread producer([&] {
        for (int k = 1, over = 0; k <= values; ++k) (void)q.push(k, over);
    });
    int got = 0;
    if (q.pop(got)) apiary::check(got >= 1 && got <= values, "what nobody pushed");
    producer.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(iceoryx_sofi, "data race") { sofi_of<1>(3); }
APIARY_SCENARIO(iceoryx_sofi_never_full, "iceoryx_sofi") { sofi_of<3>(3); }

namespace {
// One pushes, one pops.
void queue_hands_over(int values) {
    iox::concurrent::LockFreeQueue<int, 2> q;
    std::thread producer([&] {
        for (int k = 1; k <= values; ++k) apiary::check(q.tryPush(k) || k > 2, "full although it is not");
    });
    int last = 0;
    for (int k = 0; k < values; ++k)
        if (const auto got = q.pop()) {
            apiary::check(*got > last, "out of order");
            last = *got;
        }
    producer.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(iceoryx_lock_free_queue, "data race") { queue_hands_over(3); }
APIARY_SCENARIO(iceoryx_lock_free_queue_never_comes_round, "iceoryx_lock_free_queue") { queue_hands_over(2); }

namespace {
enum class side : std::uint32_t { giver, taker, END_OF_LIST };
}  // namespace
APIARY_SCENARIO(iceoryx_taco, "iceoryx_fifo") {
    iox::concurrent::TACO<int, side> taco(iox::concurrent::TACOMode::DenyDataFromSameContext);
    std::thread giver([&] {
        taco.store(1, side::giver);
        taco.store(2, side::giver);
    });
    int last = 0;
    for (int k = 0; k < 2; ++k)
        if (const auto got = taco.take(side::taker)) {
            apiary::check(*got > last, "older than the last");
            last = *got;
        }
    giver.join();
}
