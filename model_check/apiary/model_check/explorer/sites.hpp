// sites: where each atomic operation stands in the source, the order written there, and the order it gets.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace apiary::model::explorer {

const char* order_name(unsigned order);

// "queue.hpp:12"; of code as it is also " in bits/atomic_wait.h:101", where a header of the library's stands between.
std::string place_text(const std::source_location& at);
// "in bits/atomic_wait.h:101", or nothing.
const char* inside_of(const std::source_location& at);

struct site_info {
    std::source_location at;
    const char* operation = "";
    bool failure = false;      // the failure order of a compare-exchange
    std::uint8_t written = 0;  // std::memory_order; 255 for operations without one
    std::uint8_t effective = 0;
    bool mutated = false;
    bool dropped = false;  // a fence taken out
    std::string name;      // file:line:column:operation
};

class site_table {
public:
    static constexpr std::uint8_t no_order = 255;

    std::uint32_t intern(const std::source_location& at, const char* operation, std::uint8_t order,
                         bool failure = false);
    [[nodiscard]] const site_info& operator[](std::uint32_t id) const { return sites_[id]; }

    // A source of a last look, named by the program: whether it is looked at. The mutation "recheck:NAME" leaves it out.
    bool recheck(const char* name);

    // Gives the named site another order ("relaxed", …, "dropped"). False: no such order.
    bool mutate(const std::string& name, const std::string& order);
    [[nodiscard]] bool mutation_seen() const { return mutation_seen_; }
    // Any number of operations get other orders. Before the first operation runs.
    void change(std::vector<order_change> changes) { changes_ = std::move(changes); }
    [[nodiscard]] std::map<std::string, std::string> executed() const;

    // The order an operation written with `order` gets.
    [[nodiscard]] std::uint8_t effective(std::uint32_t id, std::uint8_t order) const {
        return sites_[id].mutated ? sites_[id].effective : order;
    }

private:
    void give_order(site_info& info, const std::string& order) const;
    [[nodiscard]] std::size_t bucket(std::uint64_t key, const char* file) const;
    struct entry {
        const char* file;
        const char* operation;
        std::uint64_t key;
        std::uint32_t id;
    };
    std::vector<site_info> sites_ = std::vector<site_info>(1);
    std::vector<entry> index_ = std::vector<entry>(1024);  // a power of two
    std::size_t used_ = 0;
    std::map<std::string, bool, std::less<>> rechecks_;  // "recheck:NAME" -> looked at
    std::string mutated_, mutated_to_;
    bool mutation_seen_ = false;
    std::vector<order_change> changes_;
};

}  // namespace apiary::model::explorer
