// fork_list: the jobs of one worker that forks, threaded through its stack frames. Nobody else sees them until a hungry
// worker asks; then the owner offers the oldest to all.
//
// When to use it. Below fork-join in function form, where a fork must cost little more than a call. When not: for jobs
// that outlive the frame that made them (chase_lev_deque).
//
// A fork that no thief takes costs here two plain stores, two loads and a comparison (push, asked); its join costs a
// load, a comparison and a store (pop). fork_join adds the store of the function that the job calls. There is no atomic
// read-modify-write, no fence and no allocation.
//
// A job knows the next older one. A hand-out must know which job is the next newer than the oldest. If no job is
// linked, or only the oldest, the hand-out walks down the list and links all jobs upwards. It marks the newest linked
// job by hiding its `older`, so that pop takes a longer way there and marks the next one (I5). Each job is walked over
// once, and once more as the oldest; its pop takes the longer way at most once. So all of this costs a constant for
// each fork and each hand-out, although a single hand-out may walk over the whole list.
//
// Threads.   push, asked, pop and its variants, oldest, newest, empty, is_private, hand_out, take_back, joiner_slept:
//            the owner. look, take, ask: any. begin, end: the thief that took the job, on its own list. held_or_over,
//            ended, over, wait_begins, wait_ended: the joiner, which owns the list that the job came from.
// Progress.  Everything is wait-free, except held_or_over, which waits for the thief's next step. oldest, pop_oldest
//            and hand_out take at most as many steps as there are jobs.
// Lifetime.  A job lies in the frame of its joiner. After the exchange of `end` only the joiner touches it (exhibit
//            B25), and before its take no thief does: a thief looks at the word of the offer, not at the job it points
//            to.
//
// Invariants
//   I1  The jobs that were handed out are the oldest: a job is private only if all newer ones are. So at the join of a
//       job that was handed out the list is empty, and at the join of a stolen one the offer, too.
//   I2  An offered job leaves the offer once: by the compare-exchange of a thief, or of its owner.
//   I3  The offer carries the tag of the work that its owner runs, a number that is new with each theft. So the joiner
//       of a stolen job, which knows the tag of that theft, takes nothing from the thief but descendants of the job,
//       although the thief may end it meanwhile and begin another. This holds until a tag comes back: the joiner would
//       have to stand between its look and its take while the thief begins 2^tag_bits jobs and forks at the same
//       address.
//   I4  `progress` of a stolen job: offered -> held by (thief, tag) <-> awaited; held or awaited -> done or failed. The
//       joiner turns held into awaited before it sleeps; either of the two turns it back.
//   I5  The linked jobs are the oldest private ones, up to `linked_`. Each knows the next newer one, except `linked_`,
//       whose `older` is null and is kept in `below_linked_`. So the newest job of the list is `linked_`, or has its
//       `older`. If `linked_` is null, no job is linked.
//
// Synchronisation
//   S1  hand_out: store offer (release) -> take: compare-exchange (acquire). Publishes the job.
//   S2  end: exchange progress (release) -> joiner: load (acquire). Publishes result and exception, and ends the
//       thief's use of the frame. Both sides change `progress` by read-modify-writes: either the exchange sees that the
//       joiner sleeps, and the thief's thread wakes it, or the joiner's compare-exchange fails.
//   S3  A thief that has offered something, and the joiner of what it runs, about to sleep. Thief: hand_out, light
//       fence, look at progress (joiner_slept). Joiner: compare-exchange, heavy fence (wait_begins), look at the offer.
//       One of the two sees the other. If both missed each other, only parallelism would be lost.
//
// Checked by model_check/schedulers/fork_join. Tested by fork_list_test.cpp. Stressed by stress/schedulers/fork_join.
// Wagner, Calder: Leapfrogging, PPoPP 1993 (I3); Acar, Charguéraud, Rainey: Scheduling parallel programs by work
// stealing with private deques, PPoPP 2013.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync>
struct fork_job {
    // Runs the job on the worker whose context is given. True: an exception left the job, and is stored in it.
    using body = bool (*)(fork_job&, void* context);

