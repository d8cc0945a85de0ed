#include "apps/quire/tensor_file.h"

#include <bit>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

namespace {

constexpr std::size_t kHeaderAlignment = 8;

// The length of the JSON as 8 bytes, and the JSON, filled up with blanks.
std::string MakeHeader(const std::vector<MatrixInfo>& matrices) {
  JsonObject entries;
  entries.reserve(matrices.size());
  std::int64_t offset = 0;
  for (const MatrixInfo& matrix : matrices) {
    const std::int64_t end =
        offset + matrix.rows * matrix.columns * static_cast<std::int64_t>(sizeof(float));
    entries.emplace_back(matrix.name, JsonObject{{"dtype", "F32"},
                                                 {"shape", JsonArray{matrix.rows, matrix.columns}},
                                                 {"data_offsets", JsonArray{offset, end}}});
    offset = end;
  }
  std::string text = Json(std::move(entries)).Dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace

TensorFileWriter::TensorFileWriter(const std::string& path, NewFile file)
    : file_(std::move(file)), out_(file_.fd(), Printable(path)) {}

Result<std::unique_ptr<TensorFileWriter>> TensorFileWriter::Create(
    const std::string& path, const std::vector<MatrixInfo>& matrices) {
  QUIRE_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path));
  std::unique_ptr<TensorFileWriter> writer(new TensorFileWriter(path, std::move(file)));
  QUIRE_RETURN_IF_ERROR(writer->out_.Write(MakeHeader(matrices)));
  return writer;
}

Status TensorFileWriter::WriteRow(std::span<const float> row) {
  return out_.Write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
}

Status TensorFileWriter::Commit() {
  QUIRE_RETURN_IF_ERROR(out_.Flush());
  return file_.Commit();
}

}  // namespace quire
