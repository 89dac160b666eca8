// run_relacy<Check<relacy_sync>>: one simulation of one check in the Relacy Race Detector.
//
// To be called once per process, in a child that may die (runner.cpp). With options.replay it runs that one
// execution and the verdict carries the trace; otherwise it searches and the verdict carries the token.
//
// Relacy is a template over the test; here it is instantiated once for each number of threads (run.cpp), over a
// test that calls the check through virtual functions. A check costs a second to compile instead of ten.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <string_view>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/check_traits.hpp>
#include <apiary/model_check/litmus.hpp>
#include <apiary/model_check/relacy/relacy_sync.hpp>

namespace apiary::model {

namespace relacy_detail {

// A check without its type.
class any_check {
public:
    virtual ~any_check() = default;
    virtual void before() = 0;
    virtual void thread(unsigned i) = 0;
    virtual void invariant() = 0;
    virtual void after() = 0;
};

struct any_check_type {
    unsigned threads;
    std::size_t size, alignment;
    any_check* (*construct)(void* at);
    bool has_invariant;
};

template <class Check>
class typed_check final : public any_check {
public:
    void before() override { call_before(check_); }
    void thread(unsigned i) override { check_.thread(i); }
    void invariant() override { call_invariant(check_); }
    void after() override {
        call_after(check_);
        if constexpr (records_outcome<Check>) {
            std::array<char, 128> buffer;
            the_world.count_outcome(outcome_text(check_, buffer));
        }
    }

private:
    Check check_;
};

verdict run_suite(const search_options& options, const any_check_type& type);

}  // namespace relacy_detail

template <class Check>
verdict run_relacy(const search_options& options) {
    using typed = relacy_detail::typed_check<Check>;
    static_assert(Check::threads >= 1 && Check::threads <= relacy_detail::world::most_threads);
    return relacy_detail::run_suite(
        options, {Check::threads, sizeof(typed), alignof(typed),
                  [](void* at) -> relacy_detail::any_check* { return new (at) typed; }, has_invariant<Check>});
}

}  // namespace apiary::model
