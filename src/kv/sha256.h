// SHA-256, for content that strangers choose.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace quire {

using Sha256Digest = std::array<std::uint8_t, 32>;

// The digest of `bytes`. Uses the processor's SHA instructions where it has them.
Sha256Digest Sha256(std::span<const std::uint8_t> bytes);

namespace sha256 {

using State = std::array<std::uint32_t, 8>;
// Takes `num_blocks` times 64 bytes into the state.
using CompressFn = void (*)(State& state, const std::uint8_t* bytes, std::size_t num_blocks);

void CompressPortable(State& state, const std::uint8_t* bytes, std::size_t num_blocks);
// The fast one of this processor, or null when it has none.
CompressFn FastCompress();

// As Sha256, through a given compression function.
Sha256Digest Digest(std::span<const std::uint8_t> bytes, CompressFn compress);

}  // namespace sha256

}  // namespace quire
