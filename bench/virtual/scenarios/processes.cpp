// processes on the virtual machine, whole: the programs of bench/scenarios that exchange messages.
#include <apiary/schedulers/processes/processes.hpp>

#include "scenarios/msg_crowds.hpp"
#include "scenarios/msg_pairs.hpp"
#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using scheduler_type = basic_processes<S>;
using base = basic_process<S>;
using bench::letter;

constexpr std::uint64_t letters_a_step = 4'096;  // as the subject has it

// What the programs ask of a runtime of processes.
class runtime {
public:
    static constexpr std::string_view name = "processes";
    static std::string version() { return "virtual"; }
    explicit runtime(unsigned) {}
    explicit runtime(scheduler_type& s) : all_(&s) {}

    using address = pid;
    class self {
    public:
        self(base::output& out, bool& has_more) : out_(out), has_more_(has_more) {}
        template <class P>
        address spawn(P process) {
            return out_.spawn(std::make_unique<body<P>>(std::move(process))).id;
        }
        void send(const address& to, letter message) { (void)out_.send(to, message); }
        [[nodiscard]] bool offer(const address& to, letter message) {
            if (offered_++ == letters_a_step) {
                has_more_ = true;
                out_.again();
                return false;
            }
            send(to, message);
            return true;
        }
        [[nodiscard]] address me() const { return out_.self(); }
        void stop() {
            out_.finish();
            stopped_ = true;
        }
        [[nodiscard]] bool stopped() const { return stopped_; }

    private:
        base::output& out_;
        bool& has_more_;
        std::uint64_t offered_ = 0;
        bool stopped_ = false;
    };
    template <class P>
    void begin(P process) {
        (void)all_->spawn(std::make_unique<body<P>>(std::move(process)));
    }

private:
    template <class P>
    class body : public base {
    public:
        explicit body(P process) : process_(std::move(process)) {}
        init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
        void step(events& batch, output& out) override {
            self me(out, has_more_);
            if (!std::exchange(begun_, true)) {
                bench::start_process(process_, me);
            } else if (std::exchange(has_more_, false)) {
                if constexpr (requires { process_.go_on(me); }) process_.go_on(me);
            }
            while (!me.stopped()) {
                event* const e = batch.next();
                if (e == nullptr) return;
                if (const letter* const l = e->data.get<letter>())
                    bench::deliver(process_, me, *l);
                else
                    me.stop();
            }
        }

    private:
        P process_;
        bool begun_ = false, has_more_ = false;
    };

    scheduler_type* all_ = nullptr;
};

}  // namespace
}  // namespace apiary::virt

// The account of an operation, in words of the machine: bench's own is std::atomic.
template <>
class apiary::bench::operation<apiary::virt::runtime> {
    using S = apiary::virt::virtual_sync;

public:
    void open(std::uint64_t processes) {
        sum_.store(0, std::memory_order_relaxed);
        left_.store(processes, std::memory_order_relaxed);
        over_.exchange(0, std::memory_order_relaxed);
        peers.clear();
    }
    void end(apiary::virt::runtime::self& me, std::uint64_t value) {
        me.stop();
        sum_.fetch_add(value, std::memory_order_relaxed);
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        over_.exchange(1, std::memory_order_release);
        over_.wake_one();
    }
    void add(std::uint64_t value) { sum_.fetch_add(value, std::memory_order_relaxed); }
    std::uint64_t wait() {
        while (over_.load(std::memory_order_acquire) == 0) (void)over_.wait(0, S::forever);
        return sum_.load(std::memory_order_relaxed);
    }

    std::vector<pid> peers;

private:
    alignas(cache_line) S::atomic<std::uint64_t> sum_{0};
    S::atomic<std::uint64_t> left_{0};
    alignas(cache_line) S::futex over_{0};
};

namespace apiary::virt {

namespace {

template <class Program>
measured run(machine& m, unsigned workers, std::map<std::string, std::uint64_t> params) {
    using root = typename Program::template on<runtime>::root;
    using operation = bench::operation<runtime>;
    bench::run_options options;
    options.params = std::move(params);
    const Program program(options);
    const made<operation> all;
    const made<scheduler_type> scheduler(basic_process_config<S>{.workers = workers});
    runtime outside(*scheduler);
    const auto once = [&] {
        all->open(program.ends());
        outside.begin(root{all.get(), &program});
        expect_answer(all->wait(), program.answer());
    };
    once();
    const stopwatch watch(m);
    once();
    measured result = watch.stop(program.units());
    scheduler->join();
    return result;
}

measured throughput(machine& m, unsigned workers, bool brief) {
    return run<bench::throughput_program>(m, workers, {{"processes", 60}, {"messages", brief ? 20 : 1000}, {"rounds", 0}});
}
measured create(machine& m, unsigned workers, bool brief) {
    return run<bench::create_program>(m, workers, {{"processes", brief ? 300 : 10'000}});
}

constexpr scenario all[] = {
    {"processes", "msg_create", "process", &create},
    {"processes", "msg_throughput", "message", &throughput},
};

}  // namespace

std::span<const scenario> process_scenarios() { return all; }

}  // namespace apiary::virt
