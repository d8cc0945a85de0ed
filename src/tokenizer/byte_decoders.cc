// Decoders that put bytes together: ByteLevel, ByteFallback, Fuse.
#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/decode_stages.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

// All tokens become one.
class FuseStage final : public LinkedStage {
 public:
  using LinkedStage::LinkedStage;
  void Push(const TokenPart& part) override {
    if (part.text.empty() && is_started_) return;
    next_.Push({part.text, !is_started_, false});
    is_started_ = true;
  }
  void Finish() override {
    next_.Push({"", !is_started_, true});
    is_started_ = false;
    next_.Finish();
  }

 private:
  bool is_started_ = false;
};

// The bytes of all tokens become one text; a cut character waits for its rest.
class ByteLevelStage final : public LinkedStage {
 public:
  using LinkedStage::LinkedStage;

  void Push(const TokenPart& part) override {
    if (!AppendBytesOfChars(bytes_, part.text)) bytes_ += part.text;
    const std::size_t complete = CompleteBytes();
    if (complete == 0) return;
    std::string text;
    AppendLossy(text, std::string_view(bytes_).substr(0, complete));
    bytes_.erase(0, complete);
    Emit(text, false);
  }

  void Finish() override {
    std::string text;
    AppendLossy(text, bytes_);
    bytes_.clear();
    Emit(text, true);
    is_started_ = false;
    next_.Finish();
  }

  bool HoldsBytes() const override { return !bytes_.empty(); }

 private:
  void Emit(std::string_view text, bool is_end) {
    next_.Push({text, !is_started_, is_end});
    is_started_ = true;
  }

  // Bytes before a sequence at the end that later bytes may complete.
  std::size_t CompleteBytes() const {
    const std::size_t size = bytes_.size();
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, size); ++back) {
      const auto byte = static_cast<unsigned char>(bytes_[size - back]);
      if ((byte & 0xC0) == 0x80) continue;
      const Utf8Step step = ReadUtf8(std::string_view(bytes_).substr(size - back));
      return step.kind == Utf8Step::Kind::kIncomplete ? size - back : size;
    }
    return size;
  }

  std::string bytes_;
  bool is_started_ = false;
};

// A run of byte tokens becomes text where it is valid as a whole, else a U+FFFD for each byte.
class ByteFallbackStage final : public WholeTokenStage {
 public:
  ByteFallbackStage(DecodeStage& next, bool is_stream)
      : WholeTokenStage(next), is_stream_(is_stream) {}

  bool HoldsBytes() const override { return !held_.empty(); }

 protected:
  void PushToken(std::string_view token) override {
    const int byte = ByteOfToken(token);
    if (byte < 0) {
      EndRun();
      next_.Push({token});
      return;
    }
    held_ += static_cast<char>(byte);
    if (is_stream_ && IsValidUtf8(held_)) {
      next_.Push({held_});
      held_.clear();
    }
  }

  void FinishTokens() override { EndRun(); }

 private:
  void EndRun() {
    if (!held_.empty()) {
      if (IsValidUtf8(held_)) {
        next_.Push({held_});
      } else {
        for (std::size_t i = 0; i < held_.size(); ++i) next_.Push({kReplacementCharacter});
      }
      held_.clear();
    }
  }

  bool is_stream_;
  std::string held_;
};

class ByteLevelDecoder final : public Decoder {
 public:
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<ByteLevelStage>(stages);
  }
};

class ByteFallbackDecoder final : public Decoder {
 public:
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages,
                  bool is_stream) const override {
    AddStage<ByteFallbackStage>(stages, is_stream);
  }
};

class FuseDecoder final : public Decoder {
 public:
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<FuseStage>(stages);
  }
};

}  // namespace

int ByteOfToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::unique_ptr<const Decoder> MakeByteLevelDecoder() {
  return std::make_unique<ByteLevelDecoder>();
}
std::unique_ptr<const Decoder> MakeByteFallbackDecoder() {
  return std::make_unique<ByteFallbackDecoder>();
}
std::unique_ptr<const Decoder> MakeFuseDecoder() { return std::make_unique<FuseDecoder>(); }

}  // namespace quire
