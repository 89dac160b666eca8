// A whole hive, from its constructor to its destructor: run(), a compute worker that it starts, the stop, the report;
// attaches that meet the stop, or a run that gets no thread; and the end of a hive that never ran.
// Its threads are the check's (<apiary/model_check/modelled_threads.hpp>); its workers block in parkers, its tasks come
// from the heap.
#include <apiary/schedulers/hive/hive.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <apiary/model_check/modelled_threads.hpp>

#include "hive_scenario.hpp"

namespace hive_whole_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct parts : hive_parts<Sync> {
    using random = first_choice;
    using compute_driver = core_of<Sync, false>;
    using threads = team_of_hall<Sync, 1>;
};

template <class Sync>
struct hive_lives {
    static constexpr const char* what =
        "a compute task posts an IO task, which stops the hive: run() returns, both ran, and nothing is left";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    using hive_type = basic_hive<Sync, core_of<Sync, false>, heap_storage<Sync>, parts<Sync>>;
    hall<Sync, 1> workers;
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i != 0) return workers.serve(0);
        const in_hall<Sync, 1> here(workers);
        typename Sync::template scoped<hive_type> on_stack(
            hive_config{.io_workers = 1, .compute_workers = 1, .parameters = small_parameters});
        hive_type& h = *on_stack;
        Sync::law(h.post_compute([this, &h] {
            written.write(1);
            Sync::law(h.post_micro([this, &h] {
                Sync::law(h.this_worker() == 0, "an IO task does not run on the worker that run() is");
                written.write(written.read() + 1);
                h.request_stop();
            }),
                      "a post before the stop was refused");
        }),
                  "a post before the run was refused");
        h.run();
        Sync::law(written.read() == 2 && h.report().run == 2, "run() returned before what it was given");
    }
};
APIARY_CHECK(hive_lives);

// A driver in which a guest may sit; it waits as any other here.
template <class Sync>
struct seated : core_of<Sync, false> {
    void host(guest_core&) {}
};

template <class Sync>
struct hive_attach_meets_stop {
    static constexpr const char* what =
        "workers are attached, a guest among them, while the hive is stopped: each is refused or ends, and none throws";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"hive_whole.refused", "hive_whole.attached"};
    struct loop {
        static constexpr std::int64_t forever = INT64_MAX;
        void wait(std::int64_t) {}
        void poll() {}
        void wake() {}
    };
    basic_hive<Sync, seated<Sync>, heap_storage<Sync>, parts<Sync>> h{hive_config{.parameters = small_parameters}};

    void thread(unsigned i) {
        if (i != 0) return h.request_stop();
        bool full = false;
        try {
            loop l;
            bool attached = h.attach_io_worker().has_value();
            attached = h.attach_this_thread(l) && attached;
            Sync::reach(attached ? "hive_whole.attached" : "hive_whole.refused");
        } catch (const std::length_error&) {
            full = true;
        }
        Sync::law(!full, "an attach that met the stop says that there is no slot");
    }
};
APIARY_CHECK(hive_attach_meets_stop);

template <class Sync>
struct hive_drops_what_posts {
    static constexpr const char* what =
        "a hive that never ran drops tasks of both kinds, whose ends post to both and attach: all is refused";
    static constexpr unsigned threads = 1;
    static constexpr std::array must_reach{"hive.refused_at_its_end"};
    using hive_type = basic_hive<Sync, core_of<Sync, false>, heap_storage<Sync>, parts<Sync>>;
    struct posts_at_its_end {
        hive_type* h;
        explicit posts_at_its_end(hive_type& to) : h(&to) {}
        posts_at_its_end(posts_at_its_end&& other) noexcept : h(std::exchange(other.h, nullptr)) {}
        posts_at_its_end& operator=(posts_at_its_end&&) = delete;
        ~posts_at_its_end() {
            if (h == nullptr) return;
            Sync::reach("hive.refused_at_its_end");
            const auto nothing = [] {};
            std::array several{nothing, nothing};
            Sync::law(!h->post_micro([] {}) && !h->post_compute([] {}) && !h->attach_io_worker(),
                      "a hive that ends took a post or a worker in");
            Sync::law(h->post_micro_batch(std::span(several)) == 0 && h->post_compute_batch(std::span(several)) == 0,
                      "a hive that ends took a part of a batch in");
        }
        void operator()() const {}
    };

    void thread(unsigned) {
        typename Sync::template scoped<hive_type> on_stack(
            hive_config{.compute_workers = 1, .parameters = small_parameters});
        hive_type& h = *on_stack;
        Sync::law(h.post_micro(posts_at_its_end(h)) && h.post_compute(posts_at_its_end(h)),
                  "a post before the end was refused");
    }
};
APIARY_CHECK(hive_drops_what_posts);

// A system that gives no thread.
template <class Sync>
struct without_threads : parts<Sync> {
    struct threads {
        template <class Body>
        void start(Body, int = any_processor) {
            throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        }
        void join() {}
    };
};

template <class Sync>
struct run_without_a_thread_meets_attach {
    static constexpr const char* what =
        "run() gets no thread while a worker is attached: it is run() that ends that worker too, or the attach is "
        "refused";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"hive_whole.refused", "hive_whole.attached", "hive_whole.was_in_time"};
    basic_hive<Sync, core_of<Sync, false>, heap_storage<Sync>, without_threads<Sync>> h{
        hive_config{.compute_workers = 1, .parameters = small_parameters}};
    bool posted = false;

    void thread(unsigned i) {
        bool threw = false;
        try {
            if (i == 0)
                h.run();
            else
                attaches();
        } catch (const std::system_error&) {
            threw = true;
        }
        Sync::law(threw == (i == 0),
                  "run() had a thread, or an attach was let in between a run's failure and its stop");
    }
    void attaches() {
        const auto id = h.attach_io_worker();
        Sync::reach(id ? "hive_whole.attached" : "hive_whole.refused");
        if (!id) return;
        posted = h.post_to_worker(*id, [] {});
        if (posted) Sync::reach("hive_whole.was_in_time");
    }
    void after() {
        const stop_report r = h.report();
        Sync::law(r.run + r.discarded == (posted ? 1U : 0U), "a task is with a worker that nobody ended");
    }
};
APIARY_CHECK(run_without_a_thread_meets_attach);

}  // namespace
}  // namespace hive_whole_check
