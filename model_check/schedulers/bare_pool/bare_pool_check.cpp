// bare_pool as it ships, from its constructor to its destructor. Only its threads are the checker's (<apiary/model_check/modelled_threads.hpp>), and its
// tasks come from the heap.
#include <apiary/schedulers/bare_pool/bare_pool.hpp>

#include <array>
#include <cstddef>
#include <optional>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/modelled_threads.hpp>
#include <apiary/model_check/register.hpp>

namespace bare_pool_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync, unsigned Workers>
using checked_pool = basic_bare_pool<Sync, heap_storage<Sync>, modelled_parts<Sync, Workers>>;

// Thread 0 owns the pool; the next ones are its workers.
template <class Sync, unsigned Workers, std::size_t Tasks>
struct whole_pool {
    using pool_type = checked_pool<Sync, Workers>;
    hall<Sync, Workers> workers;
    claim_ledger<Sync> ledger{Tasks};
    std::array<bool, Tasks> accepted{};

    template <class Body>
    bool post(pool_type& pool, std::size_t id, Body body) {
        return accepted[id] = pool.post([this, id, body] {
                   body();
                   ledger.took(id);
               });
    }
    bool post(pool_type& pool, std::size_t id) {
        return post(pool, id, [] {});
    }
    void all_accepted_ran() const {
        for (std::size_t id = 0; id != Tasks; ++id)
            Sync::law(accepted[id] == ledger.has_left(id), "a task was accepted and lost, or refused and run");
    }
};

template <class Sync>
struct bare_pool_lives : whole_pool<Sync, 1, 2> {
    static constexpr const char* what = "a pool is made, runs a task that posts another, and goes: both ran, and are seen";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    typename Sync::template cell<int> written{0};
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        {
            typename Sync::template scoped<typename bare_pool_lives::pool_type> on_stack(1U, exception_handler{}, handshake_parameters);
            auto& pool = *on_stack;
            (void)this->post(pool, 0, [this, &pool] {
                written.write(1);
                (void)this->post(pool, 1);
            });
        }
        Sync::law(written.read() == 1 && this->accepted[0], "the destructor did not wait for a task");
        this->all_accepted_ran();
    }
};
APIARY_CHECK(bare_pool_lives);

// The first task waits for the second: a post that wakes nobody, or a task that nobody steals, is a deadlock.
template <class Sync>
struct bare_pool_feeds_both_workers : whole_pool<Sync, 2, 2> {
    static constexpr const char* what = "a task waits for one that it has posted: the other worker runs that";
    static constexpr const char* too_large_to_exhaust = "three threads from the first to the last step of a pool";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"worker.stole"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    typename Sync::template atomic<bool> gate{false};
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 2> here(this->workers);
        typename Sync::template scoped<typename bare_pool_feeds_both_workers::pool_type> on_stack(
            2U, exception_handler{}, handshake_parameters);
        auto& pool = *on_stack;
        (void)this->post(pool, 0, [this, &pool] {
            (void)this->post(pool, 1, [this] { gate.store(true, std::memory_order_release); });
            Sync::spin_until(gate, [](bool open) { return open; });
        });
        Sync::spin_until(gate, [](bool open) { return open; });  // a worker that sees the stop steals no more than there is
        pool.stop();
        this->all_accepted_ran();
    }
};
APIARY_CHECK(bare_pool_feeds_both_workers);

template <class Sync>
struct bare_pool_counts_what_it_drops : whole_pool<Sync, 1, 2> {
    static constexpr const char* what = "a stop that discards meets a task: run and discarded add up, and what is refused is not run";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"bare_pool.ran", "bare_pool.dropped"};
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        typename bare_pool_counts_what_it_drops::pool_type pool(1U, exception_handler{}, handshake_parameters);
        (void)this->post(pool, 0);
        pool.stop(stop_mode::discard);
        (void)this->post(pool, 1);
        const stop_report r = pool.report();
        Sync::law(r.run + r.discarded == 1 && r.refused == 1, "the report does not count what became of the tasks");
        Sync::law(this->ledger.has_left(0) == (r.run == 1) && !this->ledger.has_left(1), "a task that was dropped ran");
        Sync::reach(r.run == 1 ? "bare_pool.ran" : "bare_pool.dropped");
    }
};
APIARY_CHECK(bare_pool_counts_what_it_drops);

}  // namespace
}  // namespace bare_pool_check
