// Subject `processes`: this project's own scheduler of message-driven processes, with N workers.
//
// A process of a program is one process; a letter is a message that lies in its event. The first step runs `start`.
// Tasks cannot be posted to it. A process that fails throws out of its step.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>

#include "scenarios/list.hpp"

namespace {

using apiary::bench::letter;

class processes {
public:
    static constexpr std::string_view name = "processes";
    static std::string version() { return APIARY_VERSION; }

    // The seed's two choices, which are off unless set; the defaults ship. And the number of letters that a step sends
    // before it lets others run: 256 KiB of them, so receivers read them from the second cache; 0: all that it has.
    static constexpr std::array tunables{
        apiary::bench::parameter{.name = "wakes_into_pool", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "seed_spinning", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "letters_a_step", .standard = 4'096, .least = 0, .most = 1 << 20},
    };
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "letters_a_step")
            letters_a_step = value;
        else
            (which == "wakes_into_pool" ? into_pool : spins) = value != 0;
    }

    explicit processes(unsigned workers)
        : all_({.workers = workers,
                .parameters = spins ? apiary::seed_spinning() : apiary::worker_parameters{},
                .wakes_into_pool = into_pool}) {}

    using address = apiary::pid;

    class self {
    public:
        self(apiary::step_output& out, bool& has_more) : out_(out), has_more_(has_more) {}

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
            std::vector<apiary::supervisor::child> children;
            for (std::uint64_t i = 0; i != count; ++i)
                children.push_back({[make, i] { return std::make_unique<body<decltype(make(i))>>(make(i)); }});
            const apiary::supervisor::options limit{.restarts = static_cast<unsigned>(restarts),
                                                    .within_ns = 1'000'000'000};
            (void)out_.spawn(std::make_unique<apiary::supervisor>(std::move(children), limit));
        }
        [[noreturn]] void fail() { throw failed(); }

    private:
        struct failed {};

        apiary::step_output& out_;
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
    class body : public apiary::process {
    public:
        explicit body(P process) : process_(std::move(process)) {}
        apiary::init_answer init(context&, std::string_view, apiary::payload) override {
            return apiary::init_answer::ready;
        }
        void step(events& batch, output& out) override {
            self me(out, has_more_);
            if (!std::exchange(begun_, true)) {
                apiary::bench::start_process(process_, me);
            } else if (std::exchange(has_more_, false)) {
                if constexpr (requires { process_.go_on(me); }) process_.go_on(me);
            }
            while (!me.stopped()) {
                apiary::event* const e = batch.next();
                if (e == nullptr) return;
                if (const letter* const l = e->data.get<letter>())
                    apiary::bench::deliver(process_, me, *l);
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

    apiary::processes all_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<processes>(argc, argv); }
