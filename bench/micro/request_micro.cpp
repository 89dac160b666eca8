// What a request costs its server by epoll, and by io_uring in each of its forms: the calls by which it learns of the
// request, reads it and sends the answer. impl/DECISIONS.md, D237, has what followed from it.
//
// One thread has both ends of all connections; the clients' part is not timed. Connections are in two halves: the call
// that waits for the requests of one half also submits the answers to the other, as in a server that always has the
// next request to wait for. A request is there before the server waits, so no sleep and no wake is in the figure.
//
// Where the kernel refuses io_uring, the forms on it are skipped, and say so. Kernel headers before 6.1 lack them.
#include <benchmark/benchmark.h>

#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

#include "micro/micro.hpp"

namespace {

using apiary::micro::must;

constexpr std::size_t message = 64, room = 16'384;

class crowd {
public:
    explicit crowd(std::size_t half) : half_(half) {
        const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        must(::bind(listening, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(listening, 4096) == 0 &&
                 ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) == 0,
             "a listening socket");
        for (std::size_t i = 0; i != 2 * half; ++i) {
            const int client = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
            must(::connect(client, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "a connection");
            const int server = ::accept(listening, nullptr, nullptr);
            for (const int fd : {client, server})
                must(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
            const timeval patience{.tv_sec = 5, .tv_usec = 0};  // an answer that does not come is a failure
            must(::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0, "SO_RCVTIMEO");
            clients_.push_back(client);
            servers_.push_back(server);
        }
        ::close(listening);
        rooms_.resize(2 * half * room);
    }
    ~crowd() {
        for (const auto& all : {clients_, servers_})
            for (const int fd : all) ::close(fd);
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    std::size_t half() const { return half_; }
    std::size_t size() const { return servers_.size(); }
    int server(std::size_t i) const { return servers_[i]; }
    std::byte* buffer(std::size_t i) { return &rooms_[i * room]; }

    void ask(std::size_t which) {
        std::array<std::byte, message> request{};
        for (std::size_t i = which * half_; i != (which + 1) * half_; ++i)
            must(::send(clients_[i], request.data(), message, 0) == message, "a request");
    }
    void hear(std::size_t which) {
        std::array<std::byte, message> answer;
        for (std::size_t i = which * half_; i != (which + 1) * half_; ++i)
            must(::recv(clients_[i], answer.data(), message, MSG_WAITALL) == message, "an answer");
    }

    // The server's calls where nothing else does them. False: nothing has come.
    bool receive(std::size_t i) {
        const auto n = ::recv(servers_[i], buffer(i), room, MSG_DONTWAIT);
        must(n == message || (n < 0 && errno == EAGAIN), "recv");
        return n > 0;
    }
    void send(std::size_t i, const std::byte* from) {
        must(::send(servers_[i], from, message, MSG_DONTWAIT | MSG_NOSIGNAL) == message, "send");
    }

private:
    const std::size_t half_;
    std::vector<int> clients_, servers_;
    std::vector<std::byte> rooms_;
};

// As epoll_driver and byte_stream do it: edge-triggered, both directions, a short read is the last.
class by_epoll {
public:
    explicit by_epoll(crowd& of) : of_(of), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        for (std::size_t i = 0; i != of.size(); ++i) {
            epoll_event e{};
            e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
            e.data.u64 = i;
            must(::epoll_ctl(epoll_, EPOLL_CTL_ADD, of.server(i), &e) == 0, "epoll_ctl");
        }
        std::array<epoll_event, 64> first;  // all are writable
        while (::epoll_pwait2(epoll_, first.data(), first.size(), &at_once, nullptr) > 0) continue;
    }
    ~by_epoll() { ::close(epoll_); }
    by_epoll(const by_epoll&) = delete;
    by_epoll& operator=(const by_epoll&) = delete;

    void answer() {
        for (std::size_t answered = 0; answered != of_.half();) {
            std::array<epoll_event, 64> events;
            const int n = ::epoll_pwait2(epoll_, events.data(), events.size(), nullptr, nullptr);
            for (int e = 0; e < n; ++e) {
                const std::size_t i = events[static_cast<std::size_t>(e)].data.u64;
                if (!of_.receive(i)) continue;
                of_.send(i, of_.buffer(i));
                ++answered;
            }
        }
    }
    void flush() {}
    static constexpr bool submits_later = false;

private:
    static constexpr timespec at_once{};
    crowd& of_;
    const int epoll_;
};

#if defined(IORING_SETUP_DEFER_TASKRUN)
class ring {
public:
    ring() {
        io_uring_params p{};
        p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
        fd_ = static_cast<int>(::syscall(SYS_io_uring_setup, entries, &p));
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "io_uring_setup");
        const std::size_t size = std::max(p.sq_off.array + p.sq_entries * sizeof(unsigned),
                                          p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe));
        auto* const both = map<std::byte>(size, IORING_OFF_SQ_RING);
        sqes_ = map<io_uring_sqe>(p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
        const auto word = [both](unsigned at) { return reinterpret_cast<unsigned*>(both + at); };
        tail_ = word(p.sq_off.tail);
        heads_ = word(p.cq_off.head);
        tails_ = word(p.cq_off.tail);
        cqes_ = reinterpret_cast<io_uring_cqe*>(both + p.cq_off.cqes);
        mask_ = p.cq_entries - 1;
        for (unsigned i = 0; i != p.sq_entries; ++i) word(p.sq_off.array)[i] = i;
    }
    ~ring() { ::close(fd_); }
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    io_uring_sqe& next(std::uint8_t operation, int fd, std::uint64_t tag) {
        must(queued_ != entries, "room in the ring");
        io_uring_sqe& e = sqes_[(*tail_ + queued_++) % entries];
        std::memset(&e, 0, sizeof e);
        e.opcode = operation;
        e.fd = fd;
        e.user_data = tag;
        return e;
    }
    // Submits what is queued, and waits for so many completions.
    void enter(unsigned least) {
        std::atomic_ref(*tail_).store(*tail_ + queued_, std::memory_order_release);
        const auto n =
            ::syscall(SYS_io_uring_enter, fd_, queued_, least, least ? IORING_ENTER_GETEVENTS : 0, nullptr, 0);
        must(n == static_cast<long>(queued_), "io_uring_enter");
        queued_ = 0;
    }
    template <class Call>
    void reap(Call call) {
        const unsigned end = std::atomic_ref(*tails_).load(std::memory_order_acquire);
        for (unsigned at = *heads_; at != end; ++at) {
            const io_uring_cqe& e = cqes_[at & mask_];
            must(e.res >= 0, "an operation of the ring");
            call(e);
        }
        std::atomic_ref(*heads_).store(end, std::memory_order_release);
    }
    void offer_buffers(io_uring_buf* ring_of, unsigned n) {
        io_uring_buf_reg r{};
        r.ring_addr = reinterpret_cast<std::uintptr_t>(ring_of);
        r.ring_entries = n;
        must(::syscall(SYS_io_uring_register, fd_, IORING_REGISTER_PBUF_RING, &r, 1) == 0, "a ring of buffers");
    }

private:
    static constexpr unsigned entries = 256;
    template <class T>
    T* map(std::size_t size, std::int64_t at) const {
        void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, at);
        must(p != MAP_FAILED, "the ring's memory");  // the benchmark's process ends soon: it stays mapped
        return static_cast<T*>(p);
    }

