#include "apps/quire/prompts.h"

#include <utility>

#include "apps/quire/io.h"
#include "apps/quire/json_lines.h"
#include "base/strings.h"
#include "config/field_value.h"
#include "config/options.h"

namespace quire {

namespace {

constexpr std::size_t kMaxPrompts = 10'000'000;

Status SetMember(const std::string& name, const Json& value, Prompt& prompt) {
  if (name == "prompt") return FieldFromJson(value, prompt.text).With(name);
  if (name == "ids" || name == "prompt_token_ids") {
    return FieldFromJson(value, prompt.ids).With(name);
  }
  if (name == "add_special_tokens") {
    return FieldFromJson(value, prompt.add_special_tokens).With(name);
  }
  if (name == "priority") return FieldFromJson(value, prompt.priority).With(name);
  if (name == "cache_salt") return FieldFromJson(value, prompt.cache_salt).With(name);
  if (name == "thinking_token_budget" || name == "thinking-token-budget") {
    return InvalidArgument(StrCat(name,
                                  ": is served by `quire serve` alone, whose reasoning "
                                  "parser tells how the model marks its reasoning"));
  }
  // An unknown name is refused here too, with the nearest one.
  SamplingParams scratch;
  QUIRE_RETURN_IF_ERROR(SetSamplingField(scratch, name, value));
  prompt.sampling.emplace_back(name, value);
  return {};
}

Result<Prompt> PromptOf(const Json& line, bool add_special_tokens) {
  if (!line.is_object()) {
    return InvalidArgument(StrCat("must be a JSON object, got ", line.kind()));
  }
  Prompt prompt;
  prompt.add_special_tokens = add_special_tokens;
  const Json* prompt_text = line.Find("prompt");
  if (prompt_text != nullptr && !prompt_text->is_string()) {
    return InvalidArgument(StrCat("prompt: must be a string, got ", prompt_text->kind()));
  }
  for (const auto& [name, value] : line.object()) {
    QUIRE_RETURN_IF_ERROR(SetMember(name, value, prompt));
  }
  if ((prompt_text != nullptr) == prompt.ids.has_value()) {
    return InvalidArgument("must have \"prompt\" or \"ids\", one of them");
  }
  return prompt;
}

}  // namespace

Result<PromptInput> Prompt::ToInput(const SamplingParams& defaults) const {
  PromptInput input;
  input.text = text;
  input.token_ids = ids;
  input.add_special_tokens = add_special_tokens;
  input.sampling = defaults;
  input.sampling.output_kind = OutputKind::kDelta;
  input.priority = priority;
  input.cache_salt = cache_salt;
  for (const auto& [name, value] : sampling) {
    QUIRE_RETURN_IF_ERROR(SetSamplingField(input.sampling, name, value));
  }
  return input;
}

Result<std::vector<Prompt>> ReadPrompts(const std::string& path,
                                        std::optional<std::int64_t> max_prompts,
                                        bool add_special_tokens) {
  QUIRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  LineReader reader(file.fd());
  std::vector<Prompt> prompts;
  for (std::int64_t number = 1;; ++number) {
    if (max_prompts && static_cast<std::int64_t>(prompts.size()) >= *max_prompts) break;
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if (prompts.size() >= kMaxPrompts) {
      return InvalidArgument(StrCat(path, ": more than ", kMaxPrompts, " prompts"));
    }
    const std::string place = StrCat("line ", number);
    const Result<Json> json = ParseJsonLine(*line, number);
    if (!json.ok()) return json.status().With(path);
    Result<Prompt> prompt = PromptOf(*json, add_special_tokens);
    if (!prompt.ok()) return prompt.status().With(StrCat(path, ", ", place));
    prompts.push_back(*std::move(prompt));
    prompts.back().place = place;
  }
  if (prompts.empty()) return InvalidArgument(StrCat(path, ": holds no prompts"));
  return prompts;
}

}  // namespace quire
