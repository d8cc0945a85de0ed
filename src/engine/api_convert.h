// Between the types of include/quire and the engine's own.
#pragma once

#include <string>

#include "base/status.h"
#include "config/engine_config.h"
#include "engine/prompt.h"
#include "quire/config.h"
#include "quire/request.h"
#include "quire/status.h"
#include "request/request.h"
#include "request/sampling_params.h"

namespace quire::api {

Status ToPublic(const ::quire::Status& status);
Output ToPublic(RequestOutput output);

// `model` and the options by name; kInvalidArgument names the option.
::quire::Result<EngineConfig> ToEngineConfig(const std::string& model, const Options& options);

// `defaults` with the options over them.
::quire::Result<SamplingParams> ToSamplingParams(const SamplingParams& defaults,
                                                 const Options& options);

PromptInput ToPromptInput(const Prompt& prompt, SamplingParams sampling);

}  // namespace quire::api
