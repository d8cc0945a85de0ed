#include <algorithm>
#include <array>
#include <memory>

#include "base/strings.h"
#include "server/tool_parsers/formats.h"
#include "server/tool_parsers/harmony.h"
#include "server/tool_parsers/think_tags.h"

namespace quire {
namespace {

constexpr ThinkStyle kDeepseekR1 = {.begin = "<think>", .end = "</think>", .begins_unmarked = true};
// Whether these reason is the prompt's or the model's choice.
constexpr ThinkStyle kThink = {.begin = "<think>", .end = "</think>"};
constexpr ThinkStyle kSeedOss = {.begin = "<seed:think>", .end = "</seed:think>"};
constexpr ThinkStyle kMistral = {.begin = "[THINK]", .end = "[/THINK]"};

template <const ThinkStyle& style>
std::unique_ptr<AnswerParser> MakeThink(std::string_view prompt_end) {
  return std::make_unique<ThinkTagParser>(style, prompt_end);
}

std::unique_ptr<AnswerParser> MakeHarmonyReasoning(std::string_view prompt_end) {
  return std::make_unique<HarmonyParser>(
      HarmonyParser::Options{.has_calls = false, .prompt_end = prompt_end});
}

template <const ThinkStyle& style>
constexpr ReasoningFormat ThinkFormat(std::string_view name) {
  return {.name = name,
          .make = MakeThink<style>,
          .end_marker = style.end,
          .begin_marker = style.begin,
          .begins_unmarked = style.begins_unmarked};
}

constexpr ReasoningFormat HarmonyFormat(std::string_view name) {
  return {.name = name,
          .needs_special_tokens = true,
          .make = MakeHarmonyReasoning,
          .end_marker = "<|channel|>final<|message|>"};
}

constexpr ReasoningFormat MistralFormat() {
  ReasoningFormat format = ThinkFormat<kMistral>("mistral");
  format.needs_special_tokens = true;
  return format;
}

// Sorted by name.
constexpr std::array kFormats = {
    ThinkFormat<kThink>("deepseek_v3"),
    ThinkFormat<kDeepseekR1>("deepseek_r1"),
    ThinkFormat<kThink>("glm45"),
    HarmonyFormat("gpt-oss"),
    MistralFormat(),
    HarmonyFormat("openai_gptoss"),
    ThinkFormat<kThink>("qwen3"),
    ThinkFormat<kSeedOss>("seed_oss"),
};

const ReasoningFormat* FormatNamed(std::string_view name) {
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const ReasoningFormat& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view DetectedName(std::string_view chat_template) {
  if (Has(chat_template, "<|channel|>") && Has(chat_template, kHarmonyMessage)) return "gpt-oss";
  if (Has(chat_template, "[THINK]")) return "mistral";
  if (Has(chat_template, "<seed:think>")) return "seed_oss";
  // What the prompt of a turn does with the reasoning is seen at its end.
  if (Has(chat_template, "<think>")) return "qwen3";
  return Has(chat_template, "</think>") ? "deepseek_r1" : std::string_view();
}

}  // namespace

std::span<const ReasoningFormat> ReasoningFormats() { return kFormats; }

bool IsHarmony(const ReasoningFormat& format) { return format.make == MakeHarmonyReasoning; }

Result<const ReasoningFormat*> FindReasoningFormat(std::string_view name,
                                                   std::string_view chat_template) {
  if (name == "auto") return FormatNamed(DetectedName(chat_template));
  if (const ReasoningFormat* const format = FormatNamed(name)) return format;
  return InvalidArgument(StrCat("reasoning-parser: must be one of ",
                                Join(ReasoningFormatNames(), ", "), ", got \"", Printable(name),
                                "\""));
}

std::vector<std::string> ReasoningFormatNames() {
  std::vector<std::string> names = {"auto"};
  for (const ReasoningFormat& format : kFormats) names.emplace_back(format.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace quire