    using progress_word = typename Sync::template atomic<std::uint64_t>;

    typename Sync::template cell<body> run;
    // Only for the owner, while the job is private. `older` is null after the hand-out, and in the newest linked job;
    // linking writes `newer` (fork_list I5).
    typename Sync::template cell<fork_job*> older, newer;
    // Constructed only at the hand-out: std::atomic's default constructor would store a zero in every fork, a seventh
    // of its cost.
    union {
        progress_word progress;
    };

    fork_job() {
        if constexpr (Sync::checked) begin_progress();
    }
    ~fork_job() {
        if constexpr (Sync::checked) progress.~progress_word();
    }
    fork_job(const fork_job&) = delete;
    fork_job& operator=(const fork_job&) = delete;
    void begin_progress() { ::new (static_cast<void*>(&progress)) progress_word(std::uint64_t{0}); }
};

// The value of a job's progress word, with its fields.
struct fork_progress {
    enum phase : std::uint8_t { offered = 0, held, awaited, done, failed };
    static constexpr unsigned phase_bits = 8, thief_bits = 16;

    std::uint64_t value = offered;

    static constexpr fork_progress of_thief(phase p, unsigned thief, std::uint64_t tag) {
        return {p | std::uint64_t{thief} << phase_bits | tag << (phase_bits + thief_bits)};
    }
    constexpr phase is() const { return static_cast<phase>(value & 0xFF); }
    constexpr bool over() const { return is() >= done; }
    constexpr unsigned thief() const { return (value >> phase_bits) & 0xFFFF; }
    constexpr std::uint64_t tag() const { return value >> (phase_bits + thief_bits); }
    constexpr fork_progress as(phase p) const { return {(value & ~std::uint64_t{0xFF}) | p}; }
};

// User space lies below 2^48 on the supported systems. hand_out checks that, and offers no job that lies higher.
struct fork_list_limits {
    static constexpr unsigned tag_bits = 16;
};

template <class Sync = real_sync, class Limits = fork_list_limits>
class fork_list {
public:
    using job = fork_job<Sync>;
    using word = std::uint64_t;  // an offer: job and tag. 0: none

    fork_list() {
        // A new list counts as asked: the other workers are hungry until they have found something.
        guard_.store(request, std::memory_order_relaxed);
        offer_.store(0, std::memory_order_relaxed);
        front_.newer.write(nullptr);  // a hand-out writes it before it is read, which g++ does not see
    }
    fork_list(const fork_list&) = delete;
    fork_list& operator=(const fork_list&) = delete;

    // Call it before the first fork. `lowest`: the address of a stack that grows downwards below which `asked` answers
    // yes.
    void limit_stack(std::uintptr_t lowest) { lowest_ = lowest; }
    std::uintptr_t lowest() const { return lowest_; }

