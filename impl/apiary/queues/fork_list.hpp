// fork_list: the jobs of one worker that forks, threaded through its stack frames. Nobody else sees
// them, until a hungry worker asks; then the oldest is offered to all.
//
// When to use it. Below fork-join in function form, where a fork must cost little more than a call.
// When not: for jobs that outlive the frame that made them (chase_lev_deque).
//
// A fork that nobody takes is two plain stores here, two loads and a comparison (push, asked), and its
// join a load, a comparison and a store (pop). What the job calls is another store, fork_join's. There is no
// atomic read-modify-write, no fence and no allocation.
//
// A job knows the one that is older. A hand-out must know which one is newer than the oldest. When no job is
// linked, or the oldest alone, the hand-out walks down the list and links all jobs upwards. The newest that
// is linked is marked: its `older` is hidden, so that pop takes a longer way there and marks the next one (I5).
// A job is walked over once, and once more as the oldest; its pop takes the longer way at most once. So all
// of this costs a constant for each fork and each hand-out. A single hand-out may walk over the whole list.
//
// Threads.   push, asked, pop and its like, oldest, newest, empty, is_private, hand_out, take_back, joiner_slept:
//            the owner. look, take, ask: any.
//            begin, end: the thief that took the job, on its own list. wait_begins, wait_ended, and
//            the job's progress: the joiner, which is the owner of the list that the job came from.
// Progress.  Everything is wait-free. oldest, pop_oldest and hand_out: in as many steps as there are jobs.
// Lifetime.  A job lies in the frame of its joiner. Nobody but the joiner touches it after the
//            exchange of `end` (B25), and no thief before its take: a word of the offer is looked at,
//            and what it points to is not.
//
// Invariants
//   I1  Those handed out are the oldest: a job is private only if all that are newer are. So at the
//       join of a job that was handed out the list is empty, and at that of a stolen one the offer, too.
//   I2  An offered job leaves the offer once: by the compare-exchange of a thief, or of its owner.
//   I3  The offer carries the tag of what its owner runs: a number that is new with each theft. So
//       the joiner of a stolen job, which knows the tag of that theft, takes nothing from the thief
//       but descendants of the job, although the thief may end it meanwhile and begin another.
//       It holds until a tag comes back: the joiner would have to stand between its look and its take
//       while the thief begins 2^tag_bits jobs and forks at the same address.
//   I4  `progress` of a stolen job: offered -> held by (thief, tag) <-> awaited -> done or failed. The
//       joiner turns held into awaited before it sleeps; either of the two turns it back.
//   I5  The jobs that are linked are the oldest of the private ones, up to `linked_`. Each knows the next newer
//       one, but for `linked_`, whose `older` is null, and is kept in `below_linked_`. So the newest job of the
//       list is `linked_`, or has its `older`. Null: no job is linked.
//
// Synchronisation
//   S1  hand_out: store offer (release) -> take: compare-exchange (acquire). Publishes the job.
//   S2  end: exchange progress (release) -> joiner: load (acquire). Publishes result and exception, and
//       ends the thief's use of the frame. Being read-modify-writes, either the exchange sees that the
//       joiner sleeps, and its thread wakes it, or the joiner's compare-exchange fails.
//   S3  A thief that has offered something, and the joiner of what it runs, about to sleep: hand_out,
//       light fence, look at progress (joiner_slept); compare-exchange, heavy fence, look at the offer
//       (wait_begins). One of the two sees the other. Store buffering costs no more than parallelism.
//
// Checked by model_check/schedulers/fork_join. Tested by fork_list_test.cpp. Stressed by stress/schedulers/fork_join.
// Wagner, Calder: Leapfrogging, PPoPP 1993 (I3); Acar, Charguéraud, Rainey: Scheduling parallel programs
// by work stealing with private deques, PPoPP 2013.
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
    // Runs the job on the worker whose context this is. True: an exception left it, and is kept.
    using body = bool (*)(fork_job&, void* context);

    using progress_word = typename Sync::template atomic<std::uint64_t>;

    typename Sync::template cell<body> run;
    // The owner's, while the job is private. `older` is null behind the hand-out, and in the newest that is linked;
    // `newer` is written when jobs are linked (fork_list I5).
    typename Sync::template cell<fork_job*> older, newer;
    // Begins with the hand-out: std::atomic's default constructor stores a zero, which is a seventh of what a fork takes.
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

