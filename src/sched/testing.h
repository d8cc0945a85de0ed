// What tests of the scheduler share: a small scheduler's options and a worker without a model.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "kv/testing.h"
#include "sched/scheduler.h"

namespace quire {

inline SchedulerConfig SmallConfig() {
  SchedulerConfig config;
  config.options.max_num_batched_tokens = 32;
  config.options.max_num_seqs = 8;
  config.kv_spec = SpecOfWindows({0});
  config.num_blocks = 101;
  config.block_size = 4;
  config.max_model_len = 64;
  return config;
}

inline EngineRequest RequestOf(std::int64_t id, std::vector<TokenId> prompt, int max_tokens) {
  EngineRequest request;
  request.id = RequestId(id);
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.eos_token_ids = {2};
  return request;
}

// The result of a plan whose sampling rows all give `token`.
inline StepResult ResultOf(const StepPlan& plan, TokenId token) {
  StepResult result;
  result.step_id = plan.step_id;
  for (const ScheduledRow& row : plan.rows) {
    RowResult& out = result.rows.emplace_back();
    out.id = row.id;
    if (row.samples) out.tokens = {token};
  }
  return result;
}

// A worker that keeps block tables and writes into each slot a word for the token there and all
// before it. So a read of a slot that holds anything else than the request's own past is seen.
// Faults are texts in `faults`; a right scheduler causes none.
class FakeWorker {
 public:
  FakeWorker(const SchedulerConfig& config)  // NOLINT(google-explicit-constructor)
      : config_(config),
        slots_(static_cast<std::size_t>(config.num_blocks * config.block_size), 0) {}

  std::vector<std::string> faults;

  // Writes the K and V of the plan's tokens and reads what its rows see; no tokens are sampled.
  void Execute(const StepPlan& plan) {
    Expect(plan.num_tokens <= config_.options.max_num_batched_tokens, "more tokens than budget");
    for (const RequestId id : plan.finished) seen_.erase(id);
    for (const NewRequestData& data : plan.new_requests) Meet(data);
    Expect(seen_.size() <= static_cast<std::size_t>(config_.options.max_num_seqs),
           "more requests than max_num_seqs");
    std::int32_t num_tokens = 0;
    for (const ScheduledRow& row : plan.rows) num_tokens += Write(row);
    Expect(num_tokens == plan.num_tokens, "num_tokens is not the sum of the rows");
    for (const ScheduledRow& row : plan.rows) Read(row);
  }

  // Leaves what a failed row leaves: anything.
  void Spoil(const ScheduledRow& row) {
    Seen& seen = seen_.at(row.id);
    for (const auto& table : seen.tables) {
      for (std::int32_t p = row.num_computed_tokens; p < seen.num_computed; ++p) {
        Slot(table, p) = 0;
      }
    }
  }

  // The word of a request's tokens up to and with a token, from that of the ones before it.
  static std::uint64_t WordOf(std::uint64_t before, TokenId token) {
    std::uint64_t x = (before ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15 + 1;
    x ^= x >> 29;
    return (x * 0xBF58476D1CE4E5B9) ^ (x >> 32);
  }

  // Takes sampled tokens as the request's own.
  void Append(RequestId id, const std::vector<TokenId>& tokens) {
    Seen& seen = seen_.at(id);
    seen.num_computed -= static_cast<std::int32_t>(seen.num_drafts + 1 - tokens.size());
    for (const TokenId token : tokens) AddToken(token, seen);
  }

  // The word after all tokens of a request, from which a test's model samples.
  std::uint64_t LastWord(RequestId id) const { return seen_.at(id).words.back(); }
  const GroupBlocks& tables(RequestId id) const { return seen_.at(id).tables; }

 private:
  struct Seen {
    std::vector<TokenId> tokens;
    std::vector<std::uint64_t> words;  // one a token
    std::int32_t num_computed = -1;    // -1: its first row says
    std::size_t num_drafts = 0;        // of the last row
    GroupBlocks tables;
  };

  static void AddToken(TokenId token, Seen& seen) {
    seen.words.push_back(WordOf(seen.words.empty() ? 0 : seen.words.back(), token));
    seen.tokens.push_back(token);
  }

  void Expect(bool holds, const std::string& fault) {
    if (!holds) faults.push_back(fault);
  }

  void Meet(const NewRequestData& data) {
    Expect(!seen_.contains(data.id), "a request came twice");
    Seen& seen = seen_[data.id];
    seen = Seen();
    for (const TokenId token : data.tokens) AddToken(token, seen);
    seen.tables = data.blocks;
  }

  std::uint64_t& Slot(const std::vector<BlockId>& table, std::int32_t position) {
    const auto idx = static_cast<std::size_t>(position / config_.block_size);
    const std::int32_t block = idx < table.size() ? table[idx].value() : 0;
    Expect(block != 0, StrCat("position ", position, " has no block"));
    const std::int64_t slot =
        std::int64_t{block} * config_.block_size + position % config_.block_size;
    return slots_[static_cast<std::size_t>(slot)];
  }

  // The words of a request's tokens and of the row's drafts after them.
  static std::vector<std::uint64_t> WordsOf(const Seen& seen, const ScheduledRow& row) {
    std::vector<std::uint64_t> words = seen.words;
    for (const TokenId token : row.draft_tokens) words.push_back(WordOf(words.back(), token));
    return words;
  }

  std::int32_t Write(const ScheduledRow& row) {
    Expect(seen_.contains(row.id), "a row's request is not known");
    Seen& seen = seen_[row.id];
    for (std::size_t g = 0; g < row.new_blocks.size(); ++g) {
      seen.tables[g].insert(seen.tables[g].end(), row.new_blocks[g].begin(),
                            row.new_blocks[g].end());
    }
    Expect(seen.num_computed < 0 || seen.num_computed == row.num_computed_tokens,
           "computed tokens do not follow from the last step");
    seen.num_computed = row.num_computed_tokens + row.num_new_tokens;
    seen.num_drafts = row.draft_tokens.size();
    const std::vector<std::uint64_t> words = WordsOf(seen, row);
    Expect(row.num_new_tokens > 0 && static_cast<std::size_t>(seen.num_computed) <= words.size(),
           "a row computes no tokens or more than there are");
    Expect(row.samples == (static_cast<std::size_t>(seen.num_computed) == words.size()),
           "a row samples although tokens are lacking, or the reverse");
    for (const auto& table : seen.tables) {
      for (std::int32_t p = row.num_computed_tokens; p < seen.num_computed; ++p) {
        Slot(table, p) = words[static_cast<std::size_t>(p)];
      }
    }
    return row.num_new_tokens;
  }

  void Read(const ScheduledRow& row) {
    Seen& seen = seen_[row.id];
    const std::vector<std::uint64_t> words = WordsOf(seen, row);
    for (std::size_t g = 0; g < seen.tables.size(); ++g) {
      const KvGroupSpec& group = config_.kv_spec.groups[g];
      const bool has_window = group.kind == AttentionKind::kSlidingWindow;
      const std::int32_t first =
          has_window ? std::max(0, row.num_computed_tokens - group.window + 1) : 0;
      for (std::int32_t p = first; p < seen.num_computed; ++p) {
        Expect(Slot(seen.tables[g], p) == words[static_cast<std::size_t>(p)],
               StrCat("request ", row.id.value(), " reads at position ", p, " of group ", g,
                      " what is not its own"));
      }
    }
  }

  SchedulerConfig config_;
  std::vector<std::uint64_t> slots_;
  std::unordered_map<RequestId, Seen> seen_;
};

}  // namespace quire
