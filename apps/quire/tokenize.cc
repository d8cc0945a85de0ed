// quire tokenize: text to token ids and back.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/flags.h"
#include "apps/quire/io.h"
#include "apps/quire/json_lines.h"
#include "apps/quire/terminal.h"
#include "apps/quire/tokenizer_source.h"
#include "base/strings.h"
#include "config/field_value.h"
#include "tokenizer/detokenizer.h"

namespace quire {

namespace {

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;
  std::optional<std::string> file;
  bool decode = false;
  bool jsonl = false;
  bool json = false;
  EncodeOptions encode;
  bool skip_special_tokens = true;
  std::vector<TokenId> ids;  // with decode
};

FlagSet MakeFlags(TokenizeOptions& options) {
  FlagSet flags("tokenize [MODEL] (TEXT | -p TEXT | -f FILE | -) [flags]",
                "Shows the token ids of a text and the piece that each stands for, or, with "
                "--decode, the text of ids. MODEL is a folder with tokenizer files (a "
                "tokenizer.json alone will do), a GGUF file, or the name of a model.");
  flags.Group("Input");
  flags.Add("model", options.model, "The model, in place of MODEL");
  flags.Add("text,p", options.text, "The text");
  flags.Add("file,f", options.file, "File with the text, taken whole; - is standard input", "FILE");
  flags.Add("decode", options.decode, "What follows MODEL are ids, wanted is their text");
  flags.Add("jsonl", options.jsonl,
            "One JSON object a line on standard input, one a line on standard output: "
            "{\"text\", \"add_special_tokens\", \"parse_special\"} gives {\"ids\", \"pieces\"}; "
            "with --decode {\"ids\", \"skip_special_tokens\"} gives {\"text\", \"deltas\", "
            "\"rest\"}, a delta for each id and what a flush gives at the end");
  flags.Group("Output");
  flags.Add("json", options.json, "One JSON object as of --jsonl");
  flags.Add("add-special-tokens", options.encode.add_special_tokens,
            "Add what the model puts around a text, such as BOS");
  flags.Add("parse-special", options.encode.parse_special,
            "Take special tokens written in the text as such");
  flags.Add("skip-special-tokens", options.skip_special_tokens,
            "Leave special tokens out of decoded text");
  flags.AddExample("quire tokenize -p \"Hello world\"");
  flags.AddExample("quire tokenize ./my-model -f notes.txt --json");
  flags.AddExample("quire tokenize ./my-model --decode 504 3575 282");
  return flags;
}

Result<Json> EncodeToJson(const Tokenizer& tokenizer, std::string_view text,
                          const EncodeOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, tokenizer.Encode(text, options));
  JsonArray id_list;
  JsonArray pieces;
  id_list.reserve(ids.size());
  pieces.reserve(ids.size());
  for (const TokenId id : ids) {
    id_list.emplace_back(id);
    pieces.emplace_back(ToValidUtf8(tokenizer.TokenText(id)));
  }
  return Json(JsonObject{{"ids", std::move(id_list)}, {"pieces", std::move(pieces)}});
}

Json DecodeToJson(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                  const DecodeOptions& options) {
  JsonArray deltas;
  deltas.reserve(ids.size());
  IncrementalDetokenizer stream(tokenizer, options);
  for (const TokenId id : ids) deltas.emplace_back(stream.Append(id));
  Json rest = Json(stream.Finish());
  return Json(JsonObject{{"text", tokenizer.Decode(ids, options)},
                         {"deltas", std::move(deltas)},
                         {"rest", std::move(rest)}});
}

Result<Json> EncodeLine(const Tokenizer& tokenizer, const Json& line, EncodeOptions options) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, RequireString(line, "text"));
  QUIRE_ASSIGN_OR_RETURN(options.add_special_tokens,
                         BoolOr(line, "add_special_tokens", options.add_special_tokens));
  QUIRE_ASSIGN_OR_RETURN(options.parse_special,
                         BoolOr(line, "parse_special", options.parse_special));
  return EncodeToJson(tokenizer, text, options);
}

Result<Json> DecodeLine(const Tokenizer& tokenizer, const Json& line, DecodeOptions options) {
  QUIRE_ASSIGN_OR_RETURN(options.skip_special_tokens,
                         BoolOr(line, "skip_special_tokens", options.skip_special_tokens));
  const Json* list = line.Find("ids");
  if (list == nullptr) return InvalidArgument("ids: is missing");
  std::vector<TokenId> ids;
  if (const Status read = FieldFromJson(*list, ids); !read.ok()) return read.With("ids");
  return DecodeToJson(tokenizer, ids, options);
}

// Each piece in the next of two colours, or in quotes where there are no colours.
std::string ShowPieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  constexpr std::array<const char*, 2> kColors = {"\x1b[30;46m", "\x1b[30;43m"};
  const bool has_color = WantsColor(STDOUT_FILENO);
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string piece = Printable(tokenizer.TokenBytes(ids[i]), std::string::npos);
    if (has_color) {
      out += StrCat(kColors[i % kColors.size()], piece, "\x1b[0m");
    } else {
      out += StrCat(i == 0 ? "" : " ", Json(piece).Dump());
    }
  }
  return out;
}

