// iceoryx's list of free indices: its code is in libiceoryx_hoofs.so, and its sources are compiled in here, unchanged.
#include <apiary/check.hpp>

#include <iceoryx_hoofs/internal/concurrent/loffli.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

// What their contracts call: the library's own prints and ends the process.
namespace iox::cxx::internal {
void Require(bool holds, const char*, int, const char*, const char*) noexcept {
    apiary::check(holds, "a contract is broken");
}
}  // namespace iox::cxx::internal

namespace {
struct indices {
    explicit indices(std::uint32_t capacity) { list.init(memory, capacity); }
    std::uint32_t take() {
        std::uint32_t got = 9;
        apiary::check(list.pop(got), "empty although it is not");
        return got;
    }
    void give(std::uint32_t index) { apiary::check(list.push(index), "not taken back"); }
    std::uint32_t memory[4] = {};
    iox::concurrent::LoFFLi list;
};
const indices made_before_main(1);  // the library's table of segments, of 10,000 entries, is made with the first one
}  // namespace

// One gives an index back while another one takes the next.
APIARY_SCENARIO(iceoryx_loffli_one_takes, "iceoryx_loffli_two_take") {
    indices of(2);
    const std::uint32_t first = of.take();
    std::thread a([&] { of.give(first); });
    const std::uint32_t second = of.take();
    a.join();
    apiary::check(of.take() != second, "one index twice");
}
// Each reads which index comes next. Two read it of one index; the one that gets that index writes there.
APIARY_FAILING_SCENARIO(iceoryx_loffli_two_take, "data race") {
    indices of(2);
    std::uint32_t got[2] = {};
    std::thread a([&] { got[0] = of.take(); }), b([&] { got[1] = of.take(); });
    a.join();
    b.join();
    apiary::check(got[0] != got[1], "one index twice");
}
// An index goes to another thread by relaxed operations, and that one gives it back.
APIARY_FAILING_SCENARIO(iceoryx_loffli_handed_over, "data race") {
    indices of(2);
    std::atomic<std::uint32_t> handed{9};
    std::thread a([&] { handed.store(of.take(), std::memory_order_relaxed); });
    const std::uint32_t got = handed.load(std::memory_order_relaxed);
    if (got != 9) of.give(got);
    a.join();
}
