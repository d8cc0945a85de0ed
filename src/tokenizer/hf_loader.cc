// tokenizer.json, and the folder it stands in.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_kind.h"
#include "base/strings.h"
#include "formats/json.h"
#include "tokenizer/hf_models.h"
#include "tokenizer/json_cursor.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 30;

Result<AddedToken> ReadAddedToken(const Json& config) {
  AddedToken token;
  QUIRE_ASSIGN_OR_RETURN(token.content, RequireString(config, "content"));
  QUIRE_ASSIGN_OR_RETURN(token.is_special, BoolOr(config, "special", false));
  QUIRE_ASSIGN_OR_RETURN(token.strips_left, BoolOr(config, "lstrip", false));
  QUIRE_ASSIGN_OR_RETURN(token.strips_right, BoolOr(config, "rstrip", false));
  QUIRE_ASSIGN_OR_RETURN(token.is_single_word, BoolOr(config, "single_word", false));
  QUIRE_ASSIGN_OR_RETURN(token.is_normalized, BoolOr(config, "normalized", !token.is_special));
  return token;
}

// Gives each added token its id: that of the piece of the same text, else the next free one, as the
// original counts. Files say the same.
Status ReadAddedTokens(const Json& config, TokenizerBuilder& builder) {
  if (config.is_null()) return {};
  if (!config.is_array()) return InvalidArgument("must be an array");
  Pipeline& pipeline = builder.pipeline();
  TokenId next_id = pipeline.vocabulary.num_pieces();
  for (std::size_t i = 0; i < config.array().size(); ++i) {
    Result<AddedToken> read = ReadAddedToken(config.array()[i]);
    if (!read.ok()) return read.status().With(StrCat("number ", i));
    AddedToken& token = *read;
    if (token.content.empty()) continue;
    const TokenId known = pipeline.Find(token.content);
    token.id = known != kNoToken ? known : next_id++;
    if (token.id > kMaxTokenId) return InvalidArgument("too many tokens");
    QUIRE_RETURN_IF_ERROR(builder.AddToken(std::move(token)));
  }
  return {};
}

Status Named(const Status& status, std::string_view section) {
  return status.ok() ? status : status.With(section);
}

Status ReadTokenizerJson(std::string_view text, TokenizerBuilder& builder) {
  if (!IsValidUtf8(text)) return DataLoss("not valid UTF-8");
  JsonMembers model;
  QUIRE_ASSIGN_OR_RETURN(const JsonMembers members, SplitObject(text, "model", model));
  JsonObject rest;
  for (const auto& [name, value_text] : members) {
    if (name == "model" && !model.empty()) continue;
    QUIRE_ASSIGN_OR_RETURN(Json value, ParseJson(value_text));
    rest.emplace_back(name, std::move(value));
  }
  const Json root(std::move(rest));
  const Json null;
  const auto section = [&](std::string_view name) -> const Json& {
    const Json* found = root.Find(name);
    return found == nullptr ? null : *found;
  };
  Pipeline& pipeline = builder.pipeline();
  auto normalizer = MakeNormalizer(section("normalizer"));
  if (!normalizer.ok()) return normalizer.status().With("normalizer");
  pipeline.normalizer = *std::move(normalizer);
  auto pre_tokenizer = MakePreTokenizer(section("pre_tokenizer"));
  if (!pre_tokenizer.ok()) return pre_tokenizer.status().With("pre_tokenizer");
  pipeline.pre_tokenizer = *std::move(pre_tokenizer);
  QUIRE_RETURN_IF_ERROR(Named(ReadModel(model, builder), "model"));
  QUIRE_RETURN_IF_ERROR(Named(ReadAddedTokens(section("added_tokens"), builder), "added_tokens"));
  PostProcessor& post = pipeline.post;
  QUIRE_RETURN_IF_ERROR(
      Named(ReadPostProcessor(section("post_processor"), post), "post_processor"));
  QUIRE_RETURN_IF_ERROR(Named(ReadTruncation(section("truncation"), post), "truncation"));
  QUIRE_RETURN_IF_ERROR(Named(ReadPadding(section("padding"), post), "padding"));
  auto decoder = MakeDecoder(section("decoder"));
  if (!decoder.ok()) return decoder.status().With("decoder");
  pipeline.decoder = *std::move(decoder);
  return {};
}

// The bytes of a file. Unlike a string's, they are not written before they are read.
struct FileBytes {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  std::string_view text() const { return {bytes.get(), size}; }
};

