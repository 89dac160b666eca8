// Few workers that fork, join and look for offers a few times, around fork_join as it ships: what its checks have in common.
#pragma once

#include <array>
#include <cstddef>

#include <apiary/contract/laws.hpp>
#include <apiary/schedulers/fork_join/fork_join.hpp>

namespace apiary::model {

// Workers without an engine around them: they never look for roots, and nobody else sleeps. A joiner that finds nothing sleeps at once.
template <class Sync, unsigned Workers, class Limits = fork_list_limits>
class bare_workers {
public:
    using context = fork_context<Sync, bare_workers, Limits>;
    struct patience {
        explicit patience(const bare_workers&) {}
        bool over() const { return true; }
        void spend() {}
    };

    bare_workers() {
        for (unsigned i = 0; i != Workers; ++i) contexts_[i].belongs_to(*this, i);
    }
    unsigned lists() const { return Workers; }
    context& context_of(unsigned i) { return contexts_[i]; }
    void wake(unsigned i) { parkers_[i].unpark(); }
    void wake_one() {}
    void wait(unsigned i) { parkers_[i].park(); }
    bool somebody_sleeps() const { return false; }

private:
    std::array<context, Workers> contexts_;
    std::array<typename Sync::parker, Workers> parkers_;
};

template <class Sync, std::size_t Jobs, unsigned Workers, class Limits = fork_list_limits>
struct forks {
    static constexpr unsigned threads = Workers;
    using workers = bare_workers<Sync, Workers, Limits>;
    using context = typename workers::context;

    workers all;
    identity_ledger<Sync, Jobs, Workers> ledger;
    std::array<typename Sync::template cell<int>, Jobs> written;

    context& w(unsigned i) { return all.context_of(i); }
    // What a job does: it is counted, and writes what only its joiner reads.
    auto job(std::size_t id) {
        ledger.put(id);
        return [this, id](context& v) {
            ledger.took(v.index(), id);
            written[id].write(static_cast<int>(id) + 1);
            return static_cast<int>(id) + 1;
        };
    }
    void joined(std::size_t id, int result) {
        Sync::law(result == static_cast<int>(id) + 1, "the result of a branch got lost");
        seen(id);
    }
    void seen(std::size_t id) {
        Sync::law(written[id].read() == static_cast<int>(id) + 1, "what a branch wrote is not seen after its join");
    }
    bool steal(unsigned thief) {
        return w(thief).look_for_offers(0, [] {});
    }
    void after() { ledger.settle(); }
};

}  // namespace apiary::model
