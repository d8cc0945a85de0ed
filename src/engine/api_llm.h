// What the sources of quire::api::LLM share.
#pragma once

#include <memory>

#include "engine/llm.h"
#include "quire/engine.h"

namespace quire::api {

struct LLM::State {
  std::unique_ptr<Llm> llm;
};

}  // namespace quire::api
