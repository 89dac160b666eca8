// Subject `boost_fiber`: Boost.Fiber on N threads. A process is a detached fiber on a stack of 16 KiB, its mailbox a
// buffered_channel, which makes the sender wait when it is full.
//
// The threads share fibers by the library's work_stealing, as its own measurements do. One thread alone uses
// round_robin, the library's default, because a thief without others looks for a victim for ever. Idle thieves look
// again and again, which is their default, too. Letters in a circle of full mailboxes would wait for ever, so `big` is
// unsupported. More than 262,144 processes are unsupported, too: each keeps 7 to 12 kB. Tasks cannot be posted to it.
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

namespace {

using apiary::bench::letter;
namespace fibers = boost::fibers;

class fiber_threads {
    using mailbox = fibers::buffered_channel<letter>;
    static constexpr std::size_t letters = 128, stack_bytes = 16 * 1024;

public:
    static constexpr std::string_view name = "boost_fiber";
    static constexpr bool sends_wait = true;
    static constexpr std::uint64_t most_processes = 1 << 18;
    static std::string version() {
        return std::to_string(BOOST_VERSION / 100'000) + "." + std::to_string(BOOST_VERSION / 100 % 1'000) + "." +
               std::to_string(BOOST_VERSION % 100);
    }

    explicit fiber_threads(unsigned workers) : ready_(workers), left_(workers) {
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this, workers] { work(workers); });
    }
    ~fiber_threads() {
        // The last fibers have ended for the account, but may not have returned.
        while (living_.load(std::memory_order_acquire) != 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
        starts_.close();
        for (std::thread& t : threads_) t.join();
    }

    using address = std::shared_ptr<mailbox>;

    class self {
    public:
        self(fiber_threads& all, const address& me) : all_(all), me_(me) {}

        template <class P>
        address spawn(P process) {
            return all_.launch(std::move(process));
        }
        void send(const address& to, letter message) { (void)to->push(message); }
        address me() const { return me_; }
        void stop() { stopped_ = true; }
        [[nodiscard]] bool stopped() const { return stopped_; }

    private:
        fiber_threads& all_;
        const address& me_;
        bool stopped_ = false;
    };

    // The main thread has no fibers to share: one of the others starts it.
    template <class P>
    void begin(P process) {
        (void)starts_.push([this, process]() mutable { (void)launch(std::move(process)); });
    }

private:
    template <class P>
    address launch(P process) {
        living_.fetch_add(1, std::memory_order_relaxed);
        auto box = std::make_shared<mailbox>(letters);
        fibers::fiber(fibers::launch::post, std::allocator_arg, fibers::fixedsize_stack(stack_bytes),
                      [this, box, mine = std::move(process)]() mutable {
                          live(mine, box);
                          living_.fetch_sub(1, std::memory_order_release);
                      })
            .detach();
        return box;
    }

    template <class P>
    void live(P& process, const address& box) {
        self me(*this, box);
        apiary::bench::start_process(process, me);
        letter message;
        while (!me.stopped() && box->pop(message) == fibers::channel_op_status::success)
            hand_over(process, me, message);
    }
    // Out of line: a fiber may have changed its thread since the last letter, and the slow-down counts for each thread.
    template <class P>
    [[gnu::noinline]] static void hand_over(P& process, self& me, letter message) {
        apiary::bench::deliver(process, me, message);
    }

    void work(unsigned workers) {
        if (workers > 1) fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
        ready_.arrive_and_wait();  // a thief may look at any of them
        std::function<void()> start;
        while (starts_.pop(start) == fibers::channel_op_status::success) start();
        left_.arrive_and_wait();
    }

    fibers::buffered_channel<std::function<void()>> starts_{2};
    std::atomic<std::uint64_t> living_{0};
    std::latch ready_, left_;
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<fiber_threads>(argc, argv); }
