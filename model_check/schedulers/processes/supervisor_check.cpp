// A supervisor as it ships, on a scheduler without threads: a child fails while the supervisor is killed, and while another
// child fails. Each child that was made ends, once; the end is reached.
#include <apiary/schedulers/processes/supervisor.hpp>

#include "processes_scenario.hpp"

namespace supervisor_check {
namespace {

using namespace apiary;
using model::processes_scenario;
using model::seen;
using model::watched;

// With as many places as two workers can keep free besides those that are taken: a start that finds none is a failure, too.
template <class Sync>
struct many_places : Sync {};

}  // namespace
}  // namespace supervisor_check

template <class Sync>
struct apiary::process_table_limits<supervisor_check::many_places<Sync>> {
    static constexpr std::size_t chunk = 1, chunks = 8, batch = 1;
};

namespace supervisor_check {
namespace {

// A child fails at its first message, and finishes when it is cancelled.
template <class Sync, unsigned Workers, unsigned Others>
struct supervised : processes_scenario<Sync, Workers, Others> {
    using supervisor = basic_supervisor<Sync>;
    std::array<seen, 6> children;
    std::array<pid, 3> first;  // of the children, those that were made first
    std::atomic<unsigned> made = 0, ended = 0;
    unsigned at_first = 0, before_all_had_ended = 0;  // children that were made then
    pid parent;

    class child : public watched<Sync> {
        using base = watched<Sync>;

    public:
        child(supervised& in, unsigned i)
            : base(in.children[i], {},
                   [](event& e, auto& out) {
                       if (e.type == event_type::message) throw 1;
                       out.finish();
                   }),
              in_(in), number_(i) {}
        init_answer init(typename basic_process<Sync>::context& c, std::string_view m, payload p) override {
            if (number_ < in_.first.size()) in_.first[number_] = c.self;
            return base::init(c, m, std::move(p));
        }
        void close() noexcept override {
            base::close();
            ++in_.ended;
        }

    private:
        supervised& in_;
        const unsigned number_;
    };
    // Its first step has made the children, and theirs are over.
    void make(unsigned of_them, restart_strategy how) {
        processes_scenario<Sync, Workers, Others>::make();
        at_first = of_them;
        const typename supervisor::child one{[this] {
            const unsigned i = made++;
            Sync::law(i < children.size(), "more children were made than can have failed");
            if (i >= at_first && ended < at_first) ++before_all_had_ended;
            return std::make_unique<child>(*this, i);
        }};
        parent = this->core
                     ->spawn(std::make_unique<supervisor>(std::vector<typename supervisor::child>(of_them, one),
                                                          typename supervisor::options{.strategy = how}))
                     .id;
        this->core->close_the_door();
        while (this->turn_on(0)) {
        }
        Sync::law(made == of_them, "a supervisor has not started its children");
    }
    void fail(pid which) { Sync::law(this->core->send(which, 1) == send_answer::accepted, "a child does not live"); }
    void turns() {
        for (unsigned n = 0; n != 16 && !this->core->over(); ++n) (void)this->turn_on(n % Workers);
    }
    void all_have_ended() {
        this->end();
        Sync::law(ended == made, "a child lives on, or was closed twice");
    }
};

// Nothing else would end the child: the door is closed, and no stop comes.
template <class Sync>
struct restart_against_kill : supervised<Sync, 1, 1> {
    static constexpr const char* what = "a child fails while its supervisor is killed: the child that lives ends, too";
    static constexpr std::array must_reach{"supervisor.started_again", "supervisor.not_again"};
    void before() {
        this->make(1, restart_strategy::one_for_one);
        this->fail(this->first[0]);
    }
    void thread(unsigned i) {
        if (i == 1)
            return Sync::law(this->core->kill(this->parent) == send_answer::accepted, "it could not be killed");
        for (unsigned n = 0; n != 2; ++n) (void)this->turn_on(0);
    }
    void after() {
        this->turns();
        this->all_have_ended();
        Sync::reach(this->made == 2 ? "supervisor.started_again" : "supervisor.not_again");
    }
};
APIARY_CHECK(restart_against_kill);

// Two failures together, each on a worker of its own, if the second steals it.
template <class Sync>
struct two_fail_together : supervised<many_places<Sync>, 2, 0> {
    static constexpr const char* what = "two of three children fail together: all start again, after the last has ended";
    static constexpr std::array must_reach{"worker.stole"};
    void before() {
        this->make(3, restart_strategy::one_for_all);
        for (unsigned i = 0; i != 2; ++i) this->fail(this->first[i]);
    }
    // One turn each, and what is left after them: whole workers have too many behaviours.
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        this->turns();
        Sync::law(this->made == 6 && this->before_all_had_ended == 0, "not all have started again after the last end");
        this->core->request_stop();
        this->turns();
        this->all_have_ended();
    }
};
APIARY_CHECK(two_fail_together);

}  // namespace
}  // namespace supervisor_check
