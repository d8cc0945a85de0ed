#include "engine/structured_output_manager.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "base/log.h"

namespace quire {
namespace {

constexpr std::size_t kWordBits = 32;
constexpr std::size_t kManyMasks = 32;  // worth a second thread

// The only token of a mask; -1 where there are none or several.
TokenId OnlyToken(const std::vector<std::uint32_t>& mask) {
  TokenId only = -1;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    if (only >= 0 || std::popcount(mask[i]) != 1) return -1;
    only = static_cast<TokenId>(i * kWordBits) + std::countr_zero(mask[i]);
  }
  return only;
}

}  // namespace

StructuredOutputManager::StructuredOutputManager(std::int64_t vocab_size,
                                                 std::vector<TokenId> end_ids,
                                                 std::function<std::string(TokenId)> text_of)
    : num_words_((static_cast<std::size_t>(vocab_size) + kWordBits - 1) / kWordBits),
      texts_(vocab_size, std::move(end_ids), std::move(text_of)) {}

void StructuredOutputManager::Add(const EngineRequest& request) {
  Constrained& constrained = requests_[request.id];
  constrained.answer = std::make_unique<ConstrainedAnswer>(request, texts_);
  constrained.mask.resize(num_words_);
}

const std::vector<std::uint32_t>& StructuredOutputManager::MaskOf(Constrained& request) {
  if (!request.is_known) {
    request.answer->Fill(request.mask);
    request.is_known = true;
  }
  return request.mask;
}

// Whether a token that ends nothing is allowed.
bool StructuredOutputManager::HasOther(const std::vector<std::uint32_t>& mask) const {
  for (std::size_t i = 0; i < mask.size(); ++i) {
    std::uint32_t word = mask[i];
    if (word == 0) continue;
    for (const TokenId id : texts_.end_ids()) {
      if (static_cast<std::size_t>(id) / kWordBits == i) {
        word &= ~(std::uint32_t{1} << (static_cast<std::size_t>(id) % kWordBits));
      }
    }
    if (word != 0) return true;
  }
  return false;
}

TokenConstraint::Verdict StructuredOutputManager::Accept(RequestId id, TokenId token,
                                                         bool may_end) {
  const auto found = requests_.find(id);
  QUIRE_CHECK(found != requests_.end()) << "request " << id.value() << " has no grammar";
  Constrained& request = found->second;
  if (!request.answer->Accept(token)) return Verdict::kRefused;
  request.is_known = false;
  if (!request.answer->is_past_reasoning()) return Verdict::kGoesOn;
  const Matcher& matcher = request.answer->matcher();
  if (matcher.is_terminated()) return Verdict::kEnds;
  const bool can_say_so = may_end && !texts_.end_ids().empty();
  if (!can_say_so && matcher.is_complete() && !HasOther(MaskOf(request))) return Verdict::kEnds;
  return Verdict::kGoesOn;
}

Status StructuredOutputManager::FailureOf(RequestId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? Status() : found->second.answer->matcher().failure();
}

void StructuredOutputManager::Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) {
  const auto found = requests_.find(id);
  if (found == requests_.end() || !found->second.answer->is_past_reasoning()) return;
  Constrained& request = found->second;
  Matcher& matcher = request.answer->matcher();
  // The mask of the place where the request stands is kept for the plan.
  TokenId token = max_tokens > 0 ? OnlyToken(MaskOf(request)) : -1;
  if (token < 0) return;
  std::vector<std::uint32_t> mask(num_words_);
  int num_taken = 0;
  while (token >= 0 && num_taken < max_tokens && matcher.Accept(token)) {
    ++num_taken;
    // A token behind which only the end can come is no draft: a step computes one token more than
    // its drafts, and min_tokens may forbid the end, or the model have none.
    if (matcher.is_terminated()) break;
    matcher.Fill(mask);
    if (!HasOther(mask)) break;
    tokens.push_back(token);
    token = OnlyToken(mask);
  }
  matcher.Rollback(num_taken);
}

void StructuredOutputManager::FillMasks(StepPlan& plan) {
  if (requests_.empty()) return;
  tasks_.clear();
  std::size_t num_masks = 0;
  for (ScheduledRow& row : plan.rows) {
    if (!row.samples) continue;
    const auto found = requests_.find(row.id);
    if (found == requests_.end()) continue;
    row.grammar_row = static_cast<std::int32_t>(num_masks);
    num_masks += row.draft_tokens.size() + 1;
    tasks_.push_back({.request = &found->second, .row = &row});
  }
  plan.grammar_bitmask.resize(num_masks * num_words_);
  std::size_t num_unknown = 0;
  for (Task& task : tasks_) {
    num_unknown += task.request->is_known ? 0 : 1;
    task.masks =
        plan.grammar_bitmask.data() + static_cast<std::size_t>(task.row->grammar_row) * num_words_;
  }
  const std::size_t half = tasks_.size() / 2;
  const auto fill = [this](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) FillRow(tasks_[i]);
  };
  // Most are known already, as Foresee looked at them.
  if (num_unknown < kManyMasks) return fill(0, tasks_.size());
  std::jthread other([&] { fill(0, half); });
  fill(half, tasks_.size());
}

// The mask before each draft and the one behind the last, as far as the drafts are allowed.
void StructuredOutputManager::FillRow(const Task& task) const {
  Constrained& request = *task.request;
  const auto& first = MaskOf(request);
  std::ranges::copy(first, task.masks);
  const std::vector<TokenId>& drafts = task.row->draft_tokens;
  if (drafts.empty()) return;
  if (request.answer->is_past_reasoning()) {
    const int num_taken = FillDrafts(task, *request.answer);
    request.answer->matcher().Rollback(num_taken);
  } else {
    ConstrainedAnswer copy = request.answer->CopyInReasoning();
    FillDrafts(task, copy);
  }
}

// Gives how many drafts `answer` took in.
int StructuredOutputManager::FillDrafts(const Task& task, ConstrainedAnswer& answer) const {
  int num_taken = 0;
  bool goes_on = true;
  for (std::size_t i = 0; i < task.row->draft_tokens.size(); ++i) {
    std::uint32_t* mask = task.masks + (i + 1) * num_words_;
    goes_on = goes_on && answer.Accept(task.row->draft_tokens[i]);
    num_taken += goes_on ? 1 : 0;
    goes_on = goes_on && !answer.matcher().is_terminated();
    if (goes_on) answer.Fill({mask, num_words_});
    // Without an end token the draft that completes the answer has ended it.
    const bool has_next = goes_on && std::any_of(mask, mask + num_words_,
                                                 [](std::uint32_t word) { return word != 0; });
    if (!has_next && (!goes_on || answer.matcher().failure().ok())) {
      // Never looked at: the draft before it is refused, or ends the answer.
      std::fill_n(mask, num_words_, ~std::uint32_t{0});
    }
  }
  return num_taken;
}

}  // namespace quire
