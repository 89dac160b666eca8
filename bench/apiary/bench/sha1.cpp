// SHA-1 from nettle.
#include <nettle/sha1.h>

#include <apiary/bench/sha1.hpp>

namespace apiary::bench {

sha1_digest sha1(std::span<const std::uint8_t> bytes) noexcept {
    sha1_ctx state;
    ::sha1_init(&state);
    ::sha1_update(&state, bytes.size(), bytes.data());
    sha1_digest digest;
    ::sha1_digest(&state, digest.size(), digest.data());
    return digest;
}

}  // namespace apiary::bench
