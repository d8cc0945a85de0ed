// Bytes in and out of the program, with their errors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace quire {

// Writes to a descriptor through a buffer of its own. After a failure every later call gives the
// same failure and writes nothing. Not flushed when destroyed: the caller wants to hear of errors.
class Writer {
 public:
  // `name` stands in messages ("standard output").
  Writer(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Status Write(std::string_view text);  // kept until there is a good deal of it, or Flush()
  Status WriteNow(std::string_view text);
  Status Flush();

 private:
  int fd_;
  std::string name_;
  std::string buffer_;
  Status status_;
};

// Before any file is opened: keeps the numbers of standard input, output and error from going to
// other files where the program was started without those. Reading and writing there still fails.
void HoldStandardFiles();

// Writes all of `text` to standard output.
Status PrintToStdout(std::string_view text);

// Lines of a descriptor, which stays open.
class LineReader {
 public:
  explicit LineReader(int fd, std::size_t max_line_bytes = std::size_t{256} << 20)
      : fd_(fd), max_line_bytes_(max_line_bytes) {}

  // The next line without its line feed (a carriage return before it stays); nullopt at the end.
  // kInvalidArgument for a line over the limit, kUnavailable where reading fails, kCancelled
  // without a message on Ctrl-C inside an InterruptScope.
  Result<std::optional<std::string>> Next();

  // Whether Next() has a line without reading.
  bool has_line() const { return buffer_.find('\n', scanned_) != std::string::npos; }

 private:
  bool TakeLine(std::string& line);

  int fd_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what is not given out yet
  std::size_t scanned_ = 0;  // no line feed in [begin_, scanned_)
  bool at_end_ = false;
};

// Of a prompt and its like, and of a text that is measured or tokenized.
inline constexpr std::size_t kMaxInputBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

// All of a file, or of standard input where `path` is "-", as it is.
Result<std::string> ReadInput(const std::string& path, std::size_t max_bytes = kMaxInputBytes);

// An opened file or standard input ("-"), closed when destroyed.
class InputFile {
 public:
  static Result<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();
  int fd() const { return fd_; }

 private:
  explicit InputFile(int fd) : fd_(fd) {}
  int fd_;
};

// What errno says, in words.
std::string ErrnoText(int error);

}  // namespace quire
