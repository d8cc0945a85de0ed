#include "tokenizer/text_pre_tokenizers.h"

#include <string>
#include <utility>
#include <vector>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool has_split)
      : scheme_(scheme), has_split_(has_split) {
    AppendUtf8(replacement_, replacement);
  }

  Status Apply(Pieces& pieces) const override {
    std::string text;
    text.reserve(pieces.text.size() + pieces.text.size() / 4);
    std::vector<Piece> out;
    for (const Piece& piece : pieces.list) {
      const std::size_t begin = text.size();
      AppendReplaced(text, pieces.View(piece), piece.is_start);
      if (has_split_) {
        Cut(text, begin, piece.is_start, out);
      } else if (begin != text.size()) {
        out.push_back({begin, text.size(), piece.is_start});
      }
    }
    pieces.text = std::move(text);
    pieces.list = std::move(out);
    return {};
  }

  std::string name() const override { return "metaspace"; }

 private:
  void AppendReplaced(std::string& text, std::string_view view, bool is_start) const {
    const bool has_it = view.starts_with(' ') || view.starts_with(replacement_);
    const bool wants_it =
        scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && is_start);
    if (wants_it && !has_it) text += replacement_;
    for (const char c : view) {
      if (c == ' ') {
        text += replacement_;
      } else {
        text += c;
      }
    }
  }

  // Cuts before each replacement, but one right behind another stays with it only where the
  // former is no delimiter of its own: a match goes to the segment after it, unless that is a
  // match too.
  void Cut(const std::string& text, std::size_t begin, bool is_start,
           std::vector<Piece>& out) const {
    std::size_t start = begin;
    for (std::size_t at = text.find(replacement_, begin + 1); at != std::string::npos;
         at = text.find(replacement_, at + 1)) {
      out.push_back({start, at, is_start && start == begin});
      start = at;
    }
    if (start < text.size()) out.push_back({start, text.size(), is_start && start == begin});
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool has_split_;
};

// Cuts each piece into the ranges that a function finds in it, and drops the rest.
class RangeSplit : public PreTokenizer {
 public:
  Status Apply(Pieces& pieces) const override {
    std::vector<Piece> out;
    std::vector<TextRange> ranges;
    for (const Piece& piece : pieces.list) {
      ranges.clear();
      FindRanges(pieces.View(piece), ranges);
      for (const TextRange& range : ranges) {
        if (range.begin == range.end) continue;
        out.push_back({piece.begin + range.begin, piece.begin + range.end,
                       piece.is_start && range.begin == 0});
      }
    }
    pieces.list = std::move(out);
    return {};
  }

 protected:
  virtual void FindRanges(std::string_view text, std::vector<TextRange>& out) const = 0;
};

class Whitespace final : public RangeSplit {
 public:
  std::string name() const override { return "whitespace"; }

 protected:
  void FindRanges(std::string_view text, std::vector<TextRange>& out) const override {
    enum class Kind { kSpace, kWord, kRest };
    Kind last = Kind::kSpace;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = FirstCodePoint(text.substr(at));
      const Kind kind = unicode::IsWord(point.code)         ? Kind::kWord
                        : unicode::IsWhiteSpace(point.code) ? Kind::kSpace
                                                            : Kind::kRest;
      const std::size_t end = at + point.length;
      if (kind != Kind::kSpace) {
        if (kind == last) {
          out.back().end = end;
        } else {
          out.push_back({at, end});
        }
      }
      last = kind;
      at = end;
    }
  }
};

class UnicodeScripts final : public RangeSplit {
 public:
  std::string name() const override { return "scripts"; }

 protected:
  // What stands before the first code point with a script of its own is dropped, as in the
  // original.
  void FindRanges(std::string_view text, std::vector<TextRange>& out) const override {
    std::string_view last;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = FirstCodePoint(text.substr(at));
      const std::string_view script = ScriptOf(point.code);
      if (!script.empty() && script != last) {
        if (!out.empty()) out.back().end = at;
        out.push_back({at, text.size()});
      }
      if (!script.empty()) last = script;
      at += point.length;
    }
  }

 private:
  // SentencePiece's idea of scripts, as of Unicode 9.0: the Japanese ones are one; "" goes with
  // any.
  static std::string_view ScriptOf(char32_t code) {
    if (code == 0x30FC) return "Han";
    if (code == ' ') return "";
    const std::string_view script = unicode::ScriptOf(code);
    if (script == "Hiragana" || script == "Katakana") return "Han";
    return script == "Unknown" || unicode::AgeOf(code) > unicode::AgeClass::kUnicode9 ? "" : script;
  }
};

class FixedLength final : public RangeSplit {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  std::string name() const override { return "fixed length"; }

 protected:
  void FindRanges(std::string_view text, std::vector<TextRange>& out) const override {
    std::size_t begin = 0, count = 0;
    for (std::size_t at = 0; at < text.size();) {
      at += FirstCodePoint(text.substr(at)).length;
      if (++count % length_ != 0 && at < text.size()) continue;
      out.push_back({begin, at});
      begin = at;
    }
  }

 private:
  std::size_t length_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> MakeMetaspace(char32_t replacement, PrependScheme scheme,
                                                  bool has_split) {
  return std::make_unique<Metaspace>(replacement, scheme, has_split);
}

std::unique_ptr<const PreTokenizer> MakeWhitespace() { return std::make_unique<Whitespace>(); }

std::unique_ptr<const PreTokenizer> MakeWhitespaceSplit() {
  return MakeSplit(MakeCharPattern(unicode::IsWhiteSpace), SplitBehavior::kRemoved);
}

std::unique_ptr<const PreTokenizer> MakeUnicodeScripts() {
  return std::make_unique<UnicodeScripts>();
}

std::unique_ptr<const PreTokenizer> MakeFixedLength(std::size_t num_code_points) {
  return std::make_unique<FixedLength>(num_code_points);
}

}  // namespace quire
