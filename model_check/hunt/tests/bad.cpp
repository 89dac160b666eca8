// bad NAME [N]: programs that ask for what a hunt cannot give, or for much of it. bad_input_test.py says what is
// answered.
#include <immintrin.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

void count_unseen();  // unseen.cpp

namespace {

std::atomic<int> counted;

int threads(int many) {
    std::vector<std::thread> all;
    for (int i = 0; i < many; ++i) all.emplace_back([] { counted.fetch_add(1); });
    for (std::thread& one : all) one.join();
    return counted == many ? 0 : 1;
}
int terminal() { return isatty(0) != 0 || std::getchar() != EOF ? 1 : 0; }
int network() {
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in nobody = {};
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(9);
    return connect(s, reinterpret_cast<sockaddr*>(&nobody), sizeof nobody);
}
int signals(bool from_the_clock, bool by_syscall, bool queued) {
    if (from_the_clock) alarm(1);
    std::thread other([] { std::this_thread::sleep_for(std::chrono::seconds(1)); });
    siginfo_t information{};
    const long result = queued       ? syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1, &information)
                        : by_syscall ? syscall(SYS_kill, getpid(), SIGUSR1)
                                     : kill(getpid(), SIGUSR1);
    other.join();
    return static_cast<int>(result);
}
int fences_by_itself() {
    counted.store(1, std::memory_order_relaxed);
    _mm_mfence();
    asm volatile("lock; addl $0, (%%rsp)" ::: "memory");
    return counted.load(std::memory_order_relaxed) - 1;
}
int hours() {
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::hours(5));
    return std::chrono::steady_clock::now() - begin < std::chrono::hours(5) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    count_unseen();
    const auto is = [&](const char* name) { return argc > 1 && std::strcmp(argv[1], name) == 0; };
    if (is("threads")) return threads(argc > 2 ? std::atoi(argv[2]) : 1000);
    if (is("terminal")) return terminal();
    if (is("network")) return network();
    if (is("signal") || is("alarm") || is("kill") || is("queue")) return signals(is("alarm"), is("kill"), is("queue"));
    if (is("fences")) return fences_by_itself();
    if (is("hours")) return hours();
    return 2;
}
