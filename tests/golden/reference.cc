#include "golden/reference.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/test_data.h"
#include "formats/safetensors.h"
#include "platform/mapped_file.h"

namespace quire::golden {
namespace {

namespace fs = std::filesystem;

fs::path SourceFolder() {
  const char* source = std::getenv("QUIRE_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (source != nullptr && *source != '\0') return source;
  return fs::path(__FILE__).parent_path().parent_path().parent_path();
}

ReferencePrompt ReadPrompt(const Json& json) {
  ReferencePrompt prompt{json.Find("name")->string(),
                         TokenIds(*json.Find("ids")),
                         TokenIds(*json.Find("greedy")),
                         Numbers(*json.Find("gaps")),
                         {},
                         {}};
  const Json* top = json.Find("top_logprobs");
  if (top == nullptr) return prompt;
  for (const Json& step : top->array()) {
    prompt.top_ids.push_back(TokenIds(*step.Find("ids")));
    prompt.top_logprobs.push_back(Numbers(*step.Find("logprobs")));
  }
  return prompt;
}

Result<std::map<std::string, Rows>> ReadTensors(const std::string& path) {
  QUIRE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  QUIRE_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                         ParseSafetensors(file.bytes(), file.bytes().size()));
  std::map<std::string, Rows> tensors;
  for (const TensorInfo& tensor : header.tensors) {
    Rows rows{tensor.shape.back(), std::vector<float>(tensor.num_bytes / sizeof(float))};
    std::memcpy(rows.values.data(), file.bytes().data() + tensor.offset, tensor.num_bytes);
    tensors.emplace(tensor.name, std::move(rows));
  }
  return tensors;
}

}  // namespace

std::vector<TokenId> TokenIds(const Json& array) {
  std::vector<TokenId> ids;
  for (const Json& id : array.array()) ids.push_back(static_cast<TokenId>(id.integer()));
  return ids;
}

std::vector<double> Numbers(const Json& array) {
  std::vector<double> numbers;
  for (const Json& number : array.array()) numbers.push_back(number.number());
  return numbers;
}

Result<Reference> ReadReference(const std::string& folder) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(folder + "/expected.json"));
  Reference reference;
  QUIRE_ASSIGN_OR_RETURN(reference.json, ParseJson(text));
  for (const Json& prompt : reference.json.Find("prompts")->array()) {
    reference.prompts.push_back(ReadPrompt(prompt));
  }
  const std::string tensors = folder + "/expected.safetensors";
  if (fs::exists(tensors)) {
    QUIRE_ASSIGN_OR_RETURN(reference.tensors, ReadTensors(tensors));
  }
  return reference;
}

std::string TinyModelPath(const std::string& name) {
  const fs::path own = SourceFolder() / "tests" / "data" / "models" / name;
  return fs::exists(own) ? own.string() : TestDataPath("models-tiny/" + name);
}

}  // namespace quire::golden
