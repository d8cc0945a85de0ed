#include "tokenizer/pre_tokenizers.h"

#include <utility>
#include <vector>

#include "tokenizer/byte_chars.h"
#include "tokenizer/scanners.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

bool IsNumeric(char32_t code) { return unicode::IsNumber(code); }

struct Segment {
  std::size_t begin, end;
  bool is_match;
};

// The matches and what lies between them, covering `size` bytes.
void Cover(const std::vector<TextRange>& matches, std::size_t size, bool is_inverted,
           std::vector<Segment>& out) {
  out.clear();
  std::size_t last = 0;
  for (const TextRange& match : matches) {
    if (match.begin != last) out.push_back({last, match.begin, is_inverted});
    out.push_back({match.begin, match.end, !is_inverted});
    last = match.end;
  }
  if (last != size) out.push_back({last, size, is_inverted});
}

// Joins each match to the segment before it, unless that is a match too.
void MergeWithPrevious(std::vector<Segment>& segments) {
  std::vector<Segment> merged;
  bool was_match = false;
  for (const Segment& segment : segments) {
    if (segment.is_match && !was_match && !merged.empty()) {
      merged.back().end = segment.end;
    } else {
      merged.push_back(segment);
    }
    was_match = segment.is_match;
  }
  segments = std::move(merged);
}

void MergeWithNext(std::vector<Segment>& segments) {
  std::vector<Segment> merged;  // from the end to the start
  bool was_match = false;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (segment->is_match && !was_match && !merged.empty()) {
      merged.back().begin = segment->begin;
    } else {
      merged.push_back(*segment);
    }
    was_match = segment->is_match;
  }
  segments.assign(merged.rbegin(), merged.rend());
}

void MergeAlike(std::vector<Segment>& segments) {
  std::vector<Segment> merged;
  bool was_match = false;
  for (const Segment& segment : segments) {
    if (segment.is_match == was_match && !merged.empty()) {
      merged.back().end = segment.end;
    } else {
      merged.push_back(segment);
    }
    was_match = segment.is_match;
  }
  segments = std::move(merged);
}

void Merge(std::vector<Segment>& segments, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(segments, [](const Segment& segment) { return segment.is_match; });
      return;
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kMergedWithPrevious:
      return MergeWithPrevious(segments);
    case SplitBehavior::kMergedWithNext:
      return MergeWithNext(segments);
    case SplitBehavior::kContiguous:
      return MergeAlike(segments);
  }
}

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<const Pattern> pattern, SplitBehavior behavior, bool is_inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), is_inverted_(is_inverted) {}

  Status Apply(Pieces& pieces) const override {
    std::vector<Piece> out;
    out.reserve(pieces.list.size());
    std::vector<TextRange> matches;
    std::vector<Segment> segments;
    for (const Piece& piece : pieces.list) {
      matches.clear();
      QUIRE_RETURN_IF_ERROR(pattern_->FindAll(pieces.View(piece), matches));
      Cover(matches, piece.end - piece.begin, is_inverted_, segments);
      Merge(segments, behavior_);
      for (const Segment& segment : segments) {
        if (segment.begin == segment.end) continue;
        out.push_back({piece.begin + segment.begin, piece.begin + segment.end,
                       piece.is_start && segment.begin == 0});
      }
    }
    pieces.list = std::move(out);
    return {};
  }

  std::string name() const override {
    return std::string(pattern_->name().empty() ? "split" : pattern_->name());
  }

 private:
  std::unique_ptr<const Pattern> pattern_;
  SplitBehavior behavior_;
  bool is_inverted_;
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) {
      split_ = MakeSplit(*MakeRegexPattern(ScannerNamed("gpt2").source), SplitBehavior::kIsolated);
    }
  }

  Status Apply(Pieces& pieces) const override {
    QUIRE_RETURN_IF_ERROR(ApplyAsBytes(pieces));
    std::string text;
    text.reserve(pieces.text.size() * 2);
    for (Piece& piece : pieces.list) {
      const std::size_t begin = text.size();
      AppendByteChars(text, pieces.View(piece));
      piece.begin = begin;
      piece.end = text.size();
    }
    pieces.text = std::move(text);
    return {};
  }

  Status ApplyAsBytes(Pieces& pieces) const override {
    if (add_prefix_space_) AddSpaces(pieces);
    return split_ == nullptr ? Status() : split_->Apply(pieces);
  }

  bool EndsInByteChars() const override { return true; }
  std::string name() const override { return split_ == nullptr ? "" : "gpt2"; }

 private:
  // A blank in front of each piece that does not begin with one.
  static void AddSpaces(Pieces& pieces) {
    std::string text;
    text.reserve(pieces.text.size() + pieces.list.size());
    for (Piece& piece : pieces.list) {
      const std::string_view view = pieces.View(piece);
      const std::size_t begin = text.size();
      if (!view.starts_with(' ')) text += ' ';
      text += view;
      piece.begin = begin;
      piece.end = text.size();
    }
    pieces.text = std::move(text);
  }

  bool add_prefix_space_;
  std::unique_ptr<const PreTokenizer> split_;
};