    // Caller: the owner. `address` is the job's, in the form in which the caller wants it computed (address_anew).
    [[gnu::always_inline]] void push(job& j, job* address) {
        j.older.write(newest_);
        newest_ = address;
    }
    [[gnu::always_inline]] void push(job& j) { push(j, &j); }
    // True if a hungry worker has asked, or the stack nears its end. Every fork makes this test, hence a single
    // comparison.
    [[gnu::always_inline]] bool asked(const void* here) const {
        return reinterpret_cast<std::uintptr_t>(here) < guard_.load(std::memory_order_relaxed);
    }
    // Pops j, the newest job. False: it was handed out. Precondition: all newer jobs have been popped.
    [[nodiscard]] bool pop(job& j) { return pop_unlinked(j) || pop_linked(j); }
    // The two halves of pop, for callers that keep the second out of line: call pop_linked directly after a false
    // pop_unlinked.
    [[nodiscard, gnu::always_inline]] bool pop_unlinked(job& j) {
        job* const older = j.older.read();
        if (older == nullptr) [[unlikely]]
            return false;
        newest_ = older;
        return true;
    }
    [[nodiscard]] bool pop_linked(const job& j) {
        if (&j != linked_) return false;
        newest_ = below_linked_;
        if (newest_ == &front_)
            linked_ = nullptr;
        else
            mark_newest();
        return true;
    }
    // Precondition: the list is not empty.
    [[gnu::always_inline]] void pop_newest() {
        if (!pop_unlinked(*newest_)) [[unlikely]]
            (void)pop_linked(*newest_);
    }
    // Precondition of both: the list is not empty. After pop_oldest the job counts as handed out: pop answers false for
    // it.
    job* oldest() {
        if (linked_ == nullptr || (linked_ == front_.newer.read() && linked_ != newest_)) link();
        return front_.newer.read();
    }
    job* pop_oldest() {
        job* const j = oldest();
        if (j == newest_) {
            newest_ = &front_;
            linked_ = nullptr;
            return j;
        }
        job* const next = j->newer.read();
        front_.newer.write(next);
        if (next == linked_)
            below_linked_ = &front_;
        else
            next->older.write(&front_);
        j->older.write(nullptr);
        return j;
    }
    bool empty() const { return newest_ == &front_; }
    const job* newest() const { return newest_; }  // only to compare with: if the list is empty this is no job
    bool is_private(const job& j) const { return j.older.read() != nullptr || &j == linked_; }

