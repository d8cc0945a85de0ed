#include "engine/structured_output_manager.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.h"
#include "platform/cpu.h"

namespace quire {
namespace {

constexpr std::size_t kWordBits = 32;
constexpr std::size_t kManyMasks = 32;  // worth a second thread
constexpr int kMaxThreads = 4;

// The only token of a mask; -1 where there are none or several.
TokenId OnlyToken(std::span<const std::uint32_t> mask) {
  TokenId only = -1;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    if (only >= 0 || std::popcount(mask[i]) != 1) return -1;
    only = static_cast<TokenId>(i * kWordBits) + std::countr_zero(mask[i]);
  }
  return only;
}

}  // namespace

StructuredOutputManager::StructuredOutputManager(Options options)
    : num_words_((static_cast<std::size_t>(options.vocab_size) + kWordBits - 1) / kWordBits),
      fills_aside_(options.fills_aside),
      texts_(options.vocab_size, std::move(options.end_ids), std::move(options.text_of)),
      scratch_(1, Scratch(num_words_)) {}

void StructuredOutputManager::Add(const EngineRequest& request) {
  Constrained& constrained = requests_[request.id];
  constrained.answer = std::make_unique<ConstrainedAnswer>(request, texts_);
}

void StructuredOutputManager::Clear() {
  requests_.clear();
  tasks_.clear();
  num_masks_ = 0;
}

StructuredOutputManager::Mask StructuredOutputManager::MaskOf(Constrained& request) const {
  if (!request.is_known) {
    request.mask.resize(num_words_);
    request.answer->Fill(request.mask);
    request.is_known = true;
  }
  return request.mask;
}

// Whether a token that ends nothing is allowed.
bool StructuredOutputManager::HasOther(Mask mask) const {
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

// Whether the mask of the step's token `place` says all that is to be said of `token`: that it may
// follow, and is no end.
bool StructuredOutputManager::MayWait(const Constrained& request, TokenId token,
                                      std::size_t place) const {
  if (place >= request.num_step_masks || token < 0) return false;
  const auto word = static_cast<std::size_t>(token) / kWordBits;
  if (word >= num_words_) return false;
  const std::uint32_t bits = request.step_masks[place * num_words_ + word];
  const bool is_allowed = (bits >> (static_cast<std::size_t>(token) % kWordBits) & 1U) != 0;
  return is_allowed && std::ranges::find(texts_.end_ids(), token) == texts_.end_ids().end();
}

// Lets the matcher catch up; false where it cannot.
bool StructuredOutputManager::TakeIn(Constrained& request) {
  Matcher& matcher = request.answer->matcher();
  const bool is_ok = std::ranges::all_of(
      request.pending, [&](const TokenId token) { return matcher.Accept(token); });
  request.pending.clear();
  return is_ok;
}

TokenConstraint::Verdict StructuredOutputManager::Accept(RequestId id, TokenId token,
                                                         bool may_end) {
  const auto found = requests_.find(id);
  QUIRE_CHECK(found != requests_.end()) << "request " << id.value() << " has no grammar";
  Constrained& request = found->second;
  const std::size_t place = request.num_step_tokens++;
  const bool can_say_so = may_end && !texts_.end_ids().empty();
  if (can_say_so && MayWait(request, token, place)) {
    request.pending.push_back(token);
    request.is_known = false;
    ++request.num_accepted;
    return Verdict::kGoesOn;
  }
  if (!TakeIn(request) || !request.answer->Accept(token)) return Verdict::kRefused;
  request.is_known = false;
  ++request.num_accepted;
  if (!request.answer->is_past_reasoning()) return Verdict::kGoesOn;
  const Matcher& matcher = request.answer->matcher();
  if (matcher.is_terminated()) return Verdict::kEnds;
  if (!can_say_so && matcher.is_complete() && !HasOther(MaskOf(request))) return Verdict::kEnds;
  return Verdict::kGoesOn;
}

Status StructuredOutputManager::FailureOf(RequestId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? Status() : found->second.answer->matcher().failure();
}

void StructuredOutputManager::Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) {
  const auto found = requests_.find(id);
  if (max_tokens <= 0 || found == requests_.end()) return;
  Constrained& request = found->second;
  if (!request.answer->is_past_reasoning()) return;
  if (fills_aside_) {
    if (request.foreseen_at != request.num_accepted) return;
    const auto num_taken = std::min(request.foreseen.size(), static_cast<std::size_t>(max_tokens));
    tokens.insert(tokens.end(), request.foreseen.begin(),
                  request.foreseen.begin() + static_cast<std::ptrdiff_t>(num_taken));
    return;
  }
  Matcher& matcher = request.answer->matcher();
  // The mask of the place where the request stands is kept for the plan.
  const TokenId token = OnlyToken(MaskOf(request));
  matcher.Rollback(Follow(matcher, token, scratch_[0], tokens, max_tokens));
}

