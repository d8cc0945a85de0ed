#include "structured/compile.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "structured/constraint.h"
#include "structured/work_budget.h"

namespace quire {
namespace {

std::chrono::nanoseconds Nanoseconds(std::chrono::duration<double> time) {
  constexpr std::chrono::duration<double> kForEver = std::chrono::hours(24 * 365);
  return time >= kForEver ? std::chrono::nanoseconds::max()
                          : std::chrono::duration_cast<std::chrono::nanoseconds>(time);
}

// The mask before the first token, which may be the largest: what cannot be served is told here
// already, and what can has it made.
Status TryFirstMask(const GrammarBackend& backend, const CompiledGrammar& grammar) {
  const std::unique_ptr<Matcher> matcher = grammar.NewMatcher();
  std::vector<std::uint32_t> mask(backend.num_mask_words());
  matcher->Fill(mask);
  if (matcher->failure().ok()) return {};
  return InvalidArgument(matcher->failure().message());
}

}  // namespace

Result<CompiledConstraint> CompileConstraint(const GrammarBackend& backend,
                                             const StructuredOutputParams& params,
                                             const CompileLimits& limits) {
  WorkBudget budget({.max_time = Nanoseconds(limits.time), .max_bytes = limits.max_bytes});
  Result<CompiledConstraint> made = [&]() -> Result<CompiledConstraint> {
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    QUIRE_ASSIGN_OR_RETURN(GrammarText text, GrammarTextOf(params));
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    QUIRE_ASSIGN_OR_RETURN(auto grammar, backend.Compile(text.ebnf));
    QUIRE_RETURN_IF_ERROR(TryFirstMask(backend, *grammar));
    return CompiledConstraint{std::move(grammar), std::move(text.shortest)};
  }();
  if (made.ok()) return made;
  const std::string_view kind = NameOf(params.kind);
  if (budget.spent() == WorkBudget::Bound::kTime) {
    return InvalidArgument(StrCat(kind, ": took longer to compile than the ", limits.time.count(),
                                  " s of --grammar-compile-timeout; make it simpler"));
  }
  if (budget.spent() == WorkBudget::Bound::kBytes) {
    return InvalidArgument(StrCat(kind, ": takes more than ", limits.max_bytes >> 20,
                                  " MiB to compile; make it simpler"));
  }
  return made;
}

}  // namespace quire