// What a job's progress says, readable.
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

// User space lies below 2^48 on the systems that this is for; hand_out looks, and offers nothing else.
struct fork_list_limits {
    static constexpr unsigned tag_bits = 16;
};

template <class Sync = real_sync, class Limits = fork_list_limits>
class fork_list {
public:
    using job = fork_job<Sync>;
    using word = std::uint64_t;  // an offer: job and tag. 0: none

    fork_list() {
        guard_.store(request, std::memory_order_relaxed);  // the others are hungry until they have found something
        offer_.store(0, std::memory_order_relaxed);
        front_.newer.write(nullptr);  // not read before a hand-out writes it, which g++ does not see
    }
    fork_list(const fork_list&) = delete;
    fork_list& operator=(const fork_list&) = delete;

    // Before the first fork. Below this address of a stack that grows downwards `asked` answers yes.
    void limit_stack(std::uintptr_t lowest) { lowest_ = lowest; }
    std::uintptr_t lowest() const { return lowest_; }

    // The owner's. `address`: of the job, as its caller would have it computed (address_anew).
    [[gnu::always_inline]] void push(job& j, job* address) {
        j.older.write(newest_);
        newest_ = address;
    }
    [[gnu::always_inline]] void push(job& j) { push(j, &j); }
    // Whether a hungry worker has asked, or the stack nears its end. One comparison for both: every fork makes it.
    [[gnu::always_inline]] bool asked(const void* here) const {
        return reinterpret_cast<std::uintptr_t>(here) < guard_.load(std::memory_order_relaxed);
    }
    // The newest, unless it was handed out. Precondition: all that are newer were popped.
    [[nodiscard]] bool pop(job& j) { return pop_unlinked(j) || pop_linked(j); }
    // Its two halves, for callers that keep the second out of line: pop_linked directly behind a pop_unlinked that was false.
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
    // Precondition: not empty.
    [[gnu::always_inline]] void pop_newest() {
        if (!pop_unlinked(*newest_)) [[unlikely]]
            (void)pop_linked(*newest_);
    }
    // Precondition of both: not empty. Behind pop_oldest the job counts as handed out: pop answers false.
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
    const job* newest() const { return newest_; }  // to compare with; no job when the list is empty
    bool is_private(const job& j) const { return j.older.read() != nullptr || &j == linked_; }

