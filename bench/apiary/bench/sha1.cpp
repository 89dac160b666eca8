// SHA-1 from nettle. A message is one block, so nettle's buffer is not needed. The code builds the block in registers
// and writes it in whole vectors, as it is read: that saves a tenth of the time of uts.
#include <nettle/sha1.h>

#include <bit>
#include <cstddef>

#include <apiary/bench/sha1.hpp>

namespace apiary::bench {

namespace {

using words = std::array<std::uint32_t, 5>;

constexpr std::uint32_t big_endian(std::uint32_t value) {
    static_assert(std::endian::native == std::endian::little);
    return __builtin_bswap32(value);
}

sha1_digest hash_of(const std::array<std::uint32_t, 16>& block) noexcept {
    words state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    ::nettle_sha1_compress(state.data(), reinterpret_cast<const std::uint8_t*>(block.data()));
    for (std::uint32_t& word : state) word = big_endian(word);
    return std::bit_cast<sha1_digest>(state);
}

}  // namespace

sha1_digest sha1(const sha1_digest& bytes) noexcept {
    const auto b = std::bit_cast<words>(bytes);
    return hash_of({b[0], b[1], b[2], b[3], b[4], 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, big_endian(20 * 8)});
}
sha1_digest sha1(const sha1_digest& bytes, std::uint32_t number) noexcept {
    const auto b = std::bit_cast<words>(bytes);
    return hash_of(
        {b[0], b[1], b[2], b[3], b[4], big_endian(number), 0x80, 0, 0, 0, 0, 0, 0, 0, 0, big_endian(24 * 8)});
}

}  // namespace apiary::bench