// nullopt where there is no such file.
Result<std::optional<FileBytes>> ReadFile(const fs::path& path) {
  QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path.string()));
  if (!is_there) return std::optional<FileBytes>();
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return DataLoss(StrCat(path.string(), ": cannot be examined"));
  if (size > kMaxFileBytes) {
    return DataLoss(StrCat(path.string(), ": larger than ", kMaxFileBytes, " bytes"));
  }
  std::ifstream stream(path, std::ios::binary);
  FileBytes file;
  file.size = static_cast<std::size_t>(size);
  file.bytes = std::make_unique_for_overwrite<char[]>(file.size);
  if (!stream.read(file.bytes.get(), static_cast<std::streamsize>(size))) {
    return DataLoss(StrCat(path.string(), ": cannot be read"));
  }
  return std::optional(std::move(file));
}

// The texts of the files beside a tokenizer, kept while they are read.
struct FolderTexts {
  FileBytes tokenizer;
  std::string tokenizer_config, special_tokens_map, generation_config, chat_template;
  std::vector<NamedTemplate> more_templates;

  HfTokenizerFiles Files() const {
    return {tokenizer.text(),  tokenizer_config, special_tokens_map,
            generation_config, chat_template,    more_templates};
  }
};

Status ReadInto(const fs::path& path, std::string& out) {
  QUIRE_ASSIGN_OR_RETURN(const std::optional<FileBytes> file, ReadFile(path));
  if (file) out = file->text();
  return {};
}

// additional_chat_templates/NAME.jinja, in the order of their names.
Result<std::vector<NamedTemplate>> ReadMoreTemplates(const fs::path& folder) {
  constexpr std::size_t kMaxTemplates = 64;
  std::vector<NamedTemplate> out;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder / "additional_chat_templates", error)) {
    if (entry.path().extension() != ".jinja" || out.size() >= kMaxTemplates) continue;
    NamedTemplate found{entry.path().stem().string(), ""};
    QUIRE_RETURN_IF_ERROR(ReadInto(entry.path(), found.source));
    out.push_back(std::move(found));
  }
  std::sort(out.begin(), out.end(),
            [](const NamedTemplate& a, const NamedTemplate& b) { return a.name < b.name; });
  return out;
}

Result<FolderTexts> ReadConfigs(const fs::path& folder) {
  FolderTexts texts;
  QUIRE_RETURN_IF_ERROR(ReadInto(folder / "tokenizer_config.json", texts.tokenizer_config));
  QUIRE_RETURN_IF_ERROR(ReadInto(folder / "special_tokens_map.json", texts.special_tokens_map));
  QUIRE_RETURN_IF_ERROR(ReadInto(folder / "generation_config.json", texts.generation_config));
  QUIRE_RETURN_IF_ERROR(ReadInto(folder / "chat_template.jinja", texts.chat_template));
  QUIRE_ASSIGN_OR_RETURN(texts.more_templates, ReadMoreTemplates(folder));
  return texts;
}

// The first file of the folder, by name, with this ending.
std::optional<fs::path> FindByEnding(const fs::path& folder, std::string_view ending) {
  std::optional<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (path.filename().string().ends_with(ending) && (!found || path < *found)) found = path;
  }
  return found;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(const HfTokenizerFiles& files) {
  TokenizerBuilder builder;
  builder.description().source = "tokenizer.json";
  Status status = ReadTokenizerJson(files.tokenizer_json, builder);
  if (!status.ok()) return status.With("tokenizer.json");
  QUIRE_RETURN_IF_ERROR(ApplyHfConfigs(files, builder));
  return builder.Build();
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromHfFolder(const std::string& folder) {
  const fs::path root(folder);
  QUIRE_ASSIGN_OR_RETURN(FolderTexts texts, ReadConfigs(root));
  using Loaded = Result<std::shared_ptr<const Tokenizer>>;
  const auto in_folder = [&](Loaded tokenizer) {
    return tokenizer.ok() ? std::move(tokenizer) : Loaded(tokenizer.status().With(folder));
  };
  QUIRE_ASSIGN_OR_RETURN(std::optional<FileBytes> json, ReadFile(root / "tokenizer.json"));
  if (json) {
    texts.tokenizer = *std::move(json);
    return in_folder(FromJson(texts.Files()));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::optional<FileBytes> model, ReadFile(root / "tokenizer.model"));
  if (model) return in_folder(FromSentencePiece(model->text(), texts.Files()));
  QUIRE_ASSIGN_OR_RETURN(const std::optional<FileBytes> tekken, ReadFile(root / "tekken.json"));
  if (tekken) return in_folder(FromTekken(tekken->text(), texts.Files()));
  if (const auto path = FindByEnding(root, ".tiktoken")) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<FileBytes> ranks, ReadFile(*path));
    if (ranks) return in_folder(FromTiktoken(ranks->text(), texts.Files()));
  }
  return NotFound(StrCat(folder,
                         ": holds no tokenizer (tokenizer.json, tokenizer.model, tekken.json or "
                         "*.tiktoken)"));
}

}  // namespace quire
