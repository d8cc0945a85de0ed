// Finds the tokenizer that belongs to a model.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// `path` is a model folder, a GGUF file, or a file in a model folder. kNotFound where there is no
// tokenizer.
Result<std::shared_ptr<const Tokenizer>> LoadTokenizer(const std::string& path);

}  // namespace quire