    int fd_;
    unsigned *tail_, *heads_, *tails_, mask_, queued_ = 0;
    io_uring_sqe* sqes_;
    io_uring_cqe* cqes_;
};

enum class reads {
    polled,
    completed,
    from_pool
};  // from_pool: one order for all reads, into buffers offered beforehand
enum class writes { called, completed };

template <reads Read, writes Write>
class by_ring {
public:
    explicit by_ring(crowd& of) : of_(of), pool_(buffers * room) {
        if constexpr (Read == reads::from_pool) {
            void* const p = ::mmap(nullptr, buffers * sizeof(io_uring_buf), PROT_READ | PROT_WRITE,
                                   MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
            must(p != MAP_FAILED, "memory");
            free_ = static_cast<io_uring_buf*>(p);
            for (unsigned b = 0; b != buffers; ++b) give_back(b);
            ring_.offer_buffers(free_, buffers);
        }
        for (std::size_t i = 0; i != of.size(); ++i) {
            order(i);
            if (i % 64 == 0) ring_.enter(0);
        }
        ring_.enter(0);
    }

    void answer() {
        for (std::size_t answered = 0; answered != of_.half();) {
            ring_.enter(1);
            give_back_sent();
            ring_.reap([&](const io_uring_cqe& e) {
                const std::size_t i = e.user_data;
                const std::byte* from = of_.buffer(i);
                if constexpr (Read == reads::polled) {
                    if (!of_.receive(i)) return;
                } else {
                    must(e.res == message, "a read");
                }
                if constexpr (Read == reads::from_pool) {
                    used_[in_use_++] = e.flags >> IORING_CQE_BUFFER_SHIFT;
                    from = &pool_[used_[in_use_ - 1] * room];
                }
                send(i, from);
                if (Read == reads::completed || !(e.flags & IORING_CQE_F_MORE)) order(i);
                ++answered;
            });
            if constexpr (Write == writes::called) give_back_sent();
        }
    }
    static constexpr bool submits_later = Write == writes::completed;
    // In place of the next call that waits.
    void flush() {
        ring_.enter(0);
        give_back_sent();
    }

private:
    static constexpr unsigned buffers = 128;

    void order(std::size_t i) {
        if constexpr (Read == reads::polled) {
            io_uring_sqe& e = ring_.next(IORING_OP_POLL_ADD, of_.server(i), i);
            e.poll32_events = EPOLLIN | EPOLLRDHUP | static_cast<std::uint32_t>(EPOLLET);
            e.len = IORING_POLL_ADD_MULTI;
        } else {
            io_uring_sqe& e = ring_.next(IORING_OP_RECV, of_.server(i), i);
            if constexpr (Read == reads::from_pool) {
                e.ioprio = IORING_RECV_MULTISHOT;
                e.flags = IOSQE_BUFFER_SELECT;
            } else {
                e.ioprio = IORING_RECVSEND_POLL_FIRST;  // nothing has come yet
                e.addr = reinterpret_cast<std::uintptr_t>(of_.buffer(i));
                e.len = room;
            }
        }
    }
    void send(std::size_t i, const std::byte* from) {
        if constexpr (Write == writes::called) return of_.send(i, from);
        io_uring_sqe& e = ring_.next(IORING_OP_SEND, of_.server(i), i);
        e.addr = reinterpret_cast<std::uintptr_t>(from);
        e.len = message;
        e.msg_flags = MSG_NOSIGNAL;
        e.flags = IOSQE_CQE_SKIP_SUCCESS;  // else the server's wait would end with each
    }
    // The kernel has copied an answer when the call that submitted it returns: the socket has room for it.
    void give_back_sent() {
        while (in_use_ != 0) give_back(used_[--in_use_]);
    }
    void give_back(unsigned b) {
        const std::uint16_t tail = free_[0].resv;  // the kernel reads the ring's tail there
        io_uring_buf& at = free_[tail % buffers];
        at.addr = reinterpret_cast<std::uintptr_t>(&pool_[b * room]);
        at.len = room;
        at.bid = static_cast<std::uint16_t>(b);
        std::atomic_ref(free_[0].resv).store(static_cast<std::uint16_t>(tail + 1), std::memory_order_release);
    }

    crowd& of_;
    ring ring_;
    std::vector<std::byte> pool_;
    io_uring_buf* free_ = nullptr;
    std::array<unsigned, buffers> used_{};
    unsigned in_use_ = 0;
};
#endif

template <class Form>
void request(benchmark::State& state) {
    crowd all(static_cast<std::size_t>(state.range(0)));
    try {
        Form form(all);
        std::size_t now = 0, rounds = 0;
        for (auto _ : state) {
            all.ask(now);
            const std::int64_t begin = apiary::real_sync::now_ns();
            form.answer();  // and its first call submits the answers to the other half
            state.SetIterationTime(static_cast<double>(apiary::real_sync::now_ns() - begin) * 1e-9);
            now = 1 - now;
            if (Form::submits_later && rounds++ != 0) all.hear(now);
            if (!Form::submits_later) all.hear(1 - now);
        }
        if (Form::submits_later && rounds != 0) {
            form.flush();
            all.hear(1 - now);
        }
        state.SetItemsProcessed(state.iterations() * state.range(0));
    } catch (const std::system_error& refused) {
        state.SkipWithError(refused.what());
    }
}

void at_sizes(benchmark::internal::Benchmark* b) { b->Arg(1)->Arg(16)->UseManualTime(); }

BENCHMARK(request<by_epoll>)->Name("request/epoll")->Apply(at_sizes);
#if defined(IORING_SETUP_DEFER_TASKRUN)
template <reads Read, writes Write>
void on_ring(benchmark::State& state) {
    request<by_ring<Read, Write>>(state);
}
BENCHMARK(on_ring<reads::polled, writes::called>)->Name("request/ring_polls")->Apply(at_sizes);
BENCHMARK(on_ring<reads::completed, writes::called>)->Name("request/ring_reads")->Apply(at_sizes);
BENCHMARK(on_ring<reads::completed, writes::completed>)->Name("request/ring_reads_and_sends")->Apply(at_sizes);
BENCHMARK(on_ring<reads::from_pool, writes::called>)->Name("request/ring_reads_from_pool")->Apply(at_sizes);
BENCHMARK(on_ring<reads::from_pool, writes::completed>)
    ->Name("request/ring_reads_from_pool_and_sends")
    ->Apply(at_sizes);
#endif

}  // namespace

BENCHMARK_MAIN();
