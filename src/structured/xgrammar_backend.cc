// The one file that sees xgrammar.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <dlpack/dlpack.h>
#include <xgrammar/xgrammar.h>

#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "structured/backend.h"
#include "structured/work_budget.h"

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
  XgrammarMatcher(const xgrammar::CompiledGrammar& compiled, const MatcherLimits& limits,
                  std::shared_ptr<std::atomic<std::int64_t>> mask_bytes)
      : compiled_(compiled),
        limits_(limits),
        matcher_(compiled),
        mask_bytes_(std::move(mask_bytes)),
        credit_(limits.most_credit) {}

  void Fill(std::span<std::uint32_t> mask) override {
    QUIRE_CHECK(!matcher_.IsTerminated()) << "a mask was asked for after the end";
    std::int64_t shape[] = {static_cast<std::int64_t>(mask.size())};
    DLTensor tensor{};
    tensor.data = mask.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {kDLInt, 32, 1};
    tensor.shape = shape;
    const std::int64_t num_bytes = Step([&] { matcher_.FillNextTokenBitmask(&tensor); });
    *mask_bytes_ += num_bytes;
    if (*mask_bytes_ > limits_.max_mask_bytes && failure_.ok()) CheckMaskBytes();
    if (!failure_.ok()) std::ranges::fill(mask, 0);
  }

  bool Accept(TokenId token) override {
    bool is_accepted = false;
    if (!is_terminated()) Step([&] { is_accepted = matcher_.AcceptToken(token); });
    return is_accepted && failure_.ok();
  }
  bool AcceptBytes(std::string_view bytes) override {
    bool is_accepted = false;
    if (!is_terminated()) Step([&] { is_accepted = matcher_.AcceptString(std::string(bytes)); });
    return is_accepted && failure_.ok();
  }
  void Rollback(int num_steps) override {
    if (num_steps > 0) Step([&] { matcher_.Rollback(num_steps); });
  }
  bool is_complete() const override { return failure_.ok() && matcher_.IsCompleted(); }
  bool is_terminated() const override { return matcher_.IsTerminated(); }
  const Status& failure() const override { return failure_; }
  std::string JumpForward() override {
    std::string text;
    if (!is_terminated()) Step([&] { text = matcher_.FindJumpForwardString(); });
    return failure_.ok() ? text : std::string();
  }

 private:
  // Does `work` within what a step may cost; gives the bytes that it has kept. What stopped in the
  // middle is in no known state, so nothing is done after a failure.
  template <typename Work>
  std::int64_t Step(Work&& work) {
    if (!failure_.ok()) return 0;
    WorkBudget budget({.max_time = credit_,
                       .max_allocations = limits_.max_step_allocations,
                       .max_bytes = limits_.max_step_bytes});
    try {
      work();
    } catch (const WorkBudgetSpent&) {
      failure_ = ResourceExhausted(
          "structured_outputs: the grammar needs more work for one token than is done");
    } catch (const std::exception& error) {
      failure_ = Internal(StrCat("structured_outputs: ", MessageOf(error)));
    }
    credit_ = std::min(limits_.most_credit, credit_ - budget.time_used() + limits_.credit_a_step);
    return budget.num_bytes();
  }

  // The sum holds what matchers keep for themselves, too, so it is set right before it counts.
  void CheckMaskBytes() {
    const auto num_bytes = static_cast<std::int64_t>(compiled_.MemorySizeBytes());
    *mask_bytes_ = num_bytes;
    if (num_bytes <= limits_.max_mask_bytes) return;
    failure_ =
        ResourceExhausted(StrCat("structured_outputs: the masks of the grammar take more than ",
                                 limits_.max_mask_bytes >> 20, " MiB"));
  }

  const xgrammar::CompiledGrammar compiled_;
  const MatcherLimits limits_;
  xgrammar::GrammarMatcher matcher_;
  std::shared_ptr<std::atomic<std::int64_t>> mask_bytes_;  // of all matchers of the grammar
  std::chrono::nanoseconds credit_;
  Status failure_;
};