class NamedPreTokenizer final : public PreTokenizer {
 public:
  NamedPreTokenizer(std::string name, std::vector<std::unique_ptr<const PreTokenizer>> parts)
      : name_(std::move(name)), parts_(std::move(parts)) {}

  Status Apply(Pieces& pieces) const override {
    for (const auto& part : parts_) QUIRE_RETURN_IF_ERROR(part->Apply(pieces));
    return {};
  }

  Status ApplyAsBytes(Pieces& pieces) const override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool is_last = i + 1 == parts_.size();
      QUIRE_RETURN_IF_ERROR(is_last ? parts_[i]->ApplyAsBytes(pieces) : parts_[i]->Apply(pieces));
    }
    return {};
  }

  bool EndsInByteChars() const override {
    return !parts_.empty() && parts_.back()->EndsInByteChars();
  }

  std::string name() const override {
    if (!name_.empty()) return name_;
    std::string out;
    for (const auto& part : parts_) {
      const std::string name = part->name();
      if (name.empty()) continue;
      if (!out.empty()) out += " + ";
      out += name;
    }
    return out;
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

std::unique_ptr<const PreTokenizer> Named(std::string name,
                                          std::unique_ptr<const PreTokenizer> part) {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.push_back(std::move(part));
  return std::make_unique<NamedPreTokenizer>(std::move(name), std::move(parts));
}

}  // namespace

std::unique_ptr<const PreTokenizer> MakeSplit(std::unique_ptr<const Pattern> pattern,
                                              SplitBehavior behavior, bool is_inverted) {
  return std::make_unique<Split>(std::move(pattern), behavior, is_inverted);
}

std::unique_ptr<const PreTokenizer> MakeByteLevel(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}

std::unique_ptr<const PreTokenizer> MakeDigits(bool is_individual) {
  return Named("digits",
               MakeSplit(MakeCharPattern(IsNumeric),
                         is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
}

std::unique_ptr<const PreTokenizer> MakePunctuation(SplitBehavior behavior) {
  return Named("punctuation", MakeSplit(MakeCharPattern(unicode::IsPunctuation8), behavior));
}

std::unique_ptr<const PreTokenizer> MakeBertPreTokenizer() {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.push_back(MakeSplit(MakeCharPattern(unicode::IsWhiteSpace), SplitBehavior::kRemoved));
  parts.push_back(MakeSplit(MakeCharPattern(unicode::IsPunctuation8), SplitBehavior::kIsolated));
  return std::make_unique<NamedPreTokenizer>("bert", std::move(parts));
}

std::unique_ptr<const PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<const PreTokenizer>> parts) {
  return std::make_unique<NamedPreTokenizer>("", std::move(parts));
}

}  // namespace quire
