// One Relacy simulation from the outside: options become the world's settings, and what the world saw
// becomes a verdict.
//
// Token: `<how>-<seed>-<execution>-<steps>` for the random modes, with <how> one of mixed, random, pct<d>;
// `bound<n>-<decisions>` or `full-<decisions>` for the systematic ones, a digit for each decision.
#pragma once

#include <chrono>
#include <deque>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/relacy/world.hpp>

namespace apiary::model::relacy_detail {

class simulation {
public:
    simulation(const search_options& options, int threads);

    // False when the options make no sense; conclude() then says why.
    bool ready() const { return error_.empty(); }
    bool systematic() const { return systematic_; }
    rl::test_params& params() { return params_; }

    void ended(rl::test_result_e result, const char* state);
    verdict conclude();

private:
    void apply_token(const std::string& token);
    void apply_mutation(const std::string& site, const std::string& order);
    std::string token() const;
    std::string reason() const;
    void write_trace(verdict& v) const;
    static std::string conflict(const step& racing, const std::vector<std::size_t>& row_of);
    std::string_view keep(const std::string& text);

    class silent_buffer : public std::streambuf {
        int overflow(int c) override { return c; }
    };

    search_options options_;
    int threads_;
    silent_buffer nowhere_;
    std::ostream silence_{&nowhere_};
    rl::test_params params_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    bool systematic_ = false, replaying_ = false;
    std::string how_, error_, state_;
    std::string decisions_;
    std::deque<std::string> kept_;  // what the world's string_views point to
    rl::test_result_e result_{};
};

}  // namespace apiary::model::relacy_detail
