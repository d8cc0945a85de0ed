// A checkpoint on disk: a Hugging Face folder or a GGUF file with its parts, opened and indexed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/tensor_info.h"
#include "platform/mapped_file.h"
#include "tensor/tensor.h"

namespace quire {

enum class CheckpointFormat { kSafetensors, kGguf };

// Read-only after Open; any thread.
class Checkpoint {
 public:
  // `path` is a folder with config.json and *.safetensors, or a .gguf file (any part of a split
  // one; all parts are opened). Errors name file, tensor and reason.
  static Result<std::shared_ptr<const Checkpoint>> Open(const std::string& path,
                                                        const MapOptions& options);

  CheckpointFormat format() const { return format_; }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& files() const { return file_names_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Json& config_json() const { return config_json_; }              // null for GGUF
  const GgufHeader* gguf() const { return gguf_ ? &*gguf_ : nullptr; }  // of the first part

  const TensorInfo* Find(std::string_view name) const;
  // The tensor's bytes with its shape; shapes of rank 0 become [1], of rank > 4 are an error.
  Result<ConstTensorView> View(const TensorInfo& tensor) const;

  // The state of each of files() when it was opened.
  std::vector<FileStamp> stamps() const;

  // Asks the system to read the tensor's bytes ahead.
  void Prefetch(const TensorInfo& tensor) const;
  // Tells the system that the tensor's bytes will not be read again soon; they stay readable.
  void Release(const TensorInfo& tensor) const;

  // The text of the model folder's generation_config.json; empty when there is none.
  const std::string& generation_config() const { return generation_config_; }

 private:
  Checkpoint() = default;

  Status OpenFolder(const MapOptions& options);
  Status OpenShards(const std::string& index_path, const MapOptions& options);
  Status OpenGguf(const MapOptions& options);
  // Maps one more file and gives back its bytes.
  Result<std::span<const std::byte>> Map(const std::string& path, const MapOptions& options);
  Status AddSafetensors(const std::string& path, const MapOptions& options);
  Status AddGgufPart(const std::string& path, std::size_t num_parts, const MapOptions& options);
  // Fills by_name_; a name that two files hold is an error.
  Status IndexNames();

  CheckpointFormat format_ = CheckpointFormat::kSafetensors;
  std::string path_;
  std::vector<std::string> file_names_;
  std::vector<MappedFile> files_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys are of tensors_
  Json config_json_;
  std::optional<GgufHeader> gguf_;
  std::string generation_config_;
};

}  // namespace quire
