// The calls that a runtime of processes must offer to be raced by messages: an adapter, as in adapter.hpp, that also
// has
//
//     using address = …;                         // of a process; copyable, cheap
//     class self {                               // the calls of a process, valid while it runs
//         template <class P> address spawn(P process);   // starts another; its address may be sent to at once
//         void send(const address& to, letter message);  // in order for each sender; nothing is lost while `to` lives
//         address me();
//         void stop();                           // this process ends when the call that it is in returns
//     };
//     template <class P> void begin(P process);  // from outside: starts the first process of an operation
//     static constexpr bool sends_wait = true;   // optional: a send waits while the receiver's mailbox is full
//     static constexpr std::uint64_t most_processes = …;  // optional: of more at a time memory may not be enough
//     // optional, of self:
//     // False: it is not sent, since mailboxes are full or others should run. This process returns, and its go_on is
//     // called when it may try again.
//     bool offer(const address& to, letter message);
//     // Starts make(0) … make(count - 1) under a supervisor of the library's own. It starts make(i) again when that
//     // process has failed, up to `restarts` times within a second, and goes when all have stopped.
//     template <class Make>
//     void supervise(std::uint64_t count, std::uint64_t restarts, Make make);
//     [[noreturn]] void fail();                  // this process fails at once, as its users' do
//
// Programs (scenarios/messages.hpp) are written once for all runtimes. A process P is a small movable value with
//
//     void start(self& me);                      // optional: once, before the first letter
//     void receive(self& me, letter message);    // for each letter, one at a time
//     void go_on(self& me);                      // where it calls offer, below: after one that was refused
//
// and the adapter calls both by `start_process` and `deliver`, so that all runtimes do the same work around them. A
// process that has stopped gets no further call; the programs send nothing to a process that they know to be gone.
// Mailboxes are unbounded, or hold back the sender where the runtime's can. No program waits in a circle except `big`,
// which is unsupported there; BIAS.md tells which mailboxes are bounded.
//
// Threads.  begin: the main thread. All else: the process of `self`.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include <apiary/bench/adapter.hpp>

namespace apiary::bench {

// A message: its kind and a number. It carries no address: programs that need one find it by the number.
struct letter {
    std::uint64_t what, number;
};

// The built-in slow-down of a control arm: a letter counts as a task. Set by the main thread before there is a runtime.
inline std::int64_t letter_slowdown_ns = 0;

template <class P, class Self>
void start_process(P& process, Self& me) {
    if constexpr (requires { process.start(me); }) process.start(me);
}

template <class P, class Self>
void deliver(P& process, Self& me, letter message) {
    ledger::slow_down(letter_slowdown_ns);
    process.receive(me, message);
}

// For a process that sends a great deal in one call. If false, the process must return; go_on will be called. If the
// runtime has no `offer` of its own, the send waits until there is room.
template <class Self, class Address>
[[nodiscard]] bool offer(Self& me, const Address& to, letter message) {
    if constexpr (requires { me.offer(to, message); }) {
        return me.offer(to, message);
    } else {
        me.send(to, message);
        return true;
    }
}

// A stand-in for the processes of the programs.
struct example_process {
    void receive(auto& me, letter) const { me.stop(); }
};

template <class R>
concept messenger = runtime_adapter<R> && std::copyable<typename R::address> &&
                    requires(R& r, typename R::self& me, const typename R::address& to, example_process p) {
                        r.begin(p);
                        { me.spawn(p) } -> std::convertible_to<typename R::address>;
                        { me.me() } -> std::convertible_to<typename R::address>;
                        me.send(to, letter{});
                        me.stop();
                    };

// A stand-in for the function that makes them.
struct example_maker {
    example_process operator()(std::uint64_t) const { return {}; }
};

template <class R>
concept supervising = messenger<R> && requires(typename R::self& me) {
    me.supervise(1, 1, example_maker());
    me.fail();
};

}  // namespace apiary::bench
