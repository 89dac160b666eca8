// The floor of messages: one thread, whatever --workers says, takes one letter after the other to its receiver. It is
// the cost of a runtime of processes that shares, wakes and locks nothing: a virtual call, and a list of letters.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/bench/messages.hpp>

#include "scenarios/recursion.hpp"

namespace apiary::bench {

class hand_over {
    struct cell;
    struct sent {
        cell* to;
        letter message;
    };

public:
    static constexpr std::string_view name = "machine";
    static std::string version() { return kernel(); }

    explicit hand_over(unsigned) {}

    using address = cell*;

    class self {
    public:
        template <class P>
        address spawn(P process) {
            auto* const made = new of<P>(std::move(process));
            all_.started_.push_back(made);
            return made;
        }
        void send(address to, letter message) { all_.next_.push_back({to, message}); }
        address me() { return me_; }
        void stop() { stopped_ = true; }

    private:
        friend hand_over;
        self(hand_over& all, cell* me) : all_(all), me_(me) {}

        hand_over& all_;
        cell* me_;
        bool stopped_ = false;
    };

    // Runs until no letter is left. All started processes begin before a letter is handed over; letters sent meanwhile
    // belong to the next round.
    template <class P>
    void begin(P process) {
        started_.push_back(new of<P>(std::move(process)));
        std::vector<cell*> starts;
        std::vector<sent> now;
        while (!started_.empty() || !next_.empty()) {
            for (; !started_.empty(); starts.clear()) {
                starts.swap(started_);
                for (cell* const one : starts) call(one, nullptr);
            }
            now.swap(next_);
            for (const sent& one : now) call(one.to, &one.message);
            now.clear();
        }
    }

private:
    struct cell {
        virtual ~cell() = default;
        virtual void start(self& me) = 0;
        virtual void receive(self& me, letter message) = 0;
    };

    template <class P>
    struct of final : cell {
        explicit of(P made) : process(std::move(made)) {}
        void start(self& me) override { start_process(process, me); }
        void receive(self& me, letter message) override { deliver(process, me, message); }
        P process;
    };

    void call(cell* to, const letter* message) {
        self me(*this, to);
        if (message == nullptr)
            to->start(me);
        else
            to->receive(me, *message);
        if (me.stopped_) delete to;
    }

    std::vector<cell*> started_;
    std::vector<sent> next_;
};

static_assert(messenger<hand_over>);

}  // namespace apiary::bench
