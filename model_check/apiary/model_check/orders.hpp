// Which orders an operation can have, and which are weaker: what a mutation may do.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace apiary::model {

// The failure order of a compare-exchange is a site of its own: the operation's name with this after it.
inline constexpr std::string_view failure_site = ".failure";

// Whether a mutation may give `order` ("relaxed", …, "dropped") to `operation` ("load", "compare_exchange_weak.failure",
// "fence", "recheck", …). False for operations without an order of their own, as park or lock.
[[nodiscard]] bool can_have(std::string_view operation, std::string_view order);

// Which orders the standard lets a load have (the failure of a compare-exchange is one), and which a store
// ([atomics.types.operations]). With any other the operation is undefined.
[[nodiscard]] constexpr bool may_load(std::memory_order order) {
    return order == std::memory_order_relaxed || order == std::memory_order_consume ||
           order == std::memory_order_acquire || order == std::memory_order_seq_cst;
}
[[nodiscard]] constexpr bool may_store(std::memory_order order) {
    return order == std::memory_order_relaxed || order == std::memory_order_release ||
           order == std::memory_order_seq_cst;
}
// "undefined behaviour: load with the order release at queue.hpp:12"
[[nodiscard]] std::string no_such_order(std::string_view operation, bool failure, std::memory_order order,
                                        std::string_view place);

// Every weaker order that steps down from `written` lead to, each once, mildest first; as scripts/apiary mutate has them.
[[nodiscard]] std::vector<std::string> weaker(std::string_view operation, std::string_view written);

// The orders that can be written behind --mutate SITE=, as text.
inline constexpr const char* orders_text =
    "relaxed, acquire, release, acq_rel, seq_cst, dropped (of a fence or a recheck)";
[[nodiscard]] bool is_order(std::string_view order);

// "file:line:column:operation" -> "operation"; "recheck:NAME" -> "recheck".
[[nodiscard]] std::string_view operation_of(std::string_view site);

// "file:line:column:operation" -> "file:line:operation". The column of code as it is tells calls apart that were compiled of
// one operation (a template's instances).
[[nodiscard]] std::string without_column(const std::string& site);

// Whether two places "path/queue.hpp:12" name one line, where either may have more of the path than the other.
[[nodiscard]] bool same_place(std::string_view a, std::string_view b);

}  // namespace apiary::model
