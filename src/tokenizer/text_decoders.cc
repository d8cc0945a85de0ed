// Decoders that rewrite the text of tokens: Strip, Replace, WordPiece, Metaspace, BPE, CTC.
#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"
#include "tokenizer/decode_stages.h"
#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

// `text` with each `from` replaced; an empty `from` stands between all code points.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) {
    out += to;
    while (!text.empty()) {
      const int length = FirstCodePoint(text).length;
      out += text.substr(0, length);
      out += to;
      text.remove_prefix(length);
    }
    return out;
  }
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out += text;
}

// The spacing of English punctuation and contractions, as in the original.
std::string CleanUp(std::string_view token) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  std::string out(token);
  for (const auto& [from, to] : kRules) {
    if (out.find(from) != std::string::npos) out = ReplaceAll(out, from, to);
  }
  return out;
}

// Takes up to `start` characters off the front of each token and up to `stop` off its end.
class StripStage final : public LinkedStage {
 public:
  StripStage(DecodeStage& next, std::string content, int start, int stop)
      : LinkedStage(next), content_(std::move(content)), start_(start), stop_(stop) {}

  void Push(const TokenPart& part) override {
    if (part.is_start) {
      num_cut_ = 0;
      tail_.clear();
    }
    std::string_view text = part.text;
    while (num_cut_ < start_ && !text.empty()) {
      if (!text.starts_with(content_)) {
        num_cut_ = start_;  // the first other character ends it
        break;
      }
      text.remove_prefix(content_.size());
      ++num_cut_;
    }
    tail_ += text;
    std::size_t kept = tail_.size();
    for (int i = 0; i < stop_ && std::string_view(tail_).substr(0, kept).ends_with(content_); ++i) {
      kept -= content_.size();
    }
    next_.Push({std::string_view(tail_).substr(0, kept), part.is_start, part.is_end});
    tail_.erase(0, kept);
  }

 private:
  std::string content_;
  int start_, stop_;
  int num_cut_ = 0;
  std::string tail_;  // held back: what would be stripped if the token ended here
};

// In a stream a text that comes in parts is given out at once, so a match over two of its parts is
// not seen: the original does not wait either.
class ReplaceStage final : public LinkedStage {
 public:
  ReplaceStage(DecodeStage& next, const std::string& from, const std::string& to, bool is_stream)
      : LinkedStage(next), from_(from), to_(to), is_stream_(is_stream) {}

  void Push(const TokenPart& part) override {
    if (part.is_start && part.is_end) {
      next_.Push({part.text.empty() ? std::string() : ReplaceAll(part.text, from_, to_)});
      return;
    }
    held_ += part.text;
    const std::size_t ready = part.is_end ? held_.size() : held_.size() - HeldBytes();
    const std::string text = ready == 0
                                 ? std::string()
                                 : ReplaceAll(std::string_view(held_).substr(0, ready), from_, to_);
    held_.erase(0, ready);
    next_.Push({text, part.is_start, part.is_end});
  }

 private:
  // Bytes at the end that may begin a match.
  std::size_t HeldBytes() const {
    if (from_.empty()) return held_.size();
    if (is_stream_) return 0;
    for (std::size_t size = std::min(from_.size() - 1, held_.size()); size > 0; --size) {
      if (std::string_view(held_).ends_with(std::string_view(from_).substr(0, size))) return size;
    }
    return 0;
  }

  const std::string& from_;
  const std::string& to_;
  bool is_stream_;
  std::string held_;
};

class PatternReplaceStage final : public WholeTokenStage {
 public:
  PatternReplaceStage(DecodeStage& next, const Pattern& pattern, const std::string& content)
      : WholeTokenStage(next), pattern_(pattern), content_(content) {}

 protected:
  void PushToken(std::string_view token) override {
    std::vector<TextRange> matches;
    // A token whose match passes the limit stays as it is.
    if (!token.empty() && !pattern_.FindAll(token, matches).ok()) matches.clear();
    std::string out;
    std::size_t last = 0;
    for (const TextRange& match : matches) {
      out += token.substr(last, match.begin - last);
      out += content_;
      last = match.end;
    }
    out += token.substr(last);
    next_.Push({out});
  }

 private:
  const Pattern& pattern_;
  const std::string& content_;
};

class WordPieceStage final : public WholeTokenStage {
 public:
  WordPieceStage(DecodeStage& next, const std::string& prefix, bool cleanup)
      : WholeTokenStage(next), prefix_(prefix), cleanup_(cleanup) {}

 protected:
  void PushToken(std::string_view token) override {
    std::string text;
    if (is_first_) {
      text = token;
    } else if (token.starts_with(prefix_)) {
      text = token.substr(prefix_.size());
    } else {
      text = StrCat(" ", token);
    }
    is_first_ = false;
    next_.Push({cleanup_ ? CleanUp(text) : text});
  }
  void FinishTokens() override { is_first_ = true; }

