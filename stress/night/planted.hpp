// planted: schedulers with a defect, for the control of a night: it must call each of them red.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "desks.hpp"

namespace apiary::night {

// It runs a piece in its post. Every hundredth it keeps for ever, drops, runs twice, runs after the stop has returned, leaks, reads
// after its end, never destroys, or ends the process; `races` counts its pieces without a lock.
enum class defect : std::uint8_t { loses, doubles, late, hangs, crashes, leaks, races, uses_freed, keeps };
constexpr std::string_view name_of(defect d) {
    constexpr std::string_view names[] = {"planted_loses", "planted_doubles",    "planted_late",
                                          "planted_hangs", "planted_crashes",    "planted_leaks",
                                          "planted_races", "planted_uses_freed", "planted_keeps"};
    return names[static_cast<std::size_t>(d)];
}

template <defect Defect>
class planted_desk : public common_desk<planted_desk<Defect>> {
    using base = common_desk<planted_desk>;

public:
    static constexpr std::string_view name = name_of(Defect);
    static constexpr bool tasks_post = false;
    using base::base;
    ~planted_desk() {
        for (auto& p : kept_) p();
    }
    bool post_one(dice& random) {
        const bool bad = random.below(100) == 0;
        const auto take = [&](auto p) {
            if (Defect == defect::races) ++counted_;
            if (bad && Defect == defect::crashes) std::abort();
            if (bad && (Defect == defect::hangs || Defect == defect::late)) {
                const std::lock_guard held(mutex_);
                kept_.push_back(std::move(p));
                return true;
            }
            if (bad && Defect == defect::keeps) {
                const auto* volatile kept = new auto(std::move(p));
                return kept != nullptr;
            }
            if (bad && Defect == defect::loses) return true;
            p();
            if (bad && Defect == defect::doubles) p();
            if (bad && Defect == defect::leaks) seen_ = new (std::nothrow) char[16'384]();
            if (bad && Defect == defect::uses_freed) read_after_its_end();
            return true;
        };
        return base::posted(take, Defect == defect::keeps ? answer::loose : answer::accepted);
    }
    void stop_it(stop_mode) {}
    void end(stop_mode) {
        while (Defect == defect::hangs && !kept_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::uint64_t sleeps() const { return 0; }
    std::string describe() const { return "planted"; }

private:
    void read_after_its_end() {
        char* volatile block = new char[64]();
        delete[] block;
        counted_ += block[3];
    }
    std::mutex mutex_;
    std::vector<piece<planted_desk>> kept_;
    int counted_ = 0;
    char* volatile seen_ = nullptr;
};
using planted_loses = planted_desk<defect::loses>;
using planted_doubles = planted_desk<defect::doubles>;
using planted_late = planted_desk<defect::late>;
using planted_hangs = planted_desk<defect::hangs>;
using planted_crashes = planted_desk<defect::crashes>;
using planted_leaks = planted_desk<defect::leaks>;
using planted_races = planted_desk<defect::races>;
using planted_uses_freed = planted_desk<defect::uses_freed>;
using planted_keeps = planted_desk<defect::keeps>;

}  // namespace apiary::night
