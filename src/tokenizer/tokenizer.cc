#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/decode_stream.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/utf8.h"

namespace quire {

Tokenizer::Tokenizer() : memory_(std::make_unique<TokenizerMemory>()) {}
Tokenizer::~Tokenizer() = default;

namespace {

// The text, or its copy with U+FFFD for what is not valid UTF-8.
std::string_view ValidText(std::string_view text, std::string& copy) {
  if (IsValidUtf8(text)) return text;
  AppendLossy(copy, text);
  return copy;
}

Encoding PlainEncoding(std::vector<TokenId> ids) {
  Encoding out;
  out.type_ids.assign(ids.size(), 0);
  out.special_tokens_mask.assign(ids.size(), 0);
  out.attention_mask.assign(ids.size(), 1);
  out.ids = std::move(ids);
  return out;
}

}  // namespace

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  std::string copy;
  text = ValidText(text, copy);
  std::vector<TokenId> ids;
  const PostProcessor& post = pipeline_->post;
  if (options.add_special_tokens) ids = post.prefix;
  if (caches_prefixes_ && options.parse_special && text.size() >= PrefixCache::kMinTextBytes) {
    QUIRE_RETURN_IF_ERROR(EncodeCached(text, options.max_ids, ids));
  } else {
    BorrowedScratch scratch(*memory_);
    (*scratch).max_ids = options.max_ids;
    QUIRE_RETURN_IF_ERROR(pipeline_->Encode(text, options.parse_special, true, *scratch, ids));
  }
  if (ids.size() > options.max_ids) return ids;
  if (post.is_simple) {
    if (options.add_special_tokens) ids.insert(ids.end(), post.suffix.begin(), post.suffix.end());
    return ids;
  }
  if (options.add_special_tokens) {
    ids.erase(ids.begin(), ids.begin() + std::ssize(post.prefix));
  }
  PostProcessor untruncated;
  untruncated.steps = post.steps;
  std::vector<Encoding> sequences;
  sequences.push_back(PlainEncoding(std::move(ids)));
  QUIRE_ASSIGN_OR_RETURN(Encoding whole,
                         untruncated.Process(std::move(sequences), options.add_special_tokens));
  return std::move(whole.ids);
}

// Appends the ids of `text`, those of its beginning from a text that was encoded before.
Status Tokenizer::EncodeCached(std::string_view text, std::size_t max_ids,
                               std::vector<TokenId>& out) const {
  const auto lookahead = static_cast<std::size_t>(pipeline_->added.plain_matcher().longest_bytes());
  PrefixCache::Entry entry;
  std::size_t done = 0;
  if (const auto hit = memory_->prefixes.Find(text, lookahead)) {
    done = hit->checkpoint.offset;
    const auto ids = hit->entry->ids.begin();
    entry.ids.assign(ids, ids + static_cast<std::ptrdiff_t>(hit->checkpoint.num_ids));
    for (const ResumePoint& checkpoint : hit->entry->checkpoints) {
      if (checkpoint.offset <= done) entry.checkpoints.push_back(checkpoint);
    }
  }
  const std::size_t num_known = entry.ids.size();
  const std::size_t room = max_ids - std::min(max_ids, num_known);
  std::vector<TokenId> tail;
  {
    BorrowedScratch scratch(*memory_);
    (*scratch).max_ids = room;
    QUIRE_RETURN_IF_ERROR(pipeline_->Encode(text.substr(done), true, done == 0, *scratch, tail));
    for (const ResumePoint& checkpoint : (*scratch).checkpoints) {
      entry.checkpoints.push_back({done + checkpoint.offset, num_known + checkpoint.num_ids});
    }
  }
  entry.ids.insert(entry.ids.end(), tail.begin(), tail.end());
  out.insert(out.end(), entry.ids.begin(), entry.ids.end());
  if (tail.size() > room) return {};
  entry.text = text;
  memory_->prefixes.Put(std::move(entry));
  return {};
}

