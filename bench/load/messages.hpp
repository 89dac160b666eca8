// The messages of the server scenarios (bench/contract/CLI.md): B bytes, of which the first eight are the request's
// number, the next eight the answer, and the rest a filling that depends on the number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <apiary/bench/ledger.hpp>

namespace apiary::load {

using bench::mix;

class messages {
public:
    messages(std::size_t bytes, std::uint64_t backends, std::uint64_t ask, std::uint64_t seed)
        : bytes_(bytes), backends_(backends), ask_(ask), filling_(bytes + steps * 8) {
        for (std::size_t at = 0; at < filling_.size(); ++at)
            filling_[at] = static_cast<std::byte>(mix(mix(seed) + at / 8) >> at % 8 * 8);
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    void write_request(std::uint64_t number, std::byte* to) const { write(number, 0, to); }

    // Whether the bytes are the server's whole answer to that request.
    [[nodiscard]] bool is_answer(const std::byte* message, std::uint64_t number) const {
        return is(message, number, answer(number));
    }
    // A backend's request is one of the client's, as the front read it.
    [[nodiscard]] bool is_request(const std::byte* message) const { return is(message, number_of(message), 0); }
    // Makes a backend's answer of the request.
    void answer_as_backend(std::uint64_t backend, std::byte* message) const {
        put(message + 8, mix(number_of(message)) + backend);
    }

private:
    static constexpr std::size_t steps = 64;  // fillings that differ

    static std::uint64_t number_of(const std::byte* message) {
        std::uint64_t n;
        std::memcpy(&n, message, sizeof n);
        return n;
    }
    static void put(std::byte* to, std::uint64_t n) { std::memcpy(to, &n, sizeof n); }

    [[nodiscard]] std::uint64_t answer(std::uint64_t i) const {
        if (backends_ == 0) return mix(i);
        std::uint64_t sum = 0;
        for (std::uint64_t j = 0; j < ask_; ++j) sum += mix(i) + (i + j) % backends_;
        return sum;
    }
    [[nodiscard]] const std::byte* filling(std::uint64_t i) const { return filling_.data() + i % steps * 8; }
    void write(std::uint64_t i, std::uint64_t second, std::byte* to) const {
        put(to, i);
        put(to + 8, second);
        std::copy_n(filling(i), bytes_ - 16, to + 16);
    }
    [[nodiscard]] bool is(const std::byte* message, std::uint64_t i, std::uint64_t second) const {
        return std::memcmp(message, &i, 8) == 0 && std::memcmp(message + 8, &second, 8) == 0 &&
               std::memcmp(message + 16, filling(i), bytes_ - 16) == 0;
    }

    const std::size_t bytes_;
    const std::uint64_t backends_, ask_;
    std::vector<std::byte> filling_;
};

}  // namespace apiary::load
