// RWKV's tokenizer: the longest piece first, over bytes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

// `tokens` by id, spelled with \xNN, \t, \n and \r for bytes; the vocabulary gets the bytes'
// stand-ins.
Status BuildRwkv(const std::vector<std::string_view>& tokens, std::optional<TokenId> unk_id,
                 TokenizerBuilder& builder);

}  // namespace quire
