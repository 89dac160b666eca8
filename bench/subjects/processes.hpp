// The adapter of processes: this project's scheduler of message-driven processes, on a host (apiary/bench/real_host.hpp).
//
// A process of a program is one process; a letter is a message that lies in its event. The first step runs `start`.
// Tasks cannot be posted to it. A process that fails throws out of its step.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/bench/messages.hpp>
#include <apiary/bench/scenario.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>

namespace apiary::bench {

template <class Host>
class process_adapter {
    using S = typename Host::sync;
    using scheduler = basic_processes<S>;
    using process_type = basic_process<S>;
    using supervisor_type = basic_supervisor<S>;

public:
    using host = Host;
    static constexpr std::string_view name = "processes";
    static std::string version() { return APIARY_VERSION; }

    // The seed's two choices, which are off unless set; the defaults ship. And the number of letters that a step sends
    // before it lets others run: 256 KiB of them, so receivers read them from the second cache; 0: all that it has.
    static constexpr std::array tunables{
        parameter{.name = "wakes_into_pool", .standard = 0, .least = 0, .most = 1},
        parameter{.name = "seed_spinning", .standard = 0, .least = 0, .most = 1},
        parameter{.name = "letters_a_step", .standard = 4'096, .least = 0, .most = 1 << 20},
    };
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "letters_a_step")
            letters_a_step = value;
        else
            (which == "wakes_into_pool" ? into_pool : spins) = value != 0;
    }

    explicit process_adapter(unsigned workers)
        : all_(basic_process_config<S>{.workers = workers,
                .parameters = spins ? seed_spinning() : process_parameters,
                .wakes_into_pool = into_pool}) {}

    using address = pid;

    class self {
    public:
        self(typename process_type::output& out, bool& has_more) : out_(out), has_more_(has_more) {}

        template <class P>
        address spawn(P process) {
            return out_.spawn(std::make_unique<body<P>>(std::move(process))).id;
        }
        void send(const address& to, letter message) { (void)out_.send(to, message); }
        [[nodiscard]] bool offer(const address& to, letter message) {
            if (letters_a_step != 0 && offered_++ == letters_a_step) {
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

        template <class Make>
        void supervise(std::uint64_t count, std::uint64_t restarts, Make make) {
            std::vector<typename supervisor_type::child> children;
            for (std::uint64_t i = 0; i != count; ++i)
                children.push_back({[make, i] { return std::make_unique<body<decltype(make(i))>>(make(i)); }});
            const typename supervisor_type::options limit{.restarts = static_cast<unsigned>(restarts),
                                                    .within_ns = 1'000'000'000};
            (void)out_.spawn(std::make_unique<supervisor_type>(std::move(children), limit));
        }
        [[noreturn]] void fail() { throw failed(); }

    private:
        struct failed {};

        typename process_type::output& out_;
        bool& has_more_;
        std::uint64_t offered_ = 0;
        bool stopped_ = false;
    };

    template <class P>
    void begin(P process) {
        (void)all_.spawn(std::make_unique<body<P>>(std::move(process)));
    }

private:
    template <class P>
    class body : public process_type {
    public:
        explicit body(P process) : process_(std::move(process)) {}
        init_answer init(typename process_type::context&, std::string_view, payload) override {
            return init_answer::ready;
        }
        void step(typename process_type::events& batch, typename process_type::output& out) override {
            self me(out, has_more_);
            if (!std::exchange(begun_, true)) {
                start_process(process_, me);
            } else if (std::exchange(has_more_, false)) {
                if constexpr (requires { process_.go_on(me); }) process_.go_on(me);
            }
            while (!me.stopped()) {
                event* const e = batch.next();
                if (e == nullptr) return;
                if (const letter* const l = e->data.template get<letter>())
                    deliver(process_, me, *l);
                else
                    me.stop();  // the runtime ends, and a program had not
            }
        }

    private:
        P process_;
        bool begun_ = false, has_more_ = false;
    };

    static inline std::uint64_t letters_a_step = 4'096;
    static inline bool into_pool = false, spins = false;

    scheduler all_;
};

}  // namespace apiary::bench
