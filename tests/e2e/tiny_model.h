// A small Llama checkpoint with seeded random weights, written where a test asks for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace quire {

inline constexpr int kTinyVocab = 320;
inline constexpr int kTinyContext = 512;

// Writes config.json and model.safetensors (F32) into `folder`, which is made where it is absent.
// Two layers, four heads over two KV heads; with `window` each layer sees so many positions.
Status WriteTinyModel(const std::string& folder, int window = 0);

// Puts a byte-level tokenizer with a chat template beside it.
Status WriteTinyTokenizer(const std::string& folder);

}  // namespace quire
