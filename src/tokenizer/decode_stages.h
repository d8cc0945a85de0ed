// What the stages of decoders have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/decoders.h"

namespace quire {

// Hands parts on to `next`, which outlives it.
class LinkedStage : public DecodeStage {
 public:
  explicit LinkedStage(DecodeStage& next) : next_(next) {}
  void Finish() override { next_.Finish(); }

 protected:
  DecodeStage& next_;
};

// For stages that look at whole tokens: gathers the parts of one.
class WholeTokenStage : public LinkedStage {
 public:
  using LinkedStage::LinkedStage;

  void Push(const TokenPart& part) final {
    if (part.is_start && part.is_end) {
      PushToken(part.text);
      return;
    }
    token_ += part.text;
    is_open_ = !part.is_end;
    if (part.is_end) EndToken();
  }

  void Finish() final {
    if (is_open_) EndToken();
    FinishTokens();
    next_.Finish();
  }

 protected:
  virtual void PushToken(std::string_view token) = 0;
  virtual void FinishTokens() {}

 private:
  void EndToken() {
    const std::string token = std::exchange(token_, {});
    is_open_ = false;
    PushToken(token);
  }

  std::string token_;
  bool is_open_ = false;
};

// Appends Stage(the stage before, arguments…) to `stages`.
template <typename Stage, typename... Arguments>
void AddStage(std::vector<std::unique_ptr<DecodeStage>>& stages, Arguments&&... arguments) {
  DecodeStage& next = *stages.back();
  stages.push_back(std::make_unique<Stage>(next, std::forward<Arguments>(arguments)...));
}

}  // namespace quire
