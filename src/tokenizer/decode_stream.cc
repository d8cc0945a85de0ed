#include "tokenizer/decode_stream.h"

#include <utility>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

// The end of the chain: gathers the text.
class DecodeStream::Output final : public DecodeStage {
 public:
  explicit Output(std::string& text) : text_(text) {}
  void Push(const TokenPart& part) override { text_ += part.text; }
  void Finish() override {}

 private:
  std::string& text_;
};

DecodeStream::DecodeStream(const Pipeline& pipeline, const DecodeOptions& options, bool is_stream)
    : pipeline_(pipeline), options_(options) {
  stages_.push_back(std::make_unique<Output>(text_));
  const auto& steps = pipeline.decoder.steps;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    (*step)->MakeStages(stages_, is_stream);
  }
}

void DecodeStream::Push(TokenId id) {
  const AddedToken* added = pipeline_.added.FindById(id);
  if (added == nullptr && !pipeline_.vocabulary.Has(id)) return;
  if (added != nullptr && options_.skip_special_tokens && pipeline_.added.IsSkipped(*added)) return;
  const std::string_view token =
      added != nullptr ? pipeline_.added.ShownText(*added) : pipeline_.vocabulary.Text(id);
  const bool is_bare = added != nullptr && was_added_ && !options_.spaces_between_special_tokens;
  was_added_ = added != nullptr;
  const std::size_t before = text_.size();
  PushText(token);
  if (is_bare) {
    text_.resize(before);
    text_ += token;
  }
}

void DecodeStream::PushText(std::string_view token) {
  if (pipeline_.decoder.joins_with_blank) {
    if (!is_first_) text_ += ' ';
    text_ += token;
  } else {
    stages_.back()->Push({token});
  }
  is_first_ = false;
}

std::string DecodeStream::Take() {
  if (text_.empty() || std::string_view(text_).ends_with(kReplacementCharacter)) return {};
  for (const auto& stage : stages_) {
    if (stage->HoldsBytes()) return {};
  }
  return std::exchange(text_, {});
}

std::string DecodeStream::Finish() {
  stages_.back()->Finish();
  is_first_ = true;
  was_added_ = false;
  return std::exchange(text_, {});
}

std::string DecodeTexts(const Pipeline& pipeline, std::initializer_list<std::string_view> tokens) {
  DecodeStream stream(pipeline, {}, false);
  for (const std::string_view token : tokens) stream.PushText(token);
  return stream.Finish();
}

}  // namespace quire
