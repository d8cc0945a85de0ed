// The one file that sees xgrammar.
#include <algorithm>
#include <exception>
#include <utility>

#include <dlpack/dlpack.h>
#include <xgrammar/xgrammar.h>

#include "base/log.h"
#include "base/strings.h"
#include "structured/backend.h"

namespace quire {
namespace {

// The library reports by exceptions, with file and line before the message.
std::string MessageOf(const std::exception& error) {
  std::string_view text = error.what();
  if (const std::size_t at = text.rfind(".cc:"); at != std::string_view::npos) {
    const std::size_t colon = text.find(": ", at);
    if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
  }
  while (text.ends_with('\n')) text.remove_suffix(1);
  return Printable(text, 300);
}

constexpr std::size_t kSmallBytes = 8000;  // of EBNF
constexpr std::int64_t kSharedMaskBytes = std::int64_t{64} << 20;

class XgrammarMatcher : public Matcher {
 public:
  explicit XgrammarMatcher(const xgrammar::CompiledGrammar& compiled) : matcher_(compiled) {}

  void Fill(std::span<std::uint32_t> mask) override {
    QUIRE_CHECK(!matcher_.IsTerminated()) << "a mask was asked for after the end";
    std::int64_t shape[] = {static_cast<std::int64_t>(mask.size())};
    DLTensor tensor{};
    tensor.data = mask.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {kDLInt, 32, 1};
    tensor.shape = shape;
    matcher_.FillNextTokenBitmask(&tensor);
  }

  bool Accept(TokenId token) override {
    return !matcher_.IsTerminated() && matcher_.AcceptToken(token);
  }
  bool AcceptBytes(std::string_view bytes) override {
    return !matcher_.IsTerminated() && matcher_.AcceptString(std::string(bytes));
  }
  void Rollback(int num_steps) override {
    if (num_steps > 0) matcher_.Rollback(num_steps);
  }
  bool is_complete() const override { return matcher_.IsCompleted(); }
  bool is_terminated() const override { return matcher_.IsTerminated(); }
  std::string JumpForward() override {
    return matcher_.IsTerminated() ? std::string() : matcher_.FindJumpForwardString();
  }

 private:
  xgrammar::GrammarMatcher matcher_;
};

class XgrammarGrammar : public CompiledGrammar {
 public:
  explicit XgrammarGrammar(xgrammar::CompiledGrammar compiled) : compiled_(std::move(compiled)) {}
  std::unique_ptr<Matcher> NewMatcher() const override {
    return std::make_unique<XgrammarMatcher>(compiled_);
  }
  std::size_t num_bytes() const override { return compiled_.MemorySizeBytes(); }

 private:
  xgrammar::CompiledGrammar compiled_;
};

class XgrammarBackend : public GrammarBackend {
 public:
  explicit XgrammarBackend(const xgrammar::TokenizerInfo& info)
      : num_words_(static_cast<std::size_t>(xgrammar::GetBitmaskSize(info.GetVocabSize()))),
        // The masks of a small grammar are made with it, and those of equal rules are shared with
        // other grammars; of a large one each is made when it is first asked for.
        eager_(info, /*max_threads=*/1, /*cache_enabled=*/true, kSharedMaskBytes),
        lazy_(info, /*max_threads=*/1, /*cache_enabled=*/false, /*max_memory_bytes=*/-1,
              /*enable_dynamic_compilation=*/true) {}

  Result<std::shared_ptr<const CompiledGrammar>> Compile(const std::string& ebnf) const override {
    try {
      xgrammar::GrammarCompiler compiler = ebnf.size() <= kSmallBytes ? eager_ : lazy_;
      return std::shared_ptr<const CompiledGrammar>(
          std::make_shared<XgrammarGrammar>(compiler.CompileGrammar(ebnf)));
    } catch (const std::exception& error) {
      return InvalidArgument(StrCat("grammar: ", MessageOf(error)));
    }
  }
  std::size_t num_mask_words() const override { return num_words_; }

 private:
  std::size_t num_words_;
  xgrammar::GrammarCompiler eager_;  // copies share what they point to
  xgrammar::GrammarCompiler lazy_;
};

}  // namespace

Result<std::shared_ptr<const GrammarBackend>> CreateXgrammarBackend(ConstraintVocabulary vocab) {
  try {
    const xgrammar::TokenizerInfo info(vocab.bytes, xgrammar::VocabType::RAW, std::nullopt,
                                       vocab.end_ids, /*add_prefix_space=*/false);
    return std::shared_ptr<const GrammarBackend>(std::make_shared<XgrammarBackend>(info));
  } catch (const std::exception& error) {
    return Internal(StrCat("structured output: ", MessageOf(error)));
  }
}

}  // namespace quire
