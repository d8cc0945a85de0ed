#include "tokenizer/pattern.h"

#include <utility>

#include "tokenizer/scanners.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

class CharPattern final : public Pattern {
 public:
  explicit CharPattern(bool (*is_match)(char32_t)) : is_match_(is_match) {}

  Status FindAll(std::string_view text, std::vector<TextRange>& out) const override {
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = FirstCodePoint(text.substr(at));
      if (is_match_(point.code)) out.push_back({at, at + point.length});
      at += point.length;
    }
    return {};
  }

 private:
  bool (*is_match_)(char32_t);
};

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  Status FindAll(std::string_view text, std::vector<TextRange>& out) const override {
    if (literal_.empty()) {
      for (std::size_t at = 0; at < text.size(); at += FirstCodePoint(text.substr(at)).length) {
        out.push_back({at, at});
      }
      out.push_back({text.size(), text.size()});
      return {};
    }
    for (std::size_t at = text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, at + literal_.size())) {
      out.push_back({at, at + literal_.size()});
    }
    return {};
  }

 private:
  std::string literal_;
};

class ScannerPattern final : public Pattern {
 public:
  explicit ScannerPattern(const NamedScanner& scanner) : scanner_(scanner) {}

  Status FindAll(std::string_view text, std::vector<TextRange>& out) const override {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = scanner_.scan(text, at);
      if (end == at) {
        at += FirstCodePoint(text.substr(at)).length;
      } else {
        out.push_back({at, end});
        at = end;
      }
    }
    return {};
  }

  std::string_view name() const override { return scanner_.name; }

 private:
  const NamedScanner& scanner_;
};

}  // namespace

std::unique_ptr<const Pattern> MakeCharPattern(bool (*is_match)(char32_t)) {
  return std::make_unique<CharPattern>(is_match);
}

std::unique_ptr<const Pattern> MakeLiteralPattern(std::string literal) {
  return std::make_unique<LiteralPattern>(std::move(literal));
}

Result<std::unique_ptr<const Pattern>> MakeRegexPattern(std::string_view source) {
  if (const NamedScanner* scanner = FindScanner(source)) {
    return std::unique_ptr<const Pattern>(std::make_unique<ScannerPattern>(*scanner));
  }
  return MakePcrePattern(source);
}

}  // namespace quire
