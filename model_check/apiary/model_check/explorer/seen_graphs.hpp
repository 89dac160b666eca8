// Fingerprints of complete graphs: tells a duplicate from a new one.
#pragma once

#include <cstdint>
#include <vector>

namespace apiary::model::explorer {

class seen_graphs {
public:
    // Beyond this many, graphs are counted without being compared, to bound the memory (32 bytes each).
    static constexpr std::uint64_t most = std::uint64_t{1} << 24;

    bool add(std::uint64_t f) {
        if (count_ >= most) return ++count_ != 0;
        if ((count_ + 1) * 2 > table_.size()) grow();
        return insert(table_, f == 0 ? 1 : f) && ++count_ != 0;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    static bool insert(std::vector<std::uint64_t>& table, std::uint64_t f) {
        const std::size_t mask = table.size() - 1;
        std::size_t i = f * 0x9E37'79B9'7F4A'7C15U >> 20 & mask;
        for (; table[i] != 0; i = (i + 1) & mask)
            if (table[i] == f) return false;
        table[i] = f;
        return true;
    }
    void grow() {
        std::vector<std::uint64_t> bigger(table_.size() * 2);
        for (const std::uint64_t f : table_)
            if (f != 0) insert(bigger, f);
        table_.swap(bigger);
    }
    std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1024);
    std::uint64_t count_ = 0;
};

}  // namespace apiary::model::explorer