Result<Encoding> Tokenizer::EncodeFully(std::string_view text, std::optional<std::string_view> pair,
                                        bool add_special_tokens) const {
  const EncodeOptions plain{.add_special_tokens = false};
  std::vector<Encoding> sequences;
  QUIRE_ASSIGN_OR_RETURN(std::vector<TokenId> ids, Encode(text, plain));
  sequences.push_back(PlainEncoding(std::move(ids)));
  if (pair) {
    QUIRE_ASSIGN_OR_RETURN(std::vector<TokenId> more, Encode(*pair, plain));
    sequences.push_back(PlainEncoding(std::move(more)));
  }
  std::vector<Encoding> batch;
  QUIRE_ASSIGN_OR_RETURN(batch.emplace_back(),
                         pipeline_->post.Process(std::move(sequences), add_special_tokens));
  pipeline_->post.Pad(batch);
  return std::move(batch[0]);
}

Result<std::vector<Encoding>> Tokenizer::EncodeBatch(std::span<const std::string_view> texts,
                                                     bool add_special_tokens) const {
  std::vector<Encoding> batch;
  for (const std::string_view text : texts) {
    QUIRE_ASSIGN_OR_RETURN(std::vector<TokenId> ids, Encode(text, {.add_special_tokens = false}));
    std::vector<Encoding> sequences;
    sequences.push_back(PlainEncoding(std::move(ids)));
    QUIRE_ASSIGN_OR_RETURN(batch.emplace_back(),
                           pipeline_->post.Process(std::move(sequences), add_special_tokens));
  }
  pipeline_->post.Pad(batch);
  return batch;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  DecodeStream stream(*pipeline_, options, false);
  for (const TokenId id : ids) stream.Push(id);
  return stream.Finish();
}

int Tokenizer::vocab_size() const { return pipeline_->id_end(); }
std::string_view Tokenizer::TokenText(TokenId id) const { return pipeline_->TokenText(id); }
bool Tokenizer::has_token(TokenId id) const { return pipeline_->HasToken(id); }

bool Tokenizer::is_special(TokenId id) const {
  const AddedToken* token = pipeline_->added.FindById(id);
  return token != nullptr && token->is_special;
}

bool Tokenizer::is_added(TokenId id) const {
  const AddedToken* token = pipeline_->added.FindById(id);
  return token != nullptr && token->is_matched;
}

std::optional<TokenId> Tokenizer::Find(std::string_view piece) const {
  const TokenId id = pipeline_->Find(piece);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

std::string Tokenizer::TokenBytes(TokenId id) const {
  if (!has_token(id)) return {};
  const std::string_view token = pipeline_->ShownText(id);
  if (is_special(id)) return std::string(TokenText(id));
  const DecoderTraits& traits = pipeline_->decoder.traits;
  std::string bytes;
  if (traits.has_byte_chars && AppendBytesOfChars(bytes, token)) return bytes;
  if (const int byte = ByteOfToken(token); traits.has_byte_fallback && byte >= 0) {
    return std::string(1, static_cast<char>(byte));
  }
  // Between two other tokens, so that what is done at the ends of a text does not count.
  const auto decode = [&](std::initializer_list<std::string_view> tokens) {
    return DecodeTexts(*pipeline_, tokens);
  };
  const std::string head = decode({"a"}), around = decode({"a", "b"});
  const std::string whole = decode({"a", token, "b"});
  const std::size_t tail = around.size() - std::min(head.size(), around.size());
  if (whole.size() < head.size() + tail) return {};
  return whole.substr(head.size(), whole.size() - head.size() - tail);
}

const std::string* Tokenizer::FindChatTemplate(std::string_view name) const {
  for (const NamedTemplate& chat_template : chat_templates_) {
    if (chat_template.name == name) return &chat_template.source;
  }
  return nullptr;
}

}  // namespace quire
