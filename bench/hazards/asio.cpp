// The hazards of Boost.Asio's thread_pool: post, and join. Its handlers do not wait for each other, so nothing nests.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>

#include "peer.hpp"

namespace {

namespace asio = boost::asio;
using namespace apiary::hazards;

// A handler posts the next one.
struct chain {
    asio::thread_pool& pool;
    std::uint64_t depth;
    counter ran = 0;
    void link() {
        if (++ran < depth) asio::post(pool, [this] { link(); });
    }
};
answer deep_recursion(const asked& a) {
    asio::thread_pool pool(a.workers);
    chain links{pool, a.depth};
    asio::post(pool, [&] { links.link(); });
    pool.join();
    return counted(links.ran, a.depth);
}
template <class F>
answer throws(const asked& a, F throwing) {
    asio::thread_pool pool(a.workers);
    return throws_once([&] { throwing(pool); }, [&](auto task) { asio::post(pool, task); }, [&] { pool.join(); });
}
answer throw_body(const asked& a) {
    return throws(a, [](auto& pool) { asio::post(pool, [] { throw thrown(); }); });
}
answer throw_nested(const asked& a) {
    return throws(a, [](auto& pool) { asio::post(pool, [&pool] { asio::post(pool, [] { throw thrown(); }); }); });
}
answer throw_spawn(const asked& a) {
    return throws(a, [](auto& pool) { asio::post(pool, throws_when_copied()); });
}
std::uint64_t work_on(unsigned workers, std::uint64_t tasks) {
    counter ran = 0;
    asio::thread_pool pool(workers);
    for (std::uint64_t i = 0; i != tasks; ++i) asio::post(pool, [i, &ran] { compute_one(i), ++ran; });
    pool.join();
    return ran;
}
answer two_pools(const asked& a) {
    counter ran = 0;
    asio::thread_pool one(a.workers), other(a.workers);
    for (int i = 0; i != 100; ++i)
        asio::post(one, [&] {
            for (int k = 0; k != 10; ++k) asio::post(other, [&] { ++ran; });
        });
    one.join();
    other.join();
    return counted(ran, 1'000);
}
answer idle(const asked& a) {
    asio::thread_pool pool(a.workers);
    counter ran = 0;
    for (unsigned i = 0; i != 1'000; ++i) asio::post(pool, [i, &ran] { compute_one(i), ++ran; });
    while (ran != 1'000) sleep_for_us(100);
    return idle_burn(a);
}
answer first_task(const asked& a) {
    return first_of([&] { return std::make_unique<asio::thread_pool>(a.workers); },
                    [](auto& pool, auto task) { asio::post(pool, task); });
}
answer to_its_end(const asked& a) {
    asio::thread_pool pool(a.workers);
    counter ran = 0;
    for (unsigned i = 0; i != 1'000; ++i) asio::post(pool, [i, &ran] { compute_one(i), ++ran; });
    while (ran != 1'000) sleep_for_us(100);
    const double before = clock_seconds();
    pool.join();
    return {true, (clock_seconds() - before) * 1e6, "us"};
}

}  // namespace

int main(int argc, char** argv) {
    peer of{.name = "asio", .version = BOOST_LIB_VERSION, .work_on = work_on};
    of.more = {{"deep_recursion", deep_recursion}, {"throw_body", throw_body}, {"throw_spawn", throw_spawn},
               {"throw_nested", throw_nested},     {"two_pools", two_pools},   {"idle", idle},
               {"first_task", first_task},         {"to_its_end", to_its_end}};
    return of.main(argc, argv);
}