// Takes in `token` and those that must come after it, adding them to `tokens`, while there is one;
// gives how many steps the matcher went. `scratch` is left anything.
int StructuredOutputManager::Follow(Matcher& matcher, TokenId token, Scratch& scratch,
                                    std::vector<TokenId>& tokens, int max_tokens) const {
  int num_steps = 0;
  while (token >= 0 && num_steps < max_tokens && matcher.Accept(token)) {
    ++num_steps;
    // A token behind which only the end can come is no draft: a step computes one token more than
    // its drafts, and min_tokens may forbid the end, or the model have none.
    if (matcher.is_terminated()) break;
    matcher.Fill(scratch);
    if (!HasOther(scratch)) break;
    tokens.push_back(token);
    token = OnlyToken(scratch);
  }
  return num_steps;
}

void StructuredOutputManager::PlaceMasks(StepPlan& plan) {
  tasks_.clear();
  num_masks_ = 0;
  if (requests_.empty()) return;
  for (ScheduledRow& row : plan.rows) {
    if (!row.samples) continue;
    const auto found = requests_.find(row.id);
    if (found == requests_.end()) continue;
    row.grammar_row = static_cast<std::int32_t>(num_masks_);
    num_masks_ += row.draft_tokens.size() + 1;
    tasks_.push_back({.request = &found->second, .row = &row});
  }
}

void StructuredOutputManager::FillMasks(std::uint64_t step_id, StepMasks& masks) {
  masks.step_id = step_id;
  masks.words.resize(num_masks_ * num_words_);
  const auto fill = [&](std::int64_t i, int thread_idx) {
    const Task& task = tasks_[static_cast<std::size_t>(i)];
    const auto first = static_cast<std::size_t>(task.row->grammar_row);
    FillRow(task, masks.words.data() + first * num_words_,
            scratch_[static_cast<std::size_t>(thread_idx)]);
  };
  const auto num_tasks = static_cast<std::int64_t>(tasks_.size());
  const auto num_unknown = static_cast<std::size_t>(
      std::ranges::count(tasks_, false, [](const Task& task) { return task.request->is_known; }));
  if (num_unknown < kManyMasks) {
    for (std::int64_t i = 0; i < num_tasks; ++i) fill(i, 0);
    return;
  }
  if (pool_ == nullptr) {
    const int num_threads = std::min(kMaxThreads, static_cast<int>(UsableCores().size()));
    pool_ =
        std::make_unique<ThreadPool>(ThreadPoolOptions{.num_threads = num_threads, .pin = false});
    scratch_.resize(static_cast<std::size_t>(num_threads), Scratch(num_words_));
  }
  pool_->ForEach(num_tasks, fill);
}

// The mask before each draft and the one behind the last, as far as the drafts are allowed.
void StructuredOutputManager::FillRow(const Task& task, std::uint32_t* masks,
                                      Scratch& scratch) const {
  Constrained& request = *task.request;
  const std::size_t num_drafts = task.row->draft_tokens.size();
  request.num_step_tokens = request.num_step_masks = 0;
  if (!TakeIn(request)) {
    std::fill_n(masks, (num_drafts + 1) * num_words_, 0);
    return;
  }
  if (request.is_known) {
    std::ranges::copy(request.mask, masks);
  } else {
    request.answer->Fill({masks, num_words_});
  }
  if (!request.answer->is_past_reasoning()) {
    if (num_drafts == 0) return;
    ConstrainedAnswer copy = request.answer->CopyInReasoning();
    FillDrafts(task, masks, copy);
    return;
  }
  const int num_taken = FillDrafts(task, masks, *request.answer);
  if (fills_aside_) {
    request.step_masks = masks;
    request.num_step_masks = static_cast<std::size_t>(num_taken) + 1;
  }
  if (fills_aside_ && static_cast<std::size_t>(num_taken) == num_drafts) {
    LookAhead(request, {masks + num_drafts * num_words_, num_words_}, scratch);
    request.foreseen_at = request.num_accepted + num_taken + 1;
  }
  request.answer->matcher().Rollback(num_taken);
}

// Where `mask`, which is that of the place where the matcher stands, has one token only: what must
// come behind that one.
void StructuredOutputManager::LookAhead(Constrained& request, Mask mask, Scratch& scratch) const {
  request.foreseen.clear();
  Matcher& matcher = request.answer->matcher();
  const TokenId token = OnlyToken(mask);
  if (token < 0 || matcher.is_terminated() || !matcher.Accept(token)) return;
  int num_steps = 1;
  if (!matcher.is_terminated()) {
    matcher.Fill(scratch);
    num_steps += Follow(matcher, OnlyToken(scratch), scratch, request.foreseen, kMaxForeseen);
  }
  matcher.Rollback(num_steps);
}

// Gives how many drafts `answer` took in.
int StructuredOutputManager::FillDrafts(const Task& task, std::uint32_t* masks,
                                        ConstrainedAnswer& answer) const {
  int num_taken = 0;
  bool goes_on = true;
  for (std::size_t i = 0; i < task.row->draft_tokens.size(); ++i) {
    std::uint32_t* mask = masks + (i + 1) * num_words_;
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
