#include "tokenizer/normalizers.h"

#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/component_config.h"
#include "tokenizer/precompiled.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

using Made = Result<std::unique_ptr<const Normalizer>>;

constexpr std::size_t kMaxGrowth = 32;
constexpr std::size_t kFreeGrowth = std::size_t{1} << 20;

// Passes each code point to a function that appends what becomes of it.
class CodePointNormalizer final : public Normalizer {
 public:
  using Append = void (*)(std::string& out, char32_t code);
  explicit CodePointNormalizer(Append append) : append_(append) {}

  Status Apply(std::string& text) const override {
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
      const CodePoint point = FirstCodePoint(rest);
      append_(out, point.code);
      rest.remove_prefix(point.length);
    }
    text = std::move(out);
    return {};
  }

 private:
  Append append_;
};

void AppendWithoutMark(std::string& out, char32_t code) {
  if (!unicode::IsMark9(code)) AppendUtf8(out, code);
}

// SentencePiece's clean-up for translation: no control characters, odd blanks become plain ones.
void AppendNmt(std::string& out, char32_t code) {
  const bool is_dropped = (code >= 1 && code <= 8) || code == 0x0B ||
                          (code >= 0x0E && code <= 0x1F) || code == 0x7F || code == 0x8F ||
                          code == 0x9F;
  if (is_dropped) return;
  const bool is_blank = code == 9 || code == 10 || code == 12 || code == 13 || code == 0x1680 ||
                        (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 ||
                        code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
  AppendUtf8(out, is_blank ? U' ' : code);
}

void AppendClean(std::string& out, char32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') {
    out += ' ';
    return;
  }
  if (code == 0 || code == 0xFFFD || unicode::IsControl8(code)) return;
  AppendUtf8(out, unicode::IsWhiteSpace(code) ? U' ' : code);
}

bool IsChinese(char32_t code) {
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2B73F) ||
         (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

void AppendSpacedChinese(std::string& out, char32_t code) {
  const bool is_chinese = IsChinese(code);
  if (is_chinese) out += ' ';
  AppendUtf8(out, code);
  if (is_chinese) out += ' ';
}

void AppendWithoutAccent(std::string& out, char32_t code) {
  if (!unicode::IsNonspacing8(code)) AppendUtf8(out, code);
}

std::unique_ptr<const Normalizer> PerCodePoint(CodePointNormalizer::Append append) {
  return std::make_unique<CodePointNormalizer>(append);
}

class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(unicode::Form form) : form_(form) {}
  Status Apply(std::string& text) const override {
    if (!unicode::IsSurelyNormalized(text, form_)) {
      text = unicode::Normalize(text, form_, unicode::FormVersion::kUnicode9);
    }
    return {};
  }

 private:
  unicode::Form form_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Status Apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, prefix_);
    return {};
  }

 private:
  std::string prefix_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status Apply(std::string& text) const override {
    std::string_view kept = text;
    while (left_ && !kept.empty() && unicode::IsWhiteSpace(FirstCodePoint(kept).code)) {
      kept.remove_prefix(FirstCodePoint(kept).length);
    }
    while (right_ && !kept.empty() && unicode::IsWhiteSpace(LastCodePoint(kept).code)) {
      kept.remove_suffix(LastCodePoint(kept).length);
    }
    if (kept.size() != text.size()) text = std::string(kept);
    return {};
  }

 private:
  bool left_, right_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status Apply(std::string& text) const override {
    if (text.empty()) return {};
    std::vector<TextRange> matches;
    QUIRE_RETURN_IF_ERROR(pattern_->FindAll(text, matches));
    if (matches.empty()) return {};
    if (content_.size() * matches.size() > text.size() * kMaxGrowth + kFreeGrowth) {
      return ResourceExhausted(StrCat("normalizer: a replacement makes the text longer than ",
                                      kMaxGrowth, " times its length"));
    }
    std::string out;
    out.reserve(text.size() + content_.size() * matches.size());
    std::size_t last = 0;
    for (const TextRange& match : matches) {
      out.append(text, last, match.begin - last);
      out += content_;
      last = match.end;
    }
    out.append(text, last);
    text = std::move(out);
    return {};
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  std::string content_;
};

