#include "engine/input.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "base/strings.h"

namespace quire {
namespace {

// So many of a prompt's last tokens tell whether it opened the reasoning.
constexpr std::size_t kMaxEndTokens = 64;

constexpr std::string_view kSpace = " \n\r\t";

// Of a text that must be read to its end, as its last tokens are wanted.
constexpr std::size_t kMaxTruncatedBytes = std::size_t{16} << 20;

std::uint64_t SeedOf(std::int64_t engine_seed, std::uint64_t number) {
  const auto key = static_cast<std::uint64_t>(engine_seed);
  const auto words =
      Philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, 0},
             {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  return (std::uint64_t{words[0]} << 32) | words[1];
}

// Where the prompt leaves the reasoning: it has just opened or closed it, or says nothing of it.
ReasoningStage StageAfter(std::string_view prompt, const ReasoningMarkers& markers) {
  while (!prompt.empty() && kSpace.find(prompt.back()) != prompt.npos) {
    prompt.remove_suffix(1);
  }
  if (prompt.ends_with(markers.end)) return ReasoningStage::kOver;
  const bool is_opened = !markers.begin.empty() && prompt.ends_with(markers.begin);
  if (is_opened || markers.begins_unmarked || markers.begin.empty()) {
    return ReasoningStage::kInside;
  }
  return ReasoningStage::kMayBegin;
}

void TakeGrammar(CachedGrammar made, EngineRequest& request) {
  request.grammar = std::move(made.grammar);
  if (made.num_shortest <= request.max_tokens) return;
  request.warning = StrCat("structured_outputs: the shortest answer takes about ",
                           made.num_shortest, " tokens, but max_tokens is ", request.max_tokens);
}

}  // namespace

InputProcessor::InputProcessor(Options options, std::shared_ptr<const Tokenizer> tokenizer)
    : options_(std::move(options)),
      tokenizer_(std::move(tokenizer)),
      grammars_(std::make_unique<GrammarCache>(
          GrammarCache::Options{.vocab_size = options_.vocab_size,
                                .end_ids = options_.eos_token_ids,
                                .limits = {.time = std::chrono::duration<double>(
                                               options_.structured.grammar_compile_timeout)}},
          tokenizer_)) {}

bool InputProcessor::LacksGrammar(EngineRequest& request) const {
  const auto& params = request.sampling.structured_outputs;
  if (params == nullptr || request.grammar != nullptr) return false;
  CachedGrammar known = grammars_->Find(*params);
  if (known.grammar == nullptr) return true;
  TakeGrammar(std::move(known), request);
  return false;
}

Status InputProcessor::CompileGrammar(EngineRequest& request) const {
  if (!LacksGrammar(request)) return {};
  QUIRE_ASSIGN_OR_RETURN(CachedGrammar made,
                         grammars_->Compile(*request.sampling.structured_outputs));
  TakeGrammar(std::move(made), request);
  // Not for those that find the grammar made: a client could fill the log.
  if (!request.warning.empty()) QUIRE_LOG(kWarning) << request.warning;
  return {};
}

Result<EngineRequest> InputProcessor::Prepare(PromptInput input, std::uint64_t number) const {
  if (input.prepare) QUIRE_RETURN_IF_ERROR(input.prepare(input));
  QUIRE_RETURN_IF_ERROR(
      input.sampling.Validate(static_cast<int>(options_.vocab_size), options_.max_logprobs));
  if (tokenizer_ == nullptr && !input.sampling.stop.empty()) {
    return InvalidArgument("stop: the model has no tokenizer, so its output has no text");
  }
  EngineRequest request;
  const auto& constraint = input.sampling.structured_outputs;
  if (constraint != nullptr && constraint->reasoning) {
    request.reasoning = input.stage ? *input.stage : StageAfter(input.text, *constraint->reasoning);
  }
  QUIRE_ASSIGN_OR_RETURN(request.prompt, Tokenize(input));
  QUIRE_RETURN_IF_ERROR(FitToContext(input.sampling, request.prompt));
  request.sampling = input.sampling.Normalized();
  QUIRE_RETURN_IF_ERROR(AddBadWords(request.sampling));
  AddConstraintDefaults(request.sampling);
  QUIRE_RETURN_IF_ERROR(AddThinkingLimit(input, request));

  const int room = options_.max_model_len - static_cast<int>(request.prompt.size());
  request.max_tokens = std::min(request.sampling.max_tokens.value_or(room), room);
  if (options_.max_new_tokens) {
    request.max_tokens = std::min(request.max_tokens, *options_.max_new_tokens);
  }
  request.sampling.max_tokens = request.max_tokens;
  request.eos_token_ids = options_.eos_token_ids;
  request.seed = request.sampling.seed.value_or(SeedOf(options_.seed, number));
  request.priority = input.priority;
  request.cache_salt = std::move(input.cache_salt);
  request.arrival = std::chrono::steady_clock::now();
  return request;
}

Result<std::vector<TokenId>> InputProcessor::Tokenize(PromptInput& input) const {
  std::vector<TokenId> ids;
  if (input.token_ids) {
    ids = *std::move(input.token_ids);
    if (ids.empty()) return InvalidArgument("prompt: must hold at least one token");
    QUIRE_RETURN_IF_ERROR(CheckIds(ids));
    return ids;
  }
  if (tokenizer_ == nullptr) {
    return InvalidArgument("prompt: the model has no tokenizer, so it takes token ids only");
  }
  EncodeOptions options{.add_special_tokens = input.add_special_tokens, .parse_special = true};
  // A prompt that is far too long is not read to its end to learn how far.
  const auto max_counted = 2 * static_cast<std::size_t>(options_.max_model_len);
  if (!input.sampling.truncate_prompt_tokens) {
    options.max_ids = max_counted;
  } else if (input.text.size() > kMaxTruncatedBytes) {
    return InvalidArgument(StrCat("prompt: must be at most ", kMaxTruncatedBytes,
                                  " bytes of text to be truncated, got ", input.text.size()));
  }
  Result<std::vector<TokenId>> encoded = tokenizer_->Encode(input.text, options);
  if (!encoded.ok()) return encoded.status().With("prompt");
  if (encoded->size() > options.max_ids) return TooLong(StrCat("more than ", max_counted));
  ids = *std::move(encoded);
  if (ids.empty()) return InvalidArgument("prompt: must not be empty, no token results from it");
  QUIRE_RETURN_IF_ERROR(CheckIds(ids));
  return ids;
}

Status InputProcessor::CheckIds(const std::vector<TokenId>& ids) const {
  for (const TokenId id : ids) {
    if (id < 0 || id >= options_.vocab_size) {
      return InvalidArgument(StrCat("prompt: token id ", id,
                                    " is outside the vocabulary, ids are 0 to ",
                                    options_.vocab_size - 1));
    }
  }
  return {};
}

Status InputProcessor::FitToContext(const SamplingParams& sampling,
                                    std::vector<TokenId>& ids) const {
  const std::int64_t longest = options_.max_model_len - 1;
  if (sampling.truncate_prompt_tokens) {
    std::int64_t keep = *sampling.truncate_prompt_tokens;
    if (keep < 0) {
      const std::int64_t wanted = sampling.max_tokens.value_or(1);
      keep = std::max<std::int64_t>(1, options_.max_model_len - wanted);
    }
    if (keep == 0) return InvalidArgument("truncate_prompt_tokens: must leave a token, got 0");
    const auto size = static_cast<std::int64_t>(ids.size());
    if (size > keep) ids.erase(ids.begin(), ids.begin() + (size - keep));
  }
  if (static_cast<std::int64_t>(ids.size()) > longest) {
    return TooLong(StrCat(ids.size()));
  }
  return {};
}

Status InputProcessor::TooLong(const std::string& num_tokens) const {
  return InvalidArgument(StrCat("prompt: has ", num_tokens, " tokens, but max_model_len is ",
                                options_.max_model_len,
                                " and one of them must be left to generate; shorten the prompt "
                                "or set truncate_prompt_tokens"));
}

// What the engine's options ask of every constraint.
void InputProcessor::AddConstraintDefaults(SamplingParams& sampling) const {
  if (sampling.structured_outputs == nullptr) return;
  const StructuredOptions& options = options_.structured;
  if (!options.disable_any_whitespace() && !options.disable_additional_properties()) return;
  auto params = *sampling.structured_outputs;
  params.disable_any_whitespace |= options.disable_any_whitespace();
  params.disable_additional_properties |= options.disable_additional_properties();
  sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(std::move(params));
}

Status InputProcessor::AddThinkingLimit(const PromptInput& input, EngineRequest& request) const {
  if (!request.sampling.thinking_token_budget) return {};
  if (tokenizer_ == nullptr || !input.reasoning || input.reasoning->begin.empty() ||
      input.reasoning->end.empty()) {
    return InvalidArgument(
        "thinking_token_budget: nothing is known here of how this model marks its reasoning");
  }
  const auto& constraint = request.sampling.structured_outputs;
  if (constraint != nullptr && !constraint->reasoning) {
    return InvalidArgument(
        "thinking_token_budget: excludes a constraint that holds for the reasoning too");
  }
  auto limit = std::make_shared<ThinkingLimit>();
  limit->markers = *input.reasoning;
  limit->begins_exactly = constraint != nullptr;
  limit->text_of = [tokenizer = tokenizer_](TokenId id) { return tokenizer->TokenBytes(id); };
  auto ids =
      tokenizer_->Encode(limit->markers.end, {.add_special_tokens = false, .parse_special = true});
  if (!ids.ok()) return ids.status().With("thinking_token_budget");
  std::string spelled;
  for (const TokenId id : *ids) spelled += id < options_.vocab_size ? limit->text_of(id) : "";
  if (spelled != limit->markers.end) {
    return InvalidArgument(
        StrCat("thinking_token_budget: the model has no tokens that spell ", limit->markers.end));
  }
  limit->end_ids = *std::move(ids);
  const PromptReasoning begun = ReasoningOf(input, request.prompt);
  if (constraint == nullptr) request.reasoning = begun.stage;
  limit->max_tokens = std::max(0, *request.sampling.thinking_token_budget - begun.num_tokens);
  request.thinking = std::move(limit);
  return {};
}

InputProcessor::PromptReasoning InputProcessor::ReasoningOf(const PromptInput& input,
                                                            std::span<const TokenId> prompt) const {
  if (input.stage == ReasoningStage::kOver) return {};
  if (!input.may_continue_reasoning) prompt = prompt.last(std::min(prompt.size(), kMaxEndTokens));
  std::string text;
  std::vector<std::size_t> starts;
  starts.reserve(prompt.size());
  for (const TokenId id : prompt) {
    starts.push_back(text.size());
    text += tokenizer_->TokenBytes(id);
  }
  // A text that is no chat is reasoning only where a marker says so.
  ReasoningMarkers markers = *input.reasoning;
  if (input.may_continue_reasoning) markers.begins_unmarked = false;
  const ReasoningStage stage = input.stage ? *input.stage : StageAfter(text, markers);
  const std::size_t begin = text.rfind(markers.begin);
  const std::size_t end = text.rfind(markers.end);
  const bool is_closed = end != text.npos && (begin == text.npos || begin < end);
  if (is_closed || begin == text.npos) return {stage, 0};
  const std::size_t inside = begin + markers.begin.size();
  const bool is_blank = text.find_first_not_of(kSpace, inside) == text.npos;
  if (!is_blank && !input.may_continue_reasoning) return {stage, 0};
  const auto first = std::ranges::lower_bound(starts, inside);
  return {ReasoningStage::kInside, static_cast<int>(starts.end() - first)};
}

Status InputProcessor::AddBadWords(SamplingParams& sampling) const {
  if (sampling.bad_words.empty()) return {};
  if (tokenizer_ == nullptr) {
    return InvalidArgument("bad_words: the model has no tokenizer to read them with");
  }
  for (const std::string& word : sampling.bad_words) {
    const std::string bare = word.substr(std::min(word.find_first_not_of(' '), word.size()));
    if (bare.empty()) return InvalidArgument("bad_words: must not be blank");
    for (const std::string& spelling : {bare, " " + bare}) {
      Result<std::vector<TokenId>> ids =
          tokenizer_->Encode(spelling, {.add_special_tokens = false, .parse_special = true});
      if (!ids.ok()) return ids.status().With("bad_words");
      const bool is_usable = !ids->empty() && std::ranges::all_of(*ids, [&](TokenId id) {
        return id >= 0 && id < options_.vocab_size;
      });
      if (is_usable &&
          std::ranges::find(sampling.bad_words_ids, *ids) == sampling.bad_words_ids.end()) {
        sampling.bad_words_ids.push_back(*std::move(ids));
      }
    }
  }
  return {};
}

std::vector<EngineRequest> FanOut(EngineRequest request, RequestId first) {
  const int count = request.sampling.n;
  request.sampling.n = 1;
  std::vector<EngineRequest> requests;
  requests.reserve(static_cast<std::size_t>(count));
  if (count > 1) request.family = first;
  for (int i = 0; i < count; ++i) {
    requests.push_back(request);
    requests.back().id = RequestId(first.value() + i);
    requests.back().seed += static_cast<std::uint64_t>(i);
    if (i > 0) requests.back().sampling.prompt_logprobs.reset();  // the first one's tell all
  }
  return requests;
}

}  // namespace quire
