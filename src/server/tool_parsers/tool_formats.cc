#include <algorithm>
#include <array>
#include <memory>

#include "base/strings.h"
#include "server/tool_parsers/formats.h"
#include "server/tool_parsers/harmony.h"
#include "server/tool_parsers/json_calls.h"
#include "server/tool_parsers/python_calls.h"
#include "server/tool_parsers/xml_calls.h"

namespace quire {
namespace {

constexpr JsonCallStyle kHermes = {.begin = "<tool_call>", .end = "</tool_call>"};
constexpr JsonCallStyle kLlamaJson = {
    .begin = "<|python_tag|>", .separators = ";,", .keys = CallKeys::kStrict, .may_be_bare = true};
constexpr JsonCallStyle kMistral = {
    .begin = "[TOOL_CALLS]", .may_be_named = true, .ids = CallIdStyle::kNineCharacters};
constexpr JsonCallStyle kJamba = {.begin = "<tool_calls>", .end = "</tool_calls>"};
constexpr JsonCallStyle kGranite = {.begin = "<|tool_call|>"};
constexpr JsonCallStyle kPhi4Mini = {.begin = "functools"};

constexpr PythonCallStyle kPythonic = {};
constexpr PythonCallStyle kLlama4Pythonic = {.begin = "<|python_start|>", .end = "<|python_end|>"};
constexpr PythonCallStyle kLfm2 = {
    .begin = "<|tool_call_start|>", .end = "<|tool_call_end|>", .must_be_marked = true};

template <const JsonCallStyle& style>
std::unique_ptr<AnswerParser> MakeJson(std::uint64_t id_seed, const ParameterTypes* /*types*/) {
  return std::make_unique<JsonCallParser>(style, id_seed);
}

template <const PythonCallStyle& style>
std::unique_ptr<AnswerParser> MakePython(std::uint64_t id_seed, const ParameterTypes* /*types*/) {
  return std::make_unique<PythonCallParser>(style, id_seed);
}

constexpr XmlCallStyle kQwen3Coder = {.function_begin = "<function=",
                                      .function_end = "</function>",
                                      .key_begin = "<parameter=",
                                      .key_end = ">",
                                      .value_end = "</parameter>",
                                      .is_in_lines = true};
constexpr XmlCallStyle kGlm45 = {.key_begin = "<arg_key>",
                                 .key_end = "</arg_key>",
                                 .value_begin = "<arg_value>",
                                 .value_end = "</arg_value>"};

template <const XmlCallStyle& style>
std::unique_ptr<AnswerParser> MakeXml(std::uint64_t id_seed, const ParameterTypes* types) {
  return std::make_unique<XmlCallParser>(style, id_seed, types);
}

std::unique_ptr<AnswerParser> MakeHarmonyCalls(std::uint64_t id_seed,
                                               const ParameterTypes* /*types*/) {
  return std::make_unique<HarmonyParser>(
      HarmonyParser::Options{.has_calls = true, .prompt_end = {}, .id_seed = id_seed});
}

constexpr std::string_view kHarmonyName = "openai";

// Sorted by name. qwen2.5 and qwen3 are no names of vLLM's, whose users write "hermes" for them.
constexpr std::array kFormats = {
    ToolFormat{.name = "glm45", .make = MakeXml<kGlm45>},
    ToolFormat{.name = "glm47", .make = MakeXml<kGlm45>},
    ToolFormat{.name = "granite", .needs_special_tokens = true, .make = MakeJson<kGranite>},
    ToolFormat{.name = "granite4", .make = MakeJson<kHermes>},
    ToolFormat{.name = "hermes", .make = MakeJson<kHermes>},
    ToolFormat{.name = "jamba", .make = MakeJson<kJamba>},
    ToolFormat{.name = "lfm2", .needs_special_tokens = true, .make = MakePython<kLfm2>},
    ToolFormat{.name = "llama3_json", .needs_special_tokens = true, .make = MakeJson<kLlamaJson>},
    ToolFormat{.name = "llama4_json", .needs_special_tokens = true, .make = MakeJson<kLlamaJson>},
    ToolFormat{.name = "llama4_pythonic",
               .needs_special_tokens = true,
               .make = MakePython<kLlama4Pythonic>},
    ToolFormat{.name = "mistral", .needs_special_tokens = true, .make = MakeJson<kMistral>},
    ToolFormat{.name = kHarmonyName, .needs_special_tokens = true, .make = MakeHarmonyCalls},
    ToolFormat{.name = "phi4_mini_json", .make = MakeJson<kPhi4Mini>},
    ToolFormat{.name = "pythonic", .make = MakePython<kPythonic>},
    ToolFormat{.name = "qwen2.5", .make = MakeJson<kHermes>},
    ToolFormat{.name = "qwen3", .make = MakeJson<kHermes>},
    ToolFormat{.name = "qwen3_coder", .make = MakeXml<kQwen3Coder>},
    ToolFormat{.name = "qwen3_xml", .make = MakeXml<kQwen3Coder>},
};

const ToolFormat* FormatNamed(std::string_view name) {
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const ToolFormat& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The name of the format in which the template writes the calls of earlier turns; empty where it
// writes none, or in a way that no parser here reads.
std::string_view DetectedName(std::string_view chat_template) {
  if (Has(chat_template, "<|channel|>") && Has(chat_template, "functions.")) return kHarmonyName;
  if (Has(chat_template, "[TOOL_CALLS]")) return "mistral";
  if (Has(chat_template, "<|tool_list_start|>")) return "lfm2";
  // Both write XML within the tags of hermes.
  if (Has(chat_template, "<function=") && Has(chat_template, "<parameter=")) return "qwen3_coder";
  if (Has(chat_template, "<arg_key>")) return "glm45";
  if (Has(chat_template, "<tool_call>")) return "hermes";
  if (Has(chat_template, "<|python_start|>")) return "llama4_pythonic";
  const bool is_llama = Has(chat_template, "<|start_header_id|>");
  if (is_llama && Has(chat_template, "\"parameters\": ")) return "llama3_json";
  return {};
}

}  // namespace

std::span<const ToolFormat> ToolFormats() { return kFormats; }

bool IsHarmony(const ToolFormat& format) { return format.name == kHarmonyName; }

Result<const ToolFormat*> FindToolFormat(std::string_view name, std::string_view chat_template) {
  if (name == "auto") return FormatNamed(DetectedName(chat_template));
  if (const ToolFormat* const format = FormatNamed(name)) return format;
  return InvalidArgument(StrCat("tool-call-parser: must be one of ", Join(ToolFormatNames(), ", "),
                                ", got \"", Printable(name), "\""));
}

std::vector<std::string> ToolFormatNames() {
  std::vector<std::string> names = {"auto"};
  for (const ToolFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace quire