std::int64_t CountCharacters(std::string_view text) {
  std::int64_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(static_cast<std::size_t>(std::max(1, Utf8SequenceLength(text))));
    ++count;
  }
  return count;
}

Status ShowEncoding(const Tokenizer& tokenizer, const std::string& text,
                    const TokenizeOptions& options) {
  if (options.json) {
    QUIRE_ASSIGN_OR_RETURN(const Json json, EncodeToJson(tokenizer, text, options.encode));
    return PrintToStdout(json.Dump() + "\n");
  }
  QUIRE_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, tokenizer.Encode(text, options.encode));
  return PrintToStdout(StrCat("pieces  ", ShowPieces(tokenizer, ids), "\nids     ", Join(ids, " "),
                              "\ncounts  ", Plural(std::ssize(ids), "token"), ", ",
                              Plural(CountCharacters(text), "character"), ", ",
                              Plural(std::ssize(text), "byte"), "\n"));
}

Status ShowDecoding(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const DecodeOptions decode{.skip_special_tokens = options.skip_special_tokens};
  if (options.json) {
    return PrintToStdout(DecodeToJson(tokenizer, options.ids, decode).Dump() + "\n");
  }
  const std::string text = tokenizer.Decode(options.ids, decode);
  return PrintToStdout(IsTerminal(STDOUT_FILENO) ? ForTerminal(text) + "\n" : text);
}

// Adds the ids in `text`, which blanks, line ends, commas and brackets may separate.
Status AddIds(std::string_view text, std::vector<TokenId>& ids) {
  constexpr std::string_view kSeparators = ", \n\t\r[]";
  std::size_t at = 0;
  while ((at = text.find_first_not_of(kSeparators, at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const std::optional<TokenId> id = ParseNumber<TokenId>(item);
    if (!id) return InvalidArgument(StrCat("must be token ids, got \"", Printable(item), "\""));
    ids.push_back(*id);
    at = end;
  }
  return {};
}

bool IsIdList(const std::string& text) {
  std::vector<TokenId> ids;
  return AddIds(text, ids).ok() && !ids.empty();
}

// Sorts the arguments that are no flags into MODEL and TEXT, "-" or ids.
Status TakePositionals(const FlagSet& flags, TokenizeOptions& options) {
  std::vector<std::string> rest = flags.positionals();
  const bool has_source = options.text || options.file || options.jsonl;
  const bool is_model = !rest.empty() && !flags.is_set("model") && rest[0] != "-" &&
                        !(options.decode && IsIdList(rest[0]));
  if (is_model) {
    options.model = rest[0];
    rest.erase(rest.begin());
  }
  if (options.decode && !options.jsonl) {
    for (const std::string& text : rest) {
      if (text == "-") {
        options.file = "-";
      } else if (const Status read = AddIds(text, options.ids); !read.ok()) {
        return read.With("--decode");
      }
    }
    return {};
  }
  if (!rest.empty() && !has_source) {
    (rest[0] == "-" ? options.file : options.text) = rest[0];
    rest.erase(rest.begin());
  }
  if (!rest.empty()) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(rest[0]),
                                  "; a text of several words needs quotes"));
  }
  return {};
}

// The text or the ids to work on, read before the tokenizer is.
Status ReadTokenizeInput(TokenizeOptions& options) {
  if (options.jsonl) return {};
  if (options.file) {
    QUIRE_ASSIGN_OR_RETURN(std::string text, ReadInput(*options.file, kMaxTextBytes));
    if (options.decode) return AddIds(text, options.ids).With(*options.file);
    options.text = std::move(text);
  }
  if (options.decode && options.ids.empty()) {
    return InvalidArgument("no ids: give them after MODEL, or - for standard input");
  }
  if (!options.decode && !options.text) {
    return InvalidArgument(
        "no text: give it after MODEL, or with -p TEXT, -f FILE, or - for standard input");
  }
  return {};
}

Status AnswerTokenizeLines(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  if (options.decode) {
    const DecodeOptions decode{.skip_special_tokens = options.skip_special_tokens};
    return AnswerJsonLines([&](const Json& line) { return DecodeLine(tokenizer, line, decode); });
  }
  return AnswerJsonLines(
      [&](const Json& line) { return EncodeLine(tokenizer, line, options.encode); });
}

}  // namespace

Status RunTokenize(Args args) {
  TokenizeOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakePositionals(flags, options));
  QUIRE_RETURN_IF_ERROR(ReadTokenizeInput(options));
  QUIRE_ASSIGN_OR_RETURN(const auto tokenizer, TokenizerOf(options.model));
  if (options.jsonl) return AnswerTokenizeLines(*tokenizer, options);
  if (options.decode) return ShowDecoding(*tokenizer, options);
  return ShowEncoding(*tokenizer, *options.text, options);
}

}  // namespace quire
