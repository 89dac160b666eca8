// The hive's server: a coroutine for each connection, on byte streams. A connection stays with the worker that watches
// it: its coroutine goes on there, inside the report.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <apiary/bench/serving.hpp>
#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/one_worker.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/testing/plain_coroutine.hpp>

namespace apiary::bench {

template <class Hive>
class hive_server {
    using service = one_worker<Hive>;
    using stream = byte_stream<service>;

public:
    hive_server(Hive& h, unsigned workers, const serving& what) : hive_(h), what_(what) {
        for (unsigned w = 0; w < workers; ++w) services_.emplace_back(h, w);
        must_accept(hive_.post_to_worker(0, [this] { accepts({here_}); }));
    }
    ~hive_server() {
        for (unsigned n; (n = running_->load(std::memory_order_acquire)) != 0;) running_->wait(n);
    }
    hive_server(const hive_server&) = delete;
    hive_server& operator=(const hive_server&) = delete;

private:
    plain_coroutine<> accepts(coroutine_place<>) {
        for (unsigned next = 0;;) {
            const int fd = ::accept4(what_.listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) {
                const unsigned w = next++ % static_cast<unsigned>(services_.size());
                running_->fetch_add(1, std::memory_order_relaxed);
                must_accept(hive_.post_to_worker(w, [this, w, fd] {
                    what_.backends.empty() ? echoes({here_}, services_[w], fd) : asks({here_}, services_[w], fd);
                }));
            } else if (errno == EAGAIN) {
                const awaited how = co_await readable(services_[0], what_.listening);
                if (how != awaited::done) break;
            } else if (errno != EINTR && errno != ECONNABORTED) {
                if (errno != EINVAL) std::perror("accept");
                break;
            }
        }
        leave();
    }

    // Answers the whole messages of a read with one write.
    plain_coroutine<> echoes(coroutine_place<>, service& here, int fd) {
        {
            serving::send_at_once(fd);
            stream client(here, fd);
            requests seen(what_.bytes);
            for (;;) {
                const transfer got = co_await client.read_some(seen.room());
                if (got.bytes == 0) break;
                seen.add(got.bytes);
                const auto whole = seen.whole();
                what_.answer(whole);
                const transfer put = co_await client.write_all(whole);
                if (put.how != awaited::done) break;
                seen.drop(whole.size());
            }
        }
        leave();
    }

    // Asks for each request, and answers when all have.
    plain_coroutine<> asks(coroutine_place<>, service& here, int fd) {
        {
            serving::send_at_once(fd);
            stream client(here, fd);
            std::deque<stream> backends;
            for (const std::uint16_t port : what_.backends) backends.emplace_back(here, serving::connected(port));
            requests seen(what_.bytes);
            // A read that fills its room is followed by another one.
            std::vector<std::byte> part(what_.bytes + 1);
            for (bool well = true; well;) {
                const transfer got = co_await client.read_some(seen.room());
                if (got.bytes == 0) break;
                seen.add(got.bytes);
                const auto whole = seen.whole();
                for (std::size_t at = 0; at != whole.size() && well; at += what_.bytes) {
                    const auto request = whole.subspan(at, what_.bytes);
                    for (std::uint64_t j = 0; j != what_.ask && well; ++j) {
                        const transfer put = co_await backends[what_.backend(request.data(), j)].write_all(request);
                        well = put.how == awaited::done;
                    }
                    std::uint64_t sum = 0;
                    for (std::uint64_t j = 0; j != what_.ask && well; ++j) {
                        stream& of = backends[what_.backend(request.data(), j)];
                        std::size_t n = 0;
                        while (n < what_.bytes && well) {
                            const transfer some = co_await of.read_some(std::span(part).subspan(n));
                            n += some.bytes;
                            well = some.bytes != 0;
                        }
                        well = well && n == what_.bytes;  // more than an answer is an answer of another kind
                        sum += serving::part_of(part.data());
                    }
                    if (!well) break;
                    what_.finish(request.data(), sum);
                    const transfer put = co_await client.write_all(request);
                    well = put.how == awaited::done;
                }
                seen.drop(whole.size());
            }
        }
        leave();
    }

    void leave() {
        const auto running = running_;  // the server may go before it is notified
        running->fetch_sub(1, std::memory_order_release);
        running->notify_one();
    }

    Hive& hive_;
    const serving what_;
    static inline resume_here<> here_;  // a home outlives the last return of its resume
    std::deque<service> services_;
    const std::shared_ptr<std::atomic<unsigned>> running_ = std::make_shared<std::atomic<unsigned>>(1);  // coroutines
};

}  // namespace apiary::bench
