// Writes a safetensors file of f32 matrices row by row, without holding them in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/quire/io.h"
#include "base/status.h"
#include "platform/mapped_file.h"

namespace quire {

struct MatrixInfo {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The file has its name only once it is whole, as NewFile says; what is no regular file is written
// to as it is.
class TensorFileWriter {
 public:
  // Writes the header for `matrices`, whose rows must then follow in the same order.
  // kNotFound or kInvalidArgument where the file cannot be made.
  static Result<std::unique_ptr<TensorFileWriter>> Create(const std::string& path,
                                                          const std::vector<MatrixInfo>& matrices);
  TensorFileWriter(const TensorFileWriter&) = delete;
  TensorFileWriter& operator=(const TensorFileWriter&) = delete;

  Status WriteRow(std::span<const float> row);
  // All rows are there: puts the file in its place.
  Status Commit();

 private:
  TensorFileWriter(const std::string& path, NewFile file);

  NewFile file_;
  Writer out_;
};

}  // namespace quire
