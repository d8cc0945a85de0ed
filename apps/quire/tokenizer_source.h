// Where commands get a tokenizer and a chat template from.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// The tokenizer of a model as a user names it: a folder with tokenizer files, a GGUF file (one of
// vocabulary only will do), or a name that FindModel() knows.
Result<std::shared_ptr<const Tokenizer>> TokenizerOf(const std::string& model);

// The chat template that `wish` asks for: a file, the template itself, the name of one of the
// tokenizer's templates, or empty for its default one.
Result<ChatTemplate> ChooseChatTemplate(const std::string& wish, const Tokenizer& tokenizer);

}  // namespace quire
