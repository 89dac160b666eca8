// idle_spin, idle_account: how long a worker that found nothing looks on before it sleeps, and what that may cost.
//
// When to use it. Through the worker, in a scheduler whose user has set idle_cpu: posts then come sooner to a worker,
// since none must be woken, and the looking costs processor time. With idle_cpu 0, the default, there are no spins.
//
// The account. One for each crew: processor time that accrues with the time of day at the rate idle_cpu, up to spin_ns,
// and that spins spend. So all spins of a crew together take at most idle_cpu of the time that has passed, plus one
// spin_ns. The exception: a spin whose last yield is long takes more than its loan. It overdraws the account, which
// then lends nothing until that time has accrued, too. One worker spins at a time. The clock measures a spin, so a
// spinner pays also while it has lost its processor.
//
// The spin. One for each worker; it learns how long the worker's idle spells last.
//   if it can pay   a worker spins only if the account holds enough for twice the idle spell that it expects. If posts
//                   come seldom, a program with any idle_cpu is as quiet as one without.
//   to the end      it then looks on as long as the account allows: a spin that ends before the post comes is wasted.
//   once            it spins at most once in an idle spell: after a spin that found nothing it sleeps.
//   yields          it yields often, and a long yield ends the spin. A worker whose processor is contended does not
//                   spin (idle_policy).
// A worker that spins is a searcher (idle_set): posts rely on it, and wake no worker, until its search expires.
//
// Threads.   idle_spin: the worker's own. idle_account: any worker of the crew; give_back: the one that has the loan.
// Progress.  Constant time, wait-free.
// Invariants
//   I1  At most one loan is out. The worker that has it gives it back before it runs a task, sleeps or ends.
// Synchronisation. None: the account guards nothing but its own word, so all its accesses are relaxed.
// Checked by model_check/schedulers/hive/hive_handshake_check.cpp (NAME_spins). Tested by idle_spin_test.cpp and, on
// workers, worker_test.cpp. Not modelled: how long a spin lasts; a checker's worker looks once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <apiary/workers/parameters.hpp>

namespace apiary {

// What a worker may spend. The word as it was is needed to give the loan back.
struct idle_loan {
    std::int64_t most_ns = 0;  // 0: no loan
    std::int64_t began_ns = 0, paid_until_ns = 0;
};

template <class Sync>
class idle_account {
public:
    explicit idle_account(const worker_parameters& p)
        : share_(std::max(p.idle_cpu, least_share)), most_(static_cast<double>(p.spin_ns)) {
        paid_until_.store(long_ago, std::memory_order_relaxed);
    }

    // Precondition: idle_cpu is not 0. No loan if less than least_ns is saved, or another worker has one.
    [[nodiscard]] idle_loan lend(std::int64_t now_ns, std::int64_t least_ns) {
        std::int64_t paid = paid_until_.load(std::memory_order_relaxed);
        if (paid == lent) return {};
        const double saved = std::min(static_cast<double>(now_ns - paid) * share_, most_);
        if (saved < 1 || saved < static_cast<double>(least_ns)) return {};
        if (!paid_until_.compare_exchange_strong(paid, lent, std::memory_order_relaxed, std::memory_order_relaxed))
            return {};
        return {static_cast<std::int64_t>(saved), now_ns, paid};
    }
    void give_back(const idle_loan& l, std::int64_t now_ns) {
        const std::int64_t full = l.began_ns - at_share(most_);  // nothing is saved beyond the most
        const auto spent = static_cast<double>(std::max<std::int64_t>(now_ns - l.began_ns, 0));
        paid_until_.store(std::max(l.paid_until_ns, full) + at_share(spent), std::memory_order_relaxed);
    }

private:
    static constexpr double least_share = 1e-9;  // a smaller one counts as this
    static constexpr std::int64_t lent = INT64_MAX, long_ago = -(std::int64_t{1} << 60);
    // How long that much takes to accrue, rounded up.
    std::int64_t at_share(double ns) const { return static_cast<std::int64_t>(std::min(std::ceil(ns / share_), 4e18)); }

    const double share_, most_;
    // The time up to which everything that accrued has been spent; `lent` while a worker spins.
    typename Sync::template atomic<std::int64_t> paid_until_;
};

class idle_spin {
public:
    explicit idle_spin(const worker_parameters& p) : p_(p) {}

    // The worker found nothing, and would now sleep. Returns what must be saved for a spin; 0: it does not spin now.
    // `ran`: how many tasks it has run.
    [[nodiscard]] std::int64_t wants(std::int64_t now_ns, std::uint64_t ran) {
        if (ran != ran_ || !idle_) {
            if (idle_) learn(seen_ns_ - began_ns_);
            idle_ = true;
            ran_ = ran;
            began_ns_ = now_ns;
            spun_ = false;
        }
        seen_ns_ = now_ns;
        const std::int64_t least = std::max<std::int64_t>(2 * expected_ns_, 1);
        return spun_ || least > p_.spin_ns ? 0 : least;
    }
    // Called while the worker spins, and after a sleep: its idle spell has lasted at least until now.
    void idle_until(std::int64_t now_ns) { seen_ns_ = now_ns; }

    // False: there is no loan.
    [[nodiscard]] bool begin(const idle_loan& l) {
        loan_ = l;
        spun_ = spins();
        looks_ = 0;
        return spun_;
    }
    // True at every eighth look: a yield costs as much as several looks.
    [[nodiscard]] bool yields_now() { return ++looks_ % 8 == 0; }
    bool spins() const { return loan_.most_ns != 0; }
    bool over() const { return seen_ns_ - loan_.began_ns >= loan_.most_ns; }
    template <class Account>
    void end(Account& account) {
        account.give_back(loan_, seen_ns_);
        loan_ = {};
    }

private:
    void learn(std::int64_t spell_ns) {
        expected_ns_ += (std::min(spell_ns, 2 * p_.spin_ns) - expected_ns_) / 4;  // clipped: a pause is forgotten soon
    }

    const worker_parameters& p_;
    std::int64_t expected_ns_ = 0;  // the length of a spell; at first a spin is tried
    std::int64_t began_ns_ = 0, seen_ns_ = 0;
    std::uint64_t ran_ = 0;
    idle_loan loan_;
    unsigned looks_ = 0;
    bool idle_ = false, spun_ = false;
};

}  // namespace apiary
