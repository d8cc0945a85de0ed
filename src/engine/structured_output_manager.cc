#include "engine/structured_output_manager.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "base/log.h"

namespace quire {
namespace {

constexpr std::size_t kWordBits = 32;
constexpr std::size_t kManyRows = 32;  // worth a second thread

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
                                                 std::vector<TokenId> end_ids)
    : num_words_((static_cast<std::size_t>(vocab_size) + kWordBits - 1) / kWordBits),
      end_ids_(std::move(end_ids)) {}

void StructuredOutputManager::Add(const EngineRequest& request) {
  Constrained& constrained = requests_[request.id];
  constrained.matcher = request.grammar->NewMatcher();
  constrained.mask.resize(num_words_);
}

const std::vector<std::uint32_t>& StructuredOutputManager::MaskOf(Constrained& request) const {
  if (!request.is_known) {
    request.matcher->Fill(request.mask);
    request.is_known = true;
  }
  return request.mask;
}

// Whether a token that ends nothing is allowed.
bool StructuredOutputManager::HasOther(const std::vector<std::uint32_t>& mask) const {
  for (std::size_t i = 0; i < mask.size(); ++i) {
    std::uint32_t word = mask[i];
    if (word == 0) continue;
    for (const TokenId id : end_ids_) {
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
  if (!request.matcher->Accept(token)) return Verdict::kRefused;
  request.is_known = false;
  if (request.matcher->is_terminated()) return Verdict::kEnds;
  const bool can_say_so = may_end && !end_ids_.empty();
  if (!can_say_so && request.matcher->is_complete() && !HasOther(MaskOf(request))) {
    return Verdict::kEnds;
  }
  return Verdict::kGoesOn;
}

void StructuredOutputManager::Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  Constrained& request = found->second;
  // The mask of the place where the request stands is kept for the plan.
  TokenId token = max_tokens > 0 ? OnlyToken(MaskOf(request)) : -1;
  if (token < 0) return;
  std::vector<std::uint32_t> mask(num_words_);
  int num_taken = 0;
  while (token >= 0 && num_taken < max_tokens && request.matcher->Accept(token)) {
    tokens.push_back(token);
    ++num_taken;
    if (request.matcher->is_terminated()) break;
    request.matcher->Fill(mask);
    token = OnlyToken(mask);
  }
  request.matcher->Rollback(num_taken);
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
  for (Task& task : tasks_) {
    task.masks =
        plan.grammar_bitmask.data() + static_cast<std::size_t>(task.row->grammar_row) * num_words_;
  }
  const std::size_t half = tasks_.size() / 2;
  const auto fill = [this](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) FillRow(tasks_[i]);
  };
  if (tasks_.size() < kManyRows) return fill(0, tasks_.size());
  std::jthread other([&] { fill(0, half); });
  fill(half, tasks_.size());
}

// The mask before each draft and the one behind the last, as far as the drafts are allowed.
void StructuredOutputManager::FillRow(const Task& task) const {
  Constrained& request = *task.request;
  const auto& first = MaskOf(request);
  std::ranges::copy(first, task.masks);
  int num_taken = 0;
  bool goes_on = true;
  for (std::size_t i = 0; i < task.row->draft_tokens.size(); ++i) {
    std::uint32_t* mask = task.masks + (i + 1) * num_words_;
    goes_on = goes_on && request.matcher->Accept(task.row->draft_tokens[i]);
    num_taken += goes_on ? 1 : 0;
    goes_on = goes_on && !request.matcher->is_terminated();
    if (goes_on) {
      request.matcher->Fill({mask, num_words_});
    } else {
      // Never looked at: the draft before it is refused, or ends the answer.
      std::fill_n(mask, num_words_, ~std::uint32_t{0});
    }
  }
  request.matcher->Rollback(num_taken);
}

}  // namespace quire