 private:
  const std::string& prefix_;
  bool cleanup_;
  bool is_first_ = true;
};

class MetaspaceStage final : public LinkedStage {
 public:
  MetaspaceStage(DecodeStage& next, const std::string& replacement, bool drops_first)
      : LinkedStage(next), replacement_(replacement), drops_first_(drops_first) {}

  void Push(const TokenPart& part) override {
    const bool drops = is_first_ && drops_first_;
    next_.Push({ReplaceAll(part.text, replacement_, drops ? "" : " "), part.is_start, part.is_end});
    if (part.is_end) is_first_ = false;
  }
  void Finish() override {
    is_first_ = true;
    next_.Finish();
  }

 private:
  const std::string& replacement_;
  bool drops_first_;
  bool is_first_ = true;
};

// The suffix becomes a blank, but in the last token nothing: what follows a suffix waits.
class BpeStage final : public WholeTokenStage {
 public:
  BpeStage(DecodeStage& next, const std::string& suffix) : WholeTokenStage(next), suffix_(suffix) {}

 protected:
  void PushToken(std::string_view token) override {
    FlushHeld(" ");
    const std::size_t at = token.find(suffix_);
    next_.Push({token.substr(0, at)});
    if (at != std::string_view::npos) held_ = token.substr(at);
  }
  void FinishTokens() override { FlushHeld(""); }

 private:
  void FlushHeld(std::string_view blank) {
    if (held_.empty()) return;
    next_.Push({ReplaceAll(held_, suffix_, blank)});
    held_.clear();
  }

  const std::string& suffix_;
  std::string held_;
};

class CtcStage final : public WholeTokenStage {
 public:
  CtcStage(DecodeStage& next, const CtcOptions& options)
      : WholeTokenStage(next), options_(options) {}

 protected:
  void PushToken(std::string_view token) override {
    if (has_last_ && token == last_) return;
    has_last_ = true;
    last_ = token;
    std::string text = ReplaceAll(token, options_.pad_token, "");
    if (options_.cleanup) text = ReplaceAll(CleanUp(text), options_.word_delimiter_token, " ");
    if (!text.empty()) next_.Push({text});
  }
  void FinishTokens() override { has_last_ = false; }

 private:
  const CtcOptions& options_;
  bool has_last_ = false;
  std::string last_;
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(char32_t content, int start, int stop) : start_(start), stop_(stop) {
    AppendUtf8(content_, content);
  }
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<StripStage>(stages, content_, start_, stop_);
  }

 private:
  std::string content_;
  int start_, stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages,
                  bool is_stream) const override {
    AddStage<ReplaceStage>(stages, from_, to_, is_stream);
  }

 private:
  std::string from_, to_;
};

class PatternReplaceDecoder final : public Decoder {
 public:
  PatternReplaceDecoder(std::unique_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<PatternReplaceStage>(stages, *pattern_, content_);
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  std::string content_;
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<WordPieceStage>(stages, prefix_, cleanup_);
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(char32_t replacement, bool drops_first) : drops_first_(drops_first) {
    AppendUtf8(replacement_, replacement);
  }
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<MetaspaceStage>(stages, replacement_, drops_first_);
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<BpeStage>(stages, suffix_);
  }

 private:
  std::string suffix_;
};

class CtcDecoder final : public Decoder {
 public:
  explicit CtcDecoder(CtcOptions options) : options_(std::move(options)) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<CtcStage>(stages, options_);
  }

 private:
  CtcOptions options_;
};

}  // namespace

std::unique_ptr<const Decoder> MakeStripDecoder(char32_t content, int start, int stop) {
  return std::make_unique<StripDecoder>(content, start, stop);
}
std::unique_ptr<const Decoder> MakeReplaceDecoder(std::string from, std::string to) {
  return std::make_unique<ReplaceDecoder>(std::move(from), std::move(to));
}
std::unique_ptr<const Decoder> MakePatternReplaceDecoder(std::unique_ptr<const Pattern> pattern,
                                                         std::string content) {
  return std::make_unique<PatternReplaceDecoder>(std::move(pattern), std::move(content));
}
std::unique_ptr<const Decoder> MakeWordPieceDecoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}
std::unique_ptr<const Decoder> MakeMetaspaceDecoder(char32_t replacement, bool drops_first) {
  return std::make_unique<MetaspaceDecoder>(replacement, drops_first);
}
std::unique_ptr<const Decoder> MakeBpeDecoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}
std::unique_ptr<const Decoder> MakeCtcDecoder(CtcOptions options) {
  return std::make_unique<CtcDecoder>(std::move(options));
}

}  // namespace quire
