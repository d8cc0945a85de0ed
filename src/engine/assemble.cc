#include "engine/assemble.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "config/generation_config.h"
#include "engine/load_tokenizer.h"

namespace quire {
namespace {

// Where generation_config.json may lie; empty for a model without a folder.
std::string FolderOf(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path : std::string();
}

Result<std::shared_ptr<const Tokenizer>> FindTokenizer(const ModelOptions& options) {
  if (!options.tokenizer.empty()) return LoadTokenizer(options.tokenizer);
  auto found = LoadTokenizer(options.model);
  if (!found.ok() && found.status().code() == Code::kNotFound) {
    return std::shared_ptr<const Tokenizer>();
  }
  return found;
}

// Every id that any of the model's files names as an end: a wrong guess would generate for ever.
std::vector<TokenId> EosTokens(const ModelFacts& facts, const GenerationConfig& generation,
                               const Tokenizer* tokenizer) {
  std::vector<TokenId> ids = facts.eos_token_ids;
  ids.insert(ids.end(), generation.eos_token_ids.begin(), generation.eos_token_ids.end());
  if (tokenizer != nullptr) {
    ids.insert(ids.end(), tokenizer->eos_ids().begin(), tokenizer->eos_ids().end());
  }
  std::vector<TokenId> usable;
  for (const TokenId id : ids) {
    const bool is_known = id >= 0 && id < facts.vocab_size;
    if (is_known && std::ranges::find(usable, id) == usable.end()) usable.push_back(id);
  }
  return usable;
}

}  // namespace

Result<EngineParts> LoadEngine(const EngineConfig& config, const LoadProgress& progress) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  const MachineMemory memory = ReadMachineMemory();
  QUIRE_ASSIGN_OR_RETURN(auto executor, CreateInlineExecutor(config, progress));
  QUIRE_ASSIGN_OR_RETURN(auto tokenizer, FindTokenizer(config.model));
  return AssembleEngine(config, memory, std::move(executor), std::move(tokenizer));
}

Result<EngineParts> AssembleEngine(const EngineConfig& config, const MachineMemory& memory,
                                   std::unique_ptr<Executor> executor,
                                   std::shared_ptr<const Tokenizer> tokenizer) {
  EngineParts parts;
  parts.facts = executor->facts();
  QUIRE_ASSIGN_OR_RETURN(parts.decisions, SizeEngine(config, parts.facts, memory));
  const KvCachePlan& plan = parts.decisions.plan;
  QUIRE_RETURN_IF_ERROR(executor->InitKvCache(plan));
  QUIRE_ASSIGN_OR_RETURN(const GenerationConfig generation,
                         LoadGenerationConfig(config.model, FolderOf(config.model.model)));
  parts.sampling_defaults = generation.Defaults();
  parts.tokenizer = std::move(tokenizer);
  parts.eos_token_ids = EosTokens(parts.facts, generation, parts.tokenizer.get());
  parts.input = std::make_unique<InputProcessor>(
      InputProcessor::Options{.vocab_size = parts.facts.vocab_size,
                              .max_model_len = plan.max_model_len,
                              .max_logprobs = config.model.max_logprobs,
                              .seed = config.model.seed,
                              .eos_token_ids = parts.eos_token_ids,
                              .max_new_tokens = generation.max_new_tokens,
                              .structured = config.structured},
      parts.tokenizer);
  std::function<std::string(TokenId)> text_of;
  if (parts.tokenizer != nullptr) {
    text_of = [tokenizer = parts.tokenizer](TokenId id) { return tokenizer->TokenBytes(id); };
  }
  QUIRE_ASSIGN_OR_RETURN(parts.core, EngineCore::Create(config, plan, std::move(executor),
                                                        parts.eos_token_ids, std::move(text_of)));
  return parts;
}

}  // namespace quire