class ByteLevel final : public Normalizer {
 public:
  Status Apply(std::string& text) const override {
    std::string out;
    out.reserve(text.size() * 2);
    AppendByteChars(out, text);
    text = std::move(out);
    return {};
  }
  bool EndsInByteChars() const override { return true; }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> parts)
      : parts_(std::move(parts)) {}

  Status Apply(std::string& text) const override {
    const std::size_t limit = text.size() * kMaxGrowth + kFreeGrowth;
    for (const auto& part : parts_) {
      QUIRE_RETURN_IF_ERROR(part->Apply(text));
      if (text.size() > limit) {
        return ResourceExhausted(
            StrCat("normalizer: the text grows longer than ", kMaxGrowth, " times its length"));
      }
    }
    return {};
  }

  bool EndsInByteChars() const override {
    return !parts_.empty() && parts_.back()->EndsInByteChars();
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

Made ReadReplace(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(std::unique_ptr<const Pattern> pattern, ReadPattern(config));
  QUIRE_ASSIGN_OR_RETURN(std::string content, RequireString(config, "content"));
  return std::unique_ptr<const Normalizer>(
      std::make_unique<Replace>(std::move(pattern), std::move(content)));
}

Made ReadBert(const Json& config) {
  BertNormalizerOptions options;
  QUIRE_ASSIGN_OR_RETURN(options.clean_text, BoolOr(config, "clean_text", true));
  QUIRE_ASSIGN_OR_RETURN(options.handle_chinese_chars,
                         BoolOr(config, "handle_chinese_chars", true));
  QUIRE_ASSIGN_OR_RETURN(options.lowercase, BoolOr(config, "lowercase", true));
  QUIRE_ASSIGN_OR_RETURN(options.strip_accents, BoolOr(config, "strip_accents", options.lowercase));
  return MakeBertNormalizer(options);
}

Made ReadStrip(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const bool left, BoolOr(config, "strip_left", true));
  QUIRE_ASSIGN_OR_RETURN(const bool right, BoolOr(config, "strip_right", true));
  return std::unique_ptr<const Normalizer>(std::make_unique<Strip>(left, right));
}

Made Read(const Json& config, int depth);

Made ReadSequence(const Json& config, int depth) {
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* configs, RequireParts(config, "normalizers", depth));
  std::vector<std::unique_ptr<const Normalizer>> parts;
  for (const Json& part : *configs) {
    QUIRE_ASSIGN_OR_RETURN(parts.emplace_back(), Read(part, depth + 1));
  }
  return MakeNormalizerSequence(std::move(parts));
}

Made Read(const Json& config, int depth) {
  QUIRE_ASSIGN_OR_RETURN(const std::string type, RequireString(config, "type"));
  if (type == "Sequence") return ReadSequence(config, depth);
  if (type == "NFC") return MakeUnicodeNormalizer(unicode::Form::kNfc);
  if (type == "NFD") return MakeUnicodeNormalizer(unicode::Form::kNfd);
  if (type == "NFKC") return MakeUnicodeNormalizer(unicode::Form::kNfkc);
  if (type == "NFKD") return MakeUnicodeNormalizer(unicode::Form::kNfkd);
  if (type == "Lowercase") return PerCodePoint(unicode::AppendLower);
  if (type == "StripAccents") return PerCodePoint(AppendWithoutMark);
  if (type == "Nmt") return PerCodePoint(AppendNmt);
  if (type == "Replace") return ReadReplace(config);
  if (type == "BertNormalizer") return ReadBert(config);
  if (type == "Strip") return ReadStrip(config);
  if (type == "Prepend") {
    QUIRE_ASSIGN_OR_RETURN(std::string prefix, RequireString(config, "prepend"));
    return std::unique_ptr<const Normalizer>(std::make_unique<Prepend>(std::move(prefix)));
  }
  if (type == "ByteLevel") {
    return std::unique_ptr<const Normalizer>(std::make_unique<ByteLevel>());
  }
  if (type == "Precompiled") {
    QUIRE_ASSIGN_OR_RETURN(const std::string map,
                           StringOr(config, "precompiled_charsmap", std::string()));
    return MakePrecompiledFromBase64(map);
  }
  return Unimplemented(StrCat("type: unknown normalizer \"", Printable(type), "\""));
}

}  // namespace

std::unique_ptr<const Normalizer> MakeUnicodeNormalizer(unicode::Form form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

std::unique_ptr<const Normalizer> MakeLiteralReplace(std::string from, std::string to) {
  return std::make_unique<Replace>(MakeLiteralPattern(std::move(from)), std::move(to));
}

std::unique_ptr<const Normalizer> MakeNormalizerSequence(
    std::vector<std::unique_ptr<const Normalizer>> parts) {
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

std::unique_ptr<const Normalizer> MakeBertNormalizer(const BertNormalizerOptions& options) {
  std::vector<std::unique_ptr<const Normalizer>> parts;
  if (options.clean_text) parts.push_back(PerCodePoint(AppendClean));
  if (options.handle_chinese_chars) parts.push_back(PerCodePoint(AppendSpacedChinese));
  if (options.strip_accents) {
    parts.push_back(MakeUnicodeNormalizer(unicode::Form::kNfd));
    parts.push_back(PerCodePoint(AppendWithoutAccent));
  }
  if (options.lowercase) parts.push_back(PerCodePoint(unicode::AppendLower));
  return MakeNormalizerSequence(std::move(parts));
}

Result<std::unique_ptr<const Normalizer>> MakeNormalizer(const Json& config) {
  if (config.is_null()) return std::unique_ptr<const Normalizer>();
  return Read(config, 0);
}

}  // namespace quire
