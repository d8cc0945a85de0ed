// Reference outputs of a model folder: expected.json and expected.safetensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/json.h"
#include "golden/rig.h"

namespace quire::golden {

struct ReferencePrompt {
  std::string name;
  std::vector<TokenId> ids;
  std::vector<TokenId> greedy;
  std::vector<double> gaps;                   // of each greedy step, best logit minus second best
  std::vector<std::vector<TokenId>> top_ids;  // of each greedy step, where recorded
  std::vector<std::vector<double>> top_logprobs;  // as top_ids
};

struct Reference {
  Json json;
  std::vector<ReferencePrompt> prompts;
  std::map<std::string, Rows> tensors;
};

// Reads FOLDER/expected.json and, where it is there, FOLDER/expected.safetensors.
Result<Reference> ReadReference(const std::string& folder);

// The numbers of an array.
std::vector<TokenId> TokenIds(const Json& array);
std::vector<double> Numbers(const Json& array);

// A model folder of the reference data, or the copy in tests/data; empty where neither is there.
std::string TinyModelPath(const std::string& name);

}  // namespace quire::golden
