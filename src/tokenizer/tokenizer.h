// Text to token ids and back, as the original tokenizer of a model does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/gguf.h"
#include "formats/json.h"

namespace quire {

struct Pipeline;  // normalizer, pre-tokenizer, model, decoder (pipeline.h)

struct EncodeOptions {
  bool add_special_tokens = true;  // what the post-processor puts around a text (BOS, EOS, …)
  bool parse_special = true;       // special tokens written in the text are recognised as such
  // A text of more ids is not encoded to its end: the result then has more than max_ids ids, and
  // only that it has means anything.
  std::size_t max_ids = SIZE_MAX;
};

struct DecodeOptions {
  bool skip_special_tokens = true;
  // Off: an added token right after another one is shown as its bare text, without the blank that
  // the decoder would put between them. Only matters where special tokens are kept.
  bool spaces_between_special_tokens = true;
};

// A chat template found beside a tokenizer; the one that is used by default is called "default".
struct NamedTemplate {
  std::string name;
  std::string source;
};

// The texts of the files beside a tokenizer.json; an empty text: there is no such file.
struct HfTokenizerFiles {
  std::string_view tokenizer_json = {};
  std::string_view tokenizer_config_json = {};
  std::string_view special_tokens_map_json = {};
  std::string_view generation_config_json = {};
  std::string_view chat_template_jinja = {};
  std::span<const NamedTemplate> more_templates = {};  // of additional_chat_templates/
};

// What `inspect` tells of a tokenizer.
struct TokenizerDescription {
  std::string source;  // "tokenizer.json", "GGUF", "tokenizer.model", "tekken.json", "tiktoken"
  std::string model;   // "BPE", "Unigram", "WordPiece", "WordLevel", "RWKV"
  std::string pre_tokenizer;  // "gpt2", "llama3", "custom regex", …; "" where there is none
};

// One sequence with what the post-processor and the padding say of each of its tokens.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> type_ids;
  std::vector<std::uint8_t> special_tokens_mask;  // 1: put there by the post-processor or padding
  std::vector<std::uint8_t> attention_mask;       // 0: padding
  std::vector<Encoding> overflow;                 // the windows that truncation cut off
};

struct TokenizerMemory;  // working memory of encoding calls (pipeline.h)

// Immutable once loaded, so any thread may use one, usually through
// shared_ptr<const Tokenizer>; encoding calls borrow working memory from a locked pool.
//
// Loading fails with kDataLoss or kInvalidArgument that names file, field and reason, and with
// kUnimplemented for a kind that is not known.
class Tokenizer {
 public:
  // A folder with tokenizer.json, tokenizer.model, tekken.json or *.tiktoken (in this order of
  // preference) and the configs beside it. kNotFound where it has none of them.
  static Result<std::shared_ptr<const Tokenizer>> FromHfFolder(const std::string& folder);
  static Result<std::shared_ptr<const Tokenizer>> FromJson(const HfTokenizerFiles& files);
  // The vocabulary in a GGUF file's metadata; copies what it needs.
  static Result<std::shared_ptr<const Tokenizer>> FromGguf(const GgufHeader& header);
  // A serialized SentencePiece ModelProto (tokenizer.model); `beside` may give the configs of the
  // same folder, its tokenizer_json is not looked at.
  static Result<std::shared_ptr<const Tokenizer>> FromSentencePiece(
      std::string_view bytes, const HfTokenizerFiles& beside = {});
  // Mistral's tekken.json.
  static Result<std::shared_ptr<const Tokenizer>> FromTekken(std::string_view json,
                                                             const HfTokenizerFiles& beside = {});
  // Lines of a base64 token and its rank. The split pattern and special tokens stand in no file:
  // cl100k's pattern is taken, and the special tokens of tokenizer_config.json.
  static Result<std::shared_ptr<const Tokenizer>> FromTiktoken(std::string_view text,
                                                               const HfTokenizerFiles& beside = {});

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // The ids of `text`, without truncation or padding. Invalid UTF-8 counts as U+FFFD, one for each
  // maximal part of a sequence. kInvalidArgument where the model has no token for a piece and no
  // unknown token; kResourceExhausted for a split pattern that runs into its match limit.
  // Linear, or n log n for a long stretch without a split point; a long text that goes on from one
  // that was encoded lately costs what follows the last special token they share.
  Result<std::vector<TokenId>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  // A text or a pair of texts with all that the post-processor says of it, truncated and padded as
  // the file's own sections say.
  Result<Encoding> EncodeFully(std::string_view text,
                               std::optional<std::string_view> pair = std::nullopt,
                               bool add_special_tokens = true) const;
  // The same for a batch: padding goes to the longest where the file says so.
  Result<std::vector<Encoding>> EncodeBatch(std::span<const std::string_view> texts,
                                            bool add_special_tokens = true) const;

  // The whole text of `ids`; ids without a token give nothing. The result is valid UTF-8, U+FFFD
  // standing for bytes that are none.
  std::string Decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  // One more than the largest id that has a token. A model's own vocabulary may be larger.
  int vocab_size() const;

  // The piece as the vocabulary file spells it ("Ġthe", "▁the", "<0x0A>"); "" for an id without a
  // token. Valid as long as the tokenizer.
  std::string_view TokenText(TokenId id) const;

  // The bytes the token stands for in the middle of a text (" the"); for special tokens their
  // text; empty for an id without a token. They need not be valid UTF-8.
  std::string TokenBytes(TokenId id) const;

  // The id of a piece, spelled as TokenText() spells it.
  std::optional<TokenId> Find(std::string_view piece) const;

  bool has_token(TokenId id) const;
  bool is_special(TokenId id) const;  // left out by skip_special_tokens
  bool is_added(TokenId id) const;    // found in texts as a whole, before the model splits them

  std::optional<TokenId> bos_id() const { return bos_id_; }
  std::optional<TokenId> eos_id() const { return eos_id_; }
  std::optional<TokenId> pad_id() const { return pad_id_; }
  std::optional<TokenId> unk_id() const { return unk_id_; }
  // All ids that end a generation: eos_id() first, then those of generation_config.json or of the
  // GGUF's end-of-turn keys. No duplicates.
  const std::vector<TokenId>& eos_ids() const { return eos_ids_; }
  // Whether Encode with add_special_tokens puts BOS in front / EOS at the end.
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }

  const TokenizerDescription& description() const { return description_; }

  // Chat templates found beside the tokenizer, in their order; empty: none.
  const std::vector<NamedTemplate>& chat_templates() const { return chat_templates_; }
  // The one called `name`; null where there is none.
  const std::string* FindChatTemplate(std::string_view name = "default") const;
  // The texts that templates know as bos_token, eos_token, …: pairs of variable and text.
  const std::vector<std::pair<std::string, std::string>>& template_tokens() const {
    return template_tokens_;
  }

  const Pipeline& pipeline() const { return *pipeline_; }  // for the folder's own parts

 private:
  friend class TokenizerBuilder;
  Tokenizer();
  Status EncodeCached(std::string_view text, std::size_t max_ids, std::vector<TokenId>& out) const;

  std::unique_ptr<const Pipeline> pipeline_;
  std::unique_ptr<TokenizerMemory> memory_;
  bool caches_prefixes_ = false;
  std::optional<TokenId> bos_id_, eos_id_, pad_id_, unk_id_;
  std::vector<TokenId> eos_ids_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  TokenizerDescription description_;
  std::vector<NamedTemplate> chat_templates_;
  std::vector<std::pair<std::string, std::string>> template_tokens_;
};

}  // namespace quire
