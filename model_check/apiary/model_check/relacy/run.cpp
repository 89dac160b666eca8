// See run.hpp: Relacy, instantiated for each number of threads.
#include <apiary/model_check/relacy/run.hpp>

#include <cstdlib>

#include <apiary/model_check/relacy/schedulers.hpp>
#include <apiary/model_check/relacy/simulation.hpp>

namespace apiary::model::relacy_detail {

namespace {

any_check_type the_type;
void* the_memory = nullptr;  // aligned, which Relacy's own memory for the test is not

template <rl::thread_id_t Threads>
class suite : public rl::test_suite<suite<Threads>, Threads> {
public:
    suite() {
        the_world.begin_execution();
        check_ = the_type.construct(the_memory);
    }
    ~suite() { check_->~any_check(); }

    void before() {
        check_->before();
        the_world.stage = phase::threads;
    }
    void thread(unsigned i) {
        if (i < the_type.threads) check_->thread(i);
    }
    void invariant() {
        if (the_type.has_invariant && the_world.stage == phase::threads) check_->invariant();
    }
    void after() {
        the_world.stage = phase::after;
        check_->after();
    }

private:
    any_check* check_;
};

template <rl::thread_id_t Threads>
verdict run_with(const search_options& options) {
    simulation s(options, Threads);
    if (!s.ready()) return s.conclude();
    rl::ostringstream state;
    rl::test_result_e result{};
    if (s.systematic())
        result = rl::run_test<suite<Threads>, tree_scheduler<Threads>>(s.params(), state, false);
    else
        result = rl::run_test<suite<Threads>, hunting_scheduler<Threads>>(s.params(), state, false);
    s.ended(result, state.str().c_str());
    return s.conclude();
}

}  // namespace

verdict run_suite(const search_options& options, const any_check_type& type) {
    the_type = type;
    the_memory = std::aligned_alloc(type.alignment, (type.size + type.alignment - 1) / type.alignment * type.alignment);
    switch (type.threads) {
        case 1:  // Relacy does not compile for one
        case 2:
            return run_with<2>(options);
        case 3:
            return run_with<3>(options);
        case 4:
            return run_with<4>(options);
        case 5:
            return run_with<5>(options);
        case 6:
            return run_with<6>(options);
        default:
            break;
    }
    verdict v;
    v.reason = "Relacy is built for up to 6 threads; run.cpp has the list";
    return v;
}

}  // namespace apiary::model::relacy_detail
