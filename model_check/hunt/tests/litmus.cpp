// litmus NAME: that program of model_check/litmus/ once, each of its threads a thread. It aborts where it shows what
// C++20 forbids. Without a name: all names.
#define APIARY_MODEL_NO_RELACY
#define APIARY_MODEL_NO_EXPLORER
#include <apiary/sync/real_sync.hpp>

#include "../../litmus/two_words.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

namespace {

template <template <class> class Litmus>
void run() {
    using one = Litmus<apiary::real_sync>;
    one litmus;
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < one::threads; ++i) threads.emplace_back([&litmus, i] { litmus.thread(i); });
    }
    if constexpr (requires { litmus.after(); }) litmus.after();
    std::array<char, 128> room;
    const std::string_view shown = apiary::model::outcome_text(litmus, room);
    const auto allowed = one::rc11.copy();
    assert(std::find(allowed.begin(), allowed.end(), shown) != allowed.end());
}
std::map<std::string_view, void (*)()>& programs() {
    static std::map<std::string_view, void (*)()> all;
    return all;
}

}  // namespace

#undef APIARY_LITMUS
#define APIARY_LITMUS(name, ...) [[maybe_unused]] const bool hunted_##name = (programs()[#name] = &run<name>, true)
#include "../../litmus/coherence_litmus.cpp"
#include "../../litmus/synchronisation_litmus.cpp"

int main(int argc, char** argv) {
    if (argc == 2 && programs().contains(argv[1])) {
        programs()[argv[1]]();
        return 0;
    }
    for (const auto& [name, unused] : programs()) std::printf("%s\n", name.data());
    return 2;
}
