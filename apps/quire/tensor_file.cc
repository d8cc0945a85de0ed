#include "apps/quire/tensor_file.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

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

TensorFileWriter::TensorFileWriter(std::string path, std::string temporary, int fd)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      fd_(fd),
      out_(fd, Printable(path_)) {}

TensorFileWriter::~TensorFileWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

Result<std::unique_ptr<TensorFileWriter>> TensorFileWriter::Create(
    const std::string& path, const std::vector<MatrixInfo>& matrices) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return InvalidArgument(StrCat("cannot make ", Printable(path), ": it is a folder"));
  }
  std::string temporary = StrCat(path, ".", getpid(), ".tmp");
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return InvalidArgument(StrCat("cannot make ", Printable(path), ": ", ErrnoText(errno)));
  }
  std::unique_ptr<TensorFileWriter> writer(new TensorFileWriter(path, std::move(temporary), fd));
  QUIRE_RETURN_IF_ERROR(writer->out_.Write(MakeHeader(matrices)));
  return writer;
}

Status TensorFileWriter::WriteRow(std::span<const float> row) {
  return out_.Write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
}

Status TensorFileWriter::Commit() {
  QUIRE_RETURN_IF_ERROR(out_.Flush());
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    return Status(Code::kUnavailable,
                  StrCat("cannot write to ", Printable(path_), ": ", ErrnoText(error)));
  }
  return {};
}

}  // namespace quire
