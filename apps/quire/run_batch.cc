// quire run-batch: a file of requests, answered by an engine in this process.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/quire/batch_file.h"
#include "apps/quire/batch_run.h"
#include "apps/quire/command.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "apps/quire/tokenizer_source.h"
#include "base/strings.h"
#include "config/options.h"
#include "engine/async_engine.h"
#include "server/api.h"

namespace quire {

namespace {

struct BatchOptions {
  EngineConfig config;
  ServerConfig server;
  std::string input;
  std::string output;
  bool quiet = false;
};

// The options of the routes that mean something without a server.
constexpr std::string_view kRouteFlags[] = {
    "served-model-name", "chat-template-content-format",
    "response-role",     "tool-call-parser",
    "reasoning-parser",  "strict-fields",
};

void AddRouteFlags(FlagSet& flags, ServerConfig& server) {
  for (const OptionDescription& option : DescribeServerOptions()) {
    const auto* const end = std::end(kRouteFlags);
    if (std::find(std::begin(kRouteFlags), end, option.name) == end) continue;
    flags.Group(option.group);
    flags.AddFlag(option.name,
                  FlagFor(option, [&server](std::string_view name, std::string_view text) {
                    return SetServerFlag(server, name, text);
                  }));
  }
}

FlagSet MakeFlags(BatchOptions& options) {
  FlagSet flags("run-batch [MODEL] -i FILE -o FILE [flags]",
                "Answers a file of requests as the server would: one JSON object a line with "
                "custom_id, method, url and body, as OpenAI's batch files have it; the urls are "
                "/v1/chat/completions, /v1/completions and /v1/responses. Answers are appended as "
                "they come. A run that was stopped goes on where it was: requests that the output "
                "has an answer to are not done again.");
  flags.Group("Batch");
  flags.Add("input-file,i", options.input, "File of requests; - is standard input", "FILE");
  flags.Add("output-file,o", options.output, "File of answers", "FILE");
  flags.Add("quiet,q", options.quiet, "No progress and no line about speed at the end");
  AddRouteFlags(flags, options.server);
  AddEngineFlags(flags, options.config);
  flags.AddExample("quire run-batch -i requests.jsonl -o answers.jsonl");
  return flags;
}

// Lines of the input that are not blank; none for what can be read only once.
Result<std::optional<std::int64_t>> CountLines(const std::string& path) {
  if (path == "-") return std::optional<std::int64_t>();
  QUIRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  LineReader reader(file.fd());
  std::int64_t count = 0;
  for (;;) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line) return std::optional(count);
    if (line->find_first_not_of(" \t\r") != std::string::npos) ++count;
  }
}

std::string_view NameOf(ContentFormat format) {
  for (const auto& entry : EnumNames<ContentFormat>::kNames) {
    if (entry.value == format) return entry.name;
  }
  return "auto";
}

// The text of the template that was asked for; empty: the model's own.
Result<std::string> TemplateText(const std::string& wish) {
  if (wish.empty() || wish.find('{') != std::string::npos) return wish;
  Result<std::string> text = ReadInput(wish);
  if (!text.ok()) return text.status().With("--chat-template");
  return text;
}

Result<ApiOptions> MakeApiOptions(const BatchOptions& options, const std::string& named) {
  const RouteOptions& routes = options.server.routes;
  ApiOptions api;
  api.served_model_names = routes.served_model_names;
  if (api.served_model_names.empty()) api.served_model_names.push_back(named);
  api.model_root = options.config.model.model;
  QUIRE_ASSIGN_OR_RETURN(api.chat_template, TemplateText(options.config.model.chat_template));
  api.chat_template_content_format = NameOf(routes.chat_template_content_format);
  api.response_role = routes.response_role;
  api.tool_call_parser = routes.tool_call_parser;
  api.reasoning_parser = routes.reasoning_parser;
  api.enable_in_reasoning = options.config.structured.enable_in_reasoning();
  api.strict_fields = routes.strict_fields;
  api.enable_docs = false;
  return api;
}

Status RunLines(const BatchOptions& options, const std::shared_ptr<AsyncEngine>& engine, Api& api,
                BatchOutput& output, std::optional<std::int64_t> num_lines) {
  const std::vector<Route> routes = api.Routes();
  BatchRun run(routes, output,
               {.max_live = 2 * static_cast<std::size_t>(options.config.scheduler.max_num_seqs),
                .num_lines = num_lines,
                .quiet = options.quiet,
                .speed = [engine] {
                  const EngineStats stats = engine->stats();
                  return BatchSpeed{.num_tokens = stats.num_generated_tokens,
                                    .num_running = stats.scheduler.num_running};
                }});
  QUIRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(options.input));
  LineReader reader(file.fd());
  Status status = run.Run(reader);
  if (!options.quiet) Tell(run.Summary());
  if (status.code() == Code::kCancelled) Tell("stopped; the same command goes on from here");
  return status;
}

Status CheckFiles(const BatchOptions& options) {
  if (options.input.empty()) return InvalidArgument("--input-file: a file of requests is missing");
  if (options.output.empty())
    return InvalidArgument("--output-file: a file for answers is missing");
  if (options.output == "-") {
    return InvalidArgument("--output-file: must be a file, got -; a later run goes on from it");
  }
  return {};
}

}  // namespace

Status RunRunBatch(Args args) {
  BatchOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakeOnlyModel(flags, options.config));
  QUIRE_RETURN_IF_ERROR(CheckFiles(options));
  QUIRE_RETURN_IF_ERROR(options.config.Validate());
  const std::string named = options.config.model.model;
  QUIRE_RETURN_IF_ERROR(LocateFiles(options.config));
  QUIRE_ASSIGN_OR_RETURN(const std::optional<std::int64_t> num_lines, CountLines(options.input));
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<BatchOutput> output,
                         BatchOutput::Open(options.output));
  const InterruptScope interrupts;
  QUIRE_ASSIGN_OR_RETURN(std::unique_ptr<AsyncEngine> made,
                         AsyncEngine::Create(options.config, {}, MakeLoadBar()));
  std::shared_ptr<AsyncEngine> engine = std::move(made);
  const std::string name = named.empty() ? options.config.model.model : named;
  QUIRE_ASSIGN_OR_RETURN(ApiOptions api_options, MakeApiOptions(options, name));
  QUIRE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Api> api,
      Api::Create(std::move(api_options),
                  [engine]() -> std::shared_ptr<AsyncEngine> { return engine; }));
  Status status = RunLines(options, engine, *api, *output, num_lines);
  engine->Shutdown(std::chrono::milliseconds(0));
  return status;
}

}  // namespace quire
