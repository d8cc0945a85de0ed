#include "server/logprob_text.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "server/json_text.h"

namespace quire {
namespace {

// What stands for the logprob of an impossible token, as JSON has no infinities.
constexpr float kLeastLogprob = -9999.0F;

void AppendLogprob(std::string& out, float logprob) {
  AppendFloat(out, std::isnan(logprob) ? kLeastLogprob : std::max(logprob, kLeastLogprob));
}

// Unicode characters, as Python counts them.
std::size_t NumCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

// The candidates of a position, each once: the token itself, then the best.
template <typename Visitor>
void ForEachCandidate(const PositionLogprobs& position, Visitor&& visit) {
  const auto& entries = position.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].token != entries[0].token) visit(entries[i]);
  }
}

void AppendComma(std::string& out) {
  if (!out.empty()) out += ',';
}

void AppendChatEntry(std::string& out, const TokenLogprob& entry, const TokenNames& names) {
  out += R"({"token":)";
  AppendJsonString(out, names.NameOf(entry.token));
  out += R"(,"logprob":)";
  AppendLogprob(out, entry.logprob);
  out += R"(,"bytes":[)";
  bool is_first = true;
  for (const char byte : names.BytesOf(entry.token)) {
    if (!is_first) out += ',';
    is_first = false;
    AppendInt(out, static_cast<unsigned char>(byte));
  }
  out += ']';
}

}  // namespace

std::string TokenNames::NameOf(TokenId id) const {
  if (as_ids_ || tokenizer_ == nullptr) return StrCat("token_id:", id);
  std::string bytes = tokenizer_->TokenBytes(id);
  if (IsValidUtf8(bytes)) return bytes;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char byte : bytes) {
    name += "\\x";
    name += kHex[static_cast<unsigned char>(byte) >> 4];
    name += kHex[static_cast<unsigned char>(byte) & 15];
  }
  return name;
}

std::string TokenNames::BytesOf(TokenId id) const {
  return tokenizer_ == nullptr ? std::string() : tokenizer_->TokenBytes(id);
}

void CompletionLogprobs::Add(std::span<const TokenId> tokens,
                             std::span<const PositionLogprobs> logprobs,
                             const std::string* first_name) {
  const std::size_t count = std::min(tokens.size(), logprobs.size());
  for (std::size_t i = 0; i < count; ++i) {
    const PositionLogprobs& position = logprobs[i];
    const std::string name =
        i == 0 && first_name != nullptr ? *first_name : names_.NameOf(tokens[i]);
    AppendComma(offsets_);
    AppendInt(offsets_, static_cast<std::int64_t>(offset_));
    offset_ += NumCharacters(name);
    AppendComma(tokens_);
    AppendJsonString(tokens_, name);
    AppendComma(logprobs_);
    AppendComma(top_);
    if (position.entries.empty()) {
      logprobs_ += "null";
      top_ += "null";
      continue;
    }
    AppendLogprob(logprobs_, position.entries[0].logprob);
    top_ += '{';
    bool is_first = true;
    ForEachCandidate(position, [&](const TokenLogprob& entry) {
      if (!is_first) top_ += ',';
      is_first = false;
      AppendJsonString(top_, names_.NameOf(entry.token));
      top_ += ':';
      AppendLogprob(top_, entry.logprob);
    });
    top_ += '}';
  }
}

void CompletionLogprobs::AppendTo(std::string& out) {
  out += R"({"text_offset":[)" + offsets_ + R"(],"token_logprobs":[)" + logprobs_ +
         R"(],"tokens":[)" + tokens_ + R"(],"top_logprobs":[)" + top_ + "]}";
  for (std::string* inside : {&offsets_, &logprobs_, &tokens_, &top_}) inside->clear();
}

void AppendChatLogprobs(std::string& out, std::span<const TokenId> tokens,
                        std::span<const PositionLogprobs> logprobs, const TokenNames& names) {
  const std::size_t count = std::min(tokens.size(), logprobs.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<TokenLogprob>& entries = logprobs[i].entries;
    if (entries.empty()) continue;
    AppendComma(out);
    AppendChatEntry(out, entries[0], names);
    out += R"(,"top_logprobs":[)";
    for (std::size_t k = 1; k < entries.size(); ++k) {
      if (k > 1) out += ',';
      AppendChatEntry(out, entries[k], names);
      out += '}';
    }
    out += "]}";
  }
}

void AppendPromptLogprobs(std::string& out, std::span<const PositionLogprobs> logprobs,
                          const TokenNames& names) {
  out += '[';
  bool is_first = true;
  for (const PositionLogprobs& position : logprobs) {
    if (!is_first) out += ',';
    is_first = false;
    if (position.entries.empty()) {
      out += "null";
      continue;
    }
    out += '{';
    bool is_first_entry = true;
    ForEachCandidate(position, [&](const TokenLogprob& entry) {
      if (!is_first_entry) out += ',';
      is_first_entry = false;
      out += '"';
      AppendInt(out, entry.token);
      out += R"(":{"logprob":)";
      AppendLogprob(out, entry.logprob);
      out += R"(,"rank":)";
      AppendInt(out, entry.rank);
      out += R"(,"decoded_token":)";
      AppendJsonString(out, names.NameOf(entry.token));
      out += '}';
    });
    out += '}';
  }
  out += ']';
}

void AppendIds(std::string& out, std::span<const TokenId> ids) {
  out += '[';
  bool is_first = true;
  for (const TokenId id : ids) {
    if (!is_first) out += ',';
    is_first = false;
    AppendInt(out, id);
  }
  out += ']';
}

}  // namespace quire
