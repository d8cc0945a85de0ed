// The engine's options and a request's sampling parameters by name: set from text or JSON, written
// back, and described.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/server_config.h"
#include "formats/json.h"
#include "request/sampling_params.h"

namespace quire {

// How a command line and a document show one option.
struct OptionDescription {
  std::string group;         // heading under which it stands
  std::string name;          // without dashes before it: max-num-seqs, top_k
  std::string type;          // TEXT, INT, NUMBER, JSON, IDS or the choices with | between
  std::string default_text;  // empty where it is unset
  std::string help;
  bool is_switch = false;            // takes no value; no-NAME turns it off
  bool is_repeatable = false;        // may stand several times, each adding to the list
  std::vector<std::string> choices;  // of an enumeration
};

// All options of the engine, of the server, and all parameters of sampling, in their list's order.
std::vector<OptionDescription> DescribeEngineOptions();
std::vector<OptionDescription> DescribeServerOptions();
std::vector<OptionDescription> DescribeSamplingParams();

// Sets the option `name` ("max-num-seqs" or "max_num_seqs") from a command line's text, or from
// JSON. A switch's flag also goes by "no-NAME", with an empty text. The message names the option;
// an unknown one brings the nearest name there is. Ranges are for Validate() to check.
Status SetEngineFlag(EngineConfig& config, std::string_view name, std::string_view text);
Status SetEngineField(EngineConfig& config, std::string_view name, const Json& value);
Status SetServerFlag(ServerConfig& config, std::string_view name, std::string_view text);
Status SetServerField(ServerConfig& config, std::string_view name, const Json& value);

// The same for sampling parameters ("top_k" or "top-k"). JSON null keeps a parameter at its
// default or empties an optional one; true as a number of logprobs is 1, false none.
Status SetSamplingFlag(SamplingParams& params, std::string_view name, std::string_view text);
Status SetSamplingField(SamplingParams& params, std::string_view name, const Json& value);

// Whether there is a sampling parameter of that name.
bool IsSamplingParam(std::string_view name);

// All options by name, and back; a member that is no option is an error, a missing one keeps its
// default.
Json ToJson(const EngineConfig& config);
Json ToJson(const ServerConfig& config);
Json ToJson(const SamplingParams& params);
Result<EngineConfig> EngineConfigFromJson(const Json& value);

}  // namespace quire
