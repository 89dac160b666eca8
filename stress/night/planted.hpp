// planted: schedulers with a defect, for the control of a night: it must call each of them red.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desks.hpp"

namespace apiary::night {

// It runs a piece in its post. Every hundredth it keeps, runs twice, runs never, or ends the process.
enum class defect : std::uint8_t { loses, doubles, hangs, crashes };
template <defect Defect>
class planted_desk : public common_desk<planted_desk<Defect>> {
    using base = common_desk<planted_desk>;

public:
    static constexpr std::string_view name = Defect == defect::loses     ? "planted_loses"
                                             : Defect == defect::doubles ? "planted_doubles"
                                             : Defect == defect::hangs   ? "planted_hangs"
                                                                         : "planted_crashes";
    static constexpr bool tasks_post = false;
    using base::base;
    bool post_one(dice& random) {
        const bool bad = random.below(100) == 0;
        return base::posted([&](auto p) {
            if (bad && Defect == defect::hangs) {
                const std::lock_guard held(mutex_);
                kept_.push_back(std::move(p));
                return true;
            }
            if (bad && Defect == defect::crashes) std::abort();
            if (!bad || Defect == defect::doubles) p();
            if (bad && Defect == defect::doubles) p();
            return true;
        });
    }
    void stop_it(stop_mode) {}
    void end(stop_mode) {
        while (!kept_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::uint64_t sleeps() const { return 0; }
    std::string describe() const { return "planted"; }

private:
    std::mutex mutex_;
    std::vector<piece<planted_desk>> kept_;
};
using planted_loses = planted_desk<defect::loses>;
using planted_doubles = planted_desk<defect::doubles>;
using planted_hangs = planted_desk<defect::hangs>;
using planted_crashes = planted_desk<defect::crashes>;

}  // namespace apiary::night
