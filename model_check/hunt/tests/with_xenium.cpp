// xenium 0.0.2: a seqlock of two slots gives a torn value.
#include <cstdlib>
#include <thread>
#include <xenium/seqlock.hpp>

struct four {
    long a, b, c, d;
};

int main() {
    xenium::seqlock<four, xenium::policy::slots<2>> s(four{0, 0, 0, 0});
    std::jthread a([&] {
        for (long i = 1; i < 5; ++i) s.store(four{i, i, i, i});
    });
    std::jthread b([&] {
        for (int i = 0; i < 3; ++i) {
            const four t = s.load();
            if (t.a != t.b || t.b != t.c || t.c != t.d) std::abort();
        }
    });
}
