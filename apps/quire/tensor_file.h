// Writes a safetensors file of f32 matrices row by row, without holding them in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/quire/io.h"
#include "base/status.h"

namespace quire {

struct MatrixInfo {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The file has its name only once it is whole: until Commit() it is a temporary one beside it,
// which goes away with the writer.
class TensorFileWriter {
 public:
  // Writes the header for `matrices`, whose rows must then follow in the same order.
  // kInvalidArgument where the file cannot be made.
  static Result<std::unique_ptr<TensorFileWriter>> Create(const std::string& path,
                                                          const std::vector<MatrixInfo>& matrices);
  TensorFileWriter(const TensorFileWriter&) = delete;
  TensorFileWriter& operator=(const TensorFileWriter&) = delete;
  ~TensorFileWriter();

  Status WriteRow(std::span<const float> row);
  // All rows are there: puts the file in its place.
  Status Commit();

 private:
  TensorFileWriter(std::string path, std::string temporary, int fd);

  std::string path_;
  std::string temporary_;
  int fd_;
  Writer out_;
};

}  // namespace quire
