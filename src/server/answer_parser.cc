#include "server/answer_parser.h"

#include <utility>

#include "server/reasoning_parser.h"
#include "server/tool_parser.h"
#include "server/tool_parsers/call_writer.h"
#include "server/tool_parsers/formats.h"
#include "server/tool_parsers/harmony.h"
#include "server/tool_parsers/json_calls.h"

namespace quire {
namespace {

// Everything is content.
class PlainParser : public AnswerParser {
 public:
  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override {
    writer_.Attach(out);
    writer_.Content(delta);
  }
  void Finish(std::vector<AnswerEvent>& /*out*/) override {}

 private:
  CallWriter writer_{0};
};

// The whole answer is the arguments of one call.
class NamedCallParser : public AnswerParser {
 public:
  NamedCallParser(std::string_view name, std::uint64_t id_seed) : name_(name), writer_(id_seed) {}

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override {
    writer_.Attach(out);
    if (delta.empty()) return;
    if (!writer_.in_call()) writer_.Begin(name_);
    writer_.Arguments(delta);
  }

  void Finish(std::vector<AnswerEvent>& out) override {
    writer_.Attach(out);
    if (!writer_.in_call()) writer_.Begin(name_);
    writer_.End();
  }

 private:
  std::string name_;
  CallWriter writer_;
};

// What the first parser finds to be content goes to the second.
class ChainedParser : public AnswerParser {
 public:
  ChainedParser(std::unique_ptr<AnswerParser> first, std::unique_ptr<AnswerParser> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override {
    first_->Feed(delta, between_);
    HandOn(out);
  }

  void Finish(std::vector<AnswerEvent>& out) override {
    first_->Finish(between_);
    HandOn(out);
    second_->Finish(out);
  }

 private:
  void HandOn(std::vector<AnswerEvent>& out) {
    for (AnswerEvent& event : between_) {
      if (event.kind == AnswerEventKind::kContent) {
        second_->Feed(event.text, out);
      } else {
        out.push_back(std::move(event));
      }
    }
    between_.clear();
  }

  std::unique_ptr<AnswerParser> first_;
  std::unique_ptr<AnswerParser> second_;
  std::vector<AnswerEvent> between_;
};

std::unique_ptr<AnswerParser> After(const AnswerParserOptions& options,
                                    std::unique_ptr<AnswerParser> second) {
  if (options.reasoning == nullptr) return second;
  return std::make_unique<ChainedParser>(options.reasoning->make(options.prompt_end),
                                         std::move(second));
}

constexpr JsonCallStyle kRequired = {.is_all_calls = true};

}  // namespace

std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerParserOptions& options) {
  const ReasoningFormat* const reasoning = options.reasoning;
  const ToolFormat* const tools = options.tools;
  const bool is_harmony =
      (reasoning != nullptr && IsHarmony(*reasoning)) || (tools != nullptr && IsHarmony(*tools));
  if (is_harmony) {
    return std::make_unique<HarmonyParser>(HarmonyParser::Options{.has_calls = tools != nullptr,
                                                                  .prompt_end = options.prompt_end,
                                                                  .id_seed = options.id_seed});
  }
  if (tools != nullptr) return After(options, tools->make(options.id_seed, options.types));
  if (reasoning != nullptr) return reasoning->make(options.prompt_end);
  return std::make_unique<PlainParser>();
}

std::unique_ptr<AnswerParser> MakeRequiredCallParser(const AnswerParserOptions& options) {
  return After(options, std::make_unique<JsonCallParser>(kRequired, options.id_seed));
}

std::unique_ptr<AnswerParser> MakeNamedCallParser(const AnswerParserOptions& options,
                                                  std::string_view function_name) {
  return After(options, std::make_unique<NamedCallParser>(function_name, options.id_seed));
}

}  // namespace quire
