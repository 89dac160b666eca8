// A frame loop: worker threads at the start, a thousand chunks of a thousand particles each frame, other work in
// between, and a wait in which the main thread helps. Ends with 1 if a particle did not move exactly once a frame.
// in between, and a wait in which the main thread helps. Ends with 1 when a particle did not move exactly once a frame.
#include <cstddef>
#include <cstdio>
#include <vector>

#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/global_queue/parallel_for.hpp>

namespace {

struct particle {
    float position = 0, speed = 1;
    int moves = 0;
};

void move(particle* particles, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        particles[i].position += particles[i].speed;
        ++particles[i].moves;
    }
}

}  // namespace

int main() {
    constexpr std::size_t chunks = 1000, chunk = 1000;
    std::vector<particle> particles(chunks * chunk);

    apiary::global_queue scheduler;  // one worker for each processor, or as many as the quota lets run
    scheduler.start();

    // A frame, post by post.
    for (std::size_t n = 0; n < chunks; ++n)
        if (!scheduler.post([&, n] { move(&particles[n * chunk], chunk); })) return 1;
    double camera = 0;  // other work in between
    for (int step = 0; step < 1000; ++step) camera += 0.001;
    scheduler.wait();

    // The next frame, in one call.
    const bool whole = apiary::parallel_for(
        scheduler, 0, particles.size(), [&](std::size_t from, std::size_t to) { move(&particles[from], to - from); },
        {.grain = chunk});
    if (!whole) return 1;

    for (const particle& p : particles)
        if (p.moves != 2 || p.position != 2) return 1;
    std::printf("%zu particles moved twice, seen from %.3f\n", particles.size(), camera);
}