    // Offers the oldest, and takes note that the request is met. False: none is private, or an offer stands. A request that
    // comes at the same time may be overwritten: its thief finds the offer, or asks again before it sleeps.
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
    // True: no thief has the job, and none will. Relaxed: the owner has written it itself.
    [[nodiscard]] bool take_back(job& j) {
        word seen = word_of(j);
        const bool taken =
            offer_.compare_exchange_strong(seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
        assert((taken || seen == 0) && "fork_list: joined before a job, or a scope, that is younger");  // I1
        return taken;
    }

    // Anyone's. What is on offer, or 0.
    word look() const { return offer_.load(std::memory_order_relaxed); }
    static constexpr std::uint64_t tag(word w) { return w >> pointer_bits; }
    // Null: it is no longer on offer. Precondition: w is not 0.
    [[nodiscard]] job* take(word w) {
        if (!offer_.compare_exchange_strong(w, 0, std::memory_order_acquire, std::memory_order_relaxed))  // S1
            return nullptr;
        return reinterpret_cast<job*>(static_cast<std::uintptr_t>(w & ((word{1} << pointer_bits) - 1)));
    }
    // The owner's next fork will see it.
    void ask() {
        if (guard_.load(std::memory_order_relaxed) != request) guard_.store(request, std::memory_order_relaxed);
    }

    // What this worker runs for another one; it gets the former back when it has ended that.
    struct visit {
        job* theirs = nullptr;
        unsigned joiner = 0;
        std::uint64_t tag = 0;  // of own work: 0
    };
    // Precondition: this list and its offer are empty (I1). `self`: this worker's index; `joiner`: of the one it took the job from.
    visit begin(job& j, unsigned self, unsigned joiner) {
        const visit before = now_;
        if (++last_tag_ >> Limits::tag_bits != 0) last_tag_ = 1;
        now_ = {&j, joiner, last_tag_};
        // Relaxed: the joiner learns from it which list to look at, and that it has known since it began.
        j.progress.store(fork_progress::of_thief(fork_progress::held, self, last_tag_).value,
                         std::memory_order_relaxed);
        return before;
    }
    // Publishes the end. True: the joiner sleeps, and must be woken. The job is gone by then.
    [[nodiscard]] bool end(job& j, bool failed, const visit& before) {
        now_ = before;
        const fork_progress was{j.progress.exchange(failed ? fork_progress::failed : fork_progress::done,
                                                    std::memory_order_release)};  // S2
        return was.is() == fork_progress::awaited;
    }
    // Behind hand_out. The worker that sleeps until this one has ended what it runs, if there is one and it sleeps: it can take the
    // offer, and the caller must wake it.
    [[nodiscard]] std::optional<unsigned> joiner_slept() {
        if (now_.theirs == nullptr) return std::nullopt;
        Sync::fence_light();  // S3
        fork_progress seen{now_.theirs->progress.load(std::memory_order_relaxed)};
        if (seen.is() != fork_progress::awaited || !move(*now_.theirs, seen, fork_progress::held)) return std::nullopt;
        return now_.joiner;
    }

    // The joiner's.
    // Behind a take_back that came too late: which thief has the job. It says so in its next step.
    static fork_progress held_or_over(const job& j) {
        return {Sync::spin_until(j.progress, [](std::uint64_t p) { return p != fork_progress::offered; })};  // S2
    }
    // Of a job that was handed out, and may be on offer still. True: it is over, and the frame is the joiner's alone.
    static bool ended(const job& j) {
        return fork_progress{j.progress.load(std::memory_order_acquire)}.over();  // S2
    }
    // Of a job that is over. Relaxed: the joiner has met the end already.
    static fork_progress over(const job& j) { return {j.progress.load(std::memory_order_relaxed)}; }
    // False: it is over. True: look at the thief's offer once more; then sleep. A wake for it will come.
    [[nodiscard]] static bool wait_begins(job& j, fork_progress seen) {
        if (!move(j, seen, fork_progress::awaited)) return false;
        Sync::fence_heavy();  // S3
        return true;
    }
    // Behind it, slept or not: whatever woke the joiner.
    static void wait_ended(job& j, fork_progress seen) {
        (void)move(j, seen.as(fork_progress::awaited), fork_progress::held);
    }

private:
    static constexpr unsigned pointer_bits = 48;
    static_assert(Limits::tag_bits <= 64 - pointer_bits && sizeof(void*) == sizeof(word));
    static constexpr std::uintptr_t request = UINTPTR_MAX;

    word word_of(const job& j) const { return reinterpret_cast<std::uintptr_t>(&j) | now_.tag << pointer_bits; }
    // Relaxed: it decides which of two turns the word, and publishes nothing.
    static bool move(job& j, fork_progress seen, fork_progress::phase to) {
        return j.progress.compare_exchange_strong(seen.value, seen.as(to).value, std::memory_order_relaxed,
                                                  std::memory_order_relaxed);
    }

    // Links all. Precondition: not empty; at most the oldest is linked.
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
    job front_;  // no job: `newer` is the oldest, when jobs are linked
    job* newest_ = &front_;
    job* linked_ = nullptr;        // the newest that is linked (I5)
    job* below_linked_ = nullptr;  // its `older`
    visit now_;
    std::uint64_t last_tag_ = 0;
    std::uintptr_t lowest_ = 0;

    // Others write these, seldom.
    alignas(cache_line) typename Sync::template atomic<std::uintptr_t> guard_;
    typename Sync::template atomic<word> offer_;
};

}  // namespace apiary