    // Offers the oldest job, and notes that the request is met. False: no job is private, or an offer stands. A request
    // that comes at the same time may be overwritten: its thief finds the offer, or asks again before it sleeps.
    bool hand_out() {
        if (empty()) return false;
        guard_.store(lowest_, std::memory_order_relaxed);
        if (offer_.load(std::memory_order_relaxed) != 0) return false;
        if (reinterpret_cast<std::uintptr_t>(oldest()) >> pointer_bits != 0) return false;
        job* const j = pop_oldest();
        if constexpr (!Sync::checked) j->begin_progress();
        offer_.store(word_of(*j), std::memory_order_release);  // S1
        return true;
    }
    // True: no thief has the job, and none will get it. Relaxed: the owner itself has written the job.
    [[nodiscard]] bool take_back(job& j) {
        word seen = word_of(j);
        const bool taken =
            offer_.compare_exchange_strong(seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
        assert((taken || seen == 0) && "fork_list: joined before a job, or a scope, that is younger");  // I1
        return taken;
    }

    // Caller: any. The job on offer, or 0.
    word look() const { return offer_.load(std::memory_order_relaxed); }
    static constexpr std::uint64_t tag(word w) { return w >> pointer_bits; }
    // Null: the job is no longer on offer. Precondition: w is not 0.
    [[nodiscard]] job* take(word w) {
        if (!offer_.compare_exchange_strong(w, 0, std::memory_order_acquire, std::memory_order_relaxed))  // S1
            return nullptr;
        return reinterpret_cast<job*>(static_cast<std::uintptr_t>(w & ((word{1} << pointer_bits) - 1)));
    }
    // Asks for a job: the owner's next fork sees the request.
    void ask() {
        if (guard_.load(std::memory_order_relaxed) != request) guard_.store(request, std::memory_order_relaxed);
    }

    // A job that this worker runs for another one. begin returns the former visit, which end restores.
    struct visit {
        job* theirs = nullptr;
        unsigned joiner = 0;
        std::uint64_t tag = 0;  // 0 while the worker runs its own work
    };
    // Precondition: this list and its offer are empty (I1). `self`: this worker's index; `joiner`: the index of the
    // worker from which it took the job.
    visit begin(job& j, unsigned self, unsigned joiner) {
        const visit before = now_;
        if (++last_tag_ >> Limits::tag_bits != 0) last_tag_ = 1;
        now_ = {&j, joiner, last_tag_};
        // Relaxed: the joiner only learns which list to look at, and it knew that list before.
        j.progress.store(fork_progress::of_thief(fork_progress::held, self, last_tag_).value,
                         std::memory_order_relaxed);
        return before;
    }
    // Publishes the end. True: the joiner sleeps, and the caller must wake it. The job no longer exists by then.
    [[nodiscard]] bool end(job& j, bool failed, const visit& before) {
        now_ = before;
        const fork_progress was{j.progress.exchange(failed ? fork_progress::failed : fork_progress::done,
                                                    std::memory_order_release)};  // S2
        return was.is() == fork_progress::awaited;
    }
    // Call it after hand_out. Returns the worker that sleeps until this one has ended its job, if there is one: it can
    // take the offer, and the caller must wake it.
    [[nodiscard]] std::optional<unsigned> joiner_slept() {
        if (now_.theirs == nullptr) return std::nullopt;
        Sync::fence_light();  // S3
        fork_progress seen{now_.theirs->progress.load(std::memory_order_relaxed)};
        if (seen.is() != fork_progress::awaited || !move(*now_.theirs, seen, fork_progress::held)) return std::nullopt;
        return now_.joiner;
    }

    // The joiner calls the following. After a take_back that came too late: waits until the thief says that it has the
    // job, which is its next step.
    static fork_progress held_or_over(const job& j) {
        return {Sync::spin_until(j.progress, [](std::uint64_t p) { return p != fork_progress::offered; })};  // S2
    }
    // For a job that was handed out, and may still be on offer. True: it is over, and the frame is the joiner's alone.
    static bool ended(const job& j) {
        return fork_progress{j.progress.load(std::memory_order_acquire)}.over();  // S2
    }
    // For a job that is over. Relaxed: the joiner has acquired the end already.
    static fork_progress over(const job& j) { return {j.progress.load(std::memory_order_relaxed)}; }
    // False: the job is over. True: look at the thief's offer once more, then sleep; a wake will come.
    [[nodiscard]] static bool wait_begins(job& j, fork_progress seen) {
        if (!move(j, seen, fork_progress::awaited)) return false;
        Sync::fence_heavy();  // S3
        return true;
    }
    // Call it after a true wait_begins, whether the joiner slept or not, and whatever woke it.
    static void wait_ended(job& j, fork_progress seen) {
        (void)move(j, seen.as(fork_progress::awaited), fork_progress::held);
    }

private:
    static constexpr unsigned pointer_bits = 48;
    static_assert(Limits::tag_bits <= 64 - pointer_bits && sizeof(void*) == sizeof(word));
    static constexpr std::uintptr_t request = UINTPTR_MAX;

    word word_of(const job& j) const { return reinterpret_cast<std::uintptr_t>(&j) | now_.tag << pointer_bits; }
    // Relaxed: it decides which of two threads turns the word, and publishes nothing.
    static bool move(job& j, fork_progress seen, fork_progress::phase to) {
        return j.progress.compare_exchange_strong(seen.value, seen.as(to).value, std::memory_order_relaxed,
                                                  std::memory_order_relaxed);
    }

    // Links all jobs. Precondition: the list is not empty, and at most the oldest is linked.
    [[gnu::noinline, gnu::cold]] void link() {
        if (linked_ != nullptr) linked_->older.write(&front_);
        for (job* j = newest_; j != &front_;) {
            job* const older = j->older.read();
            older->newer.write(j);
            j = older;
        }
        mark_newest();
    }
    void mark_newest() {
        linked_ = newest_;
        below_linked_ = newest_->older.read();
        newest_->older.write(nullptr);
    }

    // The owner's own.
    job front_;  // a sentinel: its `newer` is the oldest job, if jobs are linked
    job* newest_ = &front_;
    job* linked_ = nullptr;        // the newest linked job (I5)
    job* below_linked_ = nullptr;  // its `older`
    visit now_;
    std::uint64_t last_tag_ = 0;
    std::uintptr_t lowest_ = 0;

    // Others write these, seldom.
    alignas(cache_line) typename Sync::template atomic<std::uintptr_t> guard_;
    typename Sync::template atomic<word> offer_;
};

}  // namespace apiary