class XgrammarGrammar : public CompiledGrammar {
 public:
  XgrammarGrammar(xgrammar::CompiledGrammar compiled, const MatcherLimits& limits)
      : compiled_(std::move(compiled)), limits_(limits) {}
  std::unique_ptr<Matcher> NewMatcher() const override {
    return std::make_unique<XgrammarMatcher>(compiled_, limits_, mask_bytes_);
  }
  std::size_t num_bytes() const override { return compiled_.MemorySizeBytes(); }

 private:
  xgrammar::CompiledGrammar compiled_;
  const MatcherLimits limits_;
  const std::shared_ptr<std::atomic<std::int64_t>> mask_bytes_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

// The masks of a small grammar are made with it, and those of equal rules are shared with other
// grammars; of a large one each is made when it is first asked for.
xgrammar::GrammarCompiler EagerCompiler(const xgrammar::TokenizerInfo& info) {
  return {info, /*max_threads=*/1, /*cache_enabled=*/true, kSharedMaskBytes};
}
xgrammar::GrammarCompiler LazyCompiler(const xgrammar::TokenizerInfo& info) {
  return {info, /*max_threads=*/1, /*cache_enabled=*/false, /*max_memory_bytes=*/-1,
          /*enable_dynamic_compilation=*/true};
}

class XgrammarBackend : public GrammarBackend {
 public:
  XgrammarBackend(const xgrammar::TokenizerInfo& info, const MatcherLimits& limits)
      : limits_(limits),
        num_words_(static_cast<std::size_t>(xgrammar::GetBitmaskSize(info.GetVocabSize()))),
        info_(info),
        lazy_(LazyCompiler(info)),
        eager_(EagerCompiler(info)) {}

  Result<std::shared_ptr<const CompiledGrammar>> Compile(const std::string& ebnf) const override {
    const bool is_small = ebnf.size() <= kSmallBytes;
    try {
      xgrammar::GrammarCompiler compiler = is_small ? eager() : lazy_;
      return std::shared_ptr<const CompiledGrammar>(
          std::make_shared<XgrammarGrammar>(compiler.CompileGrammar(ebnf), limits_));
    } catch (const WorkBudgetSpent& error) {
      if (is_small) ForgetShared();
      return ResourceExhausted(StrCat("grammar: ", error.what()));
    } catch (const std::exception& error) {
      return InvalidArgument(StrCat("grammar: ", MessageOf(error)));
    }
  }
  std::size_t num_mask_words() const override { return num_words_; }

 private:
  xgrammar::GrammarCompiler eager() const QUIRE_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return eager_;
  }
  // What it shares holds the work that was broken off, and would break off the next one as well.
  void ForgetShared() const QUIRE_EXCLUDES(mutex_) {
    xgrammar::GrammarCompiler fresh = EagerCompiler(info_);
    MutexLock lock(mutex_);
    eager_ = fresh;
  }

  const MatcherLimits limits_;
  const std::size_t num_words_;
  const xgrammar::TokenizerInfo info_;
  const xgrammar::GrammarCompiler lazy_;  // copies share what they point to
  mutable Mutex mutex_;
  mutable xgrammar::GrammarCompiler eager_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<const GrammarBackend>> CreateXgrammarBackend(ConstraintVocabulary vocab,
                                                                    const MatcherLimits& limits) {
  try {
    const xgrammar::TokenizerInfo info(vocab.bytes, xgrammar::VocabType::RAW, std::nullopt,
                                       vocab.end_ids, /*add_prefix_space=*/false);
    return std::shared_ptr<const GrammarBackend>(std::make_shared<XgrammarBackend>(info, limits));
  } catch (const std::exception& error) {
    return Internal(StrCat("structured output: ", MessageOf(error)));
  }
}

}  // namespace quire
