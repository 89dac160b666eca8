// driver: the jobs of a search, each a process, and what their verdicts are together.
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <new>
#include <vector>

#include <apiary/model_check/explorer/searcher.hpp>
#include <apiary/model_check/job.hpp>

namespace apiary::model::explorer {

namespace {

// The worst of two: an error hides nothing, a failure outranks an ended budget.
unsigned rank(outcome o) {
    switch (o) {
        case outcome::pass:
            return 0;
        case outcome::budget_ended:
            return 1;
        case outcome::error:
            return 2;
        case outcome::fail:
            return 3;
    }
    return 2;
}

void merge(verdict& into, verdict&& part) {
    if (rank(part.result) > rank(into.result)) std::swap(into, part);
    add_counts(into, part);
}

// Memory that the jobs share; all zero. Null where there is none.
template <class T>
class shared {
public:
    explicit shared(std::size_t n)
        : bytes_(n * sizeof(T)),
          at_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
    ~shared() {
        if (at_ != MAP_FAILED) ::munmap(at_, bytes_);
    }
    shared(const shared&) = delete;
    shared& operator=(const shared&) = delete;
    [[nodiscard]] T* get() const { return at_ == MAP_FAILED ? nullptr : static_cast<T*>(at_); }

private:
    std::size_t bytes_;
    void* at_;
};

verdict run_jobs(const program& p, const search_options& options) {
    const auto began = std::chrono::steady_clock::now();
    const bool parts = in_parts(options);
    const unsigned count = parts ? std::min(options.jobs, parts_of_a_search) : options.jobs;
    const shared<engine::claim> claims(engine::claims);
    const shared<part_board> board(1);
    if (claims.get() == nullptr || board.get() == nullptr)
        return error_verdict("the explorer got no memory for its jobs to share");
    new (board.get()) part_board(count);

    std::list<job> jobs;
    for (unsigned i = 0; i < count; ++i)
        jobs.emplace_back(
            [&, i] {
                search_options mine = options;
                searcher::company with{i, count, nullptr, nullptr};
                if (parts) {
                    with.board = board.get();
                } else if (is_exhaustive(options.mode)) {
                    with.claims = claims.get();
                } else {  // lines with few preemptions: shards of a shard, congruent to it modulo its count
                    mine.shard = options.shard + options.shards * i;
                    mine.shards = options.shards * count;
                }
                return searcher(p, mine, with).run();
            },
            job::group::inherited);
    for (;;) {
        std::vector<pollfd> wait;
        std::vector<job*> running;
        for (job& j : jobs)
            if (!j.done()) wait.push_back({j.descriptor(), POLLIN, 0}), running.push_back(&j);
        // One that died leaves the others waiting for its turn to end.
        const bool lost = std::ranges::any_of(jobs, [&](job& j) {
            return j.done() && j.result().result == outcome::error && parts &&
                   board.get()->stopped == parts_of_a_search;
        });
        if (lost) {
            for (job* j : running) j->stop({});
            jobs.remove_if([](job& j) { return j.result().reason.empty() && j.result().result == outcome::error; });
        }
        if (running.empty() || lost) break;
        ::poll(wait.data(), wait.size(), -1);
        for (std::size_t i = 0; i != running.size(); ++i)
            if (wait[i].revents != 0) running[i]->pump();
    }
    verdict all = std::move(jobs.front().result());
    for (auto j = std::next(jobs.begin()); j != jobs.end(); ++j) merge(all, std::move(j->result()));
    all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return all;
}

}  // namespace

verdict explore(const program& p, const search_options& options) {
    const bool guess = options.estimate && options.replay.empty() && is_exhaustive(options.mode);
    const std::uint64_t estimated = guess ? searcher(p, options).estimate() : 0;
    // Lines with few preemptions come in one order: a budget of executions cuts it in one place.
    const bool one_line = options.mode == search_mode::bound && options.max_executions != 0;
    const bool several = options.jobs > 1 && options.replay.empty() && options.from.empty() && !one_line;
    verdict v = several ? run_jobs(p, options) : searcher(p, options).run();
    v.estimated_executions = estimated;
    return v;
}

}  // namespace apiary::model::explorer
