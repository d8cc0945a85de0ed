// From what a user calls a model to the file or folder that holds it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace quire {

// Where models may lie; values of the environment, each may be empty.
struct ModelPlaces {
  std::string home = {};          // $HOME
  std::string quire_cache = {};   // $QUIRE_CACHE; empty: HOME/.cache/quire
  std::string hf_home = {};       // $HF_HOME; empty: HOME/.cache/huggingface
  std::string hf_hub_cache = {};  // $HF_HUB_CACHE; empty: HF_HOME/hub
};

// The file that is served when no model is named.
inline constexpr std::string_view kDefaultModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";

// The path that Checkpoint::Open takes, for, in this order:
//   an empty text: the default model in the model cache;
//   a folder with config.json and weights, or with exactly one GGUF file (or one split one);
//   a GGUF file;
//   a name in the model cache, QUIRE_CACHE/models: a file without or with .gguf, or a folder;
//   ORG/NAME in the Hugging Face cache: models--ORG--NAME/snapshots/REVISION, the revision that
//   refs/main names, else the newest.
// kNotFound in one sentence with the nearest match; kInvalidArgument for a folder that holds no
// model or several.
Result<std::string> LocateModel(const std::string& model, const ModelPlaces& places);

// Where packed weights are kept unless told otherwise: QUIRE_CACHE/packed; empty where the
// environment names no place.
std::string PackedCacheFolder(const ModelPlaces& places);

}  // namespace quire
