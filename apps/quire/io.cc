#include "apps/quire/io.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/quire/interrupt.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 16;
constexpr std::size_t kReadBytes = std::size_t{1} << 16;

// Reads once into the end of `buffer`; 0 at the end of the file, -1 with errno on failure.
ssize_t ReadSome(int fd, std::string& buffer) {
  const std::size_t old = buffer.size();
  buffer.resize(old + kReadBytes);
  const ssize_t n = read(fd, buffer.data() + old, kReadBytes);
  buffer.resize(old + static_cast<std::size_t>(n > 0 ? n : 0));
  return n;
}

}  // namespace

std::string ErrnoText(int error) {
  char text[128] = "";
  return strerror_r(error, text, sizeof text);  // the GNU form: returns the text
}

void HoldStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is given: this one.
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

Status Writer::Write(std::string_view text) {
  if (!status_.ok()) return status_;
  buffer_ += text;
  return buffer_.size() >= kFlushBytes ? Flush() : Status();
}

Status Writer::WriteNow(std::string_view text) {
  QUIRE_RETURN_IF_ERROR(Write(text));
  return Flush();
}

Status Writer::Flush() {
  std::string_view rest = buffer_;
  while (status_.ok() && !rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // a reader that made the pipe non-blocking
      pollfd wait{.fd = fd_, .events = POLLOUT, .revents = 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      status_ =
          Status(Code::kUnavailable, StrCat("cannot write to ", name_, ": ", ErrnoText(errno)));
    }
  }
  buffer_.clear();
  return status_;
}

Status PrintToStdout(std::string_view text) {
  return Writer(STDOUT_FILENO, "standard output").WriteNow(text);
}

bool LineReader::TakeLine(std::string& line) {
  const std::size_t at = buffer_.find('\n', scanned_);
  if (at == std::string::npos) {
    scanned_ = buffer_.size();
    return false;
  }
  line.assign(buffer_, begin_, at - begin_);
  begin_ = at + 1;
  scanned_ = begin_;
  return true;
}

Result<std::optional<std::string>> LineReader::Next() {
  std::string line;
  for (;;) {
    if (TakeLine(line)) return std::optional(std::move(line));
    if (at_end_) break;
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    if (buffer_.size() > max_line_bytes_) {
      return InvalidArgument(StrCat("a line is longer than ", max_line_bytes_, " bytes"));
    }
    const ssize_t n = ReadSome(fd_, buffer_);
    if (n < 0 && errno == EINTR) {
      if (IsInterrupted()) return Status(Code::kCancelled, "");
      continue;
    }
    if (n < 0) {
      return Status(Code::kUnavailable, StrCat("cannot read the input: ", ErrnoText(errno)));
    }
    at_end_ = n == 0;
  }
  if (begin_ == buffer_.size()) return std::optional<std::string>();
  line.assign(buffer_, begin_);
  begin_ = scanned_ = buffer_.size();
  return std::optional(std::move(line));
}

Result<InputFile> InputFile::Open(const std::string& path) {
  if (path == "-") return InputFile(STDIN_FILENO);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NotFound(StrCat("cannot open ", Printable(path), ": ", ErrnoText(errno)));
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(fd);
    return InvalidArgument(StrCat(Printable(path), " is a folder, a file was wanted"));
  }
  return InputFile(fd);
}

InputFile::~InputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

Result<std::string> ReadInput(const std::string& path, std::size_t max_bytes) {
  QUIRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string text;
  for (;;) {
    const ssize_t n = ReadSome(file.fd(), text);
    if (n == 0) return text;
    if (n < 0 && errno != EINTR) {
      return Status(Code::kUnavailable,
                    StrCat("cannot read ", Printable(path), ": ", ErrnoText(errno)));
    }
    if (text.size() > max_bytes) {
      return InvalidArgument(StrCat(path == "-" ? "standard input" : Printable(path),
                                    " is longer than ", max_bytes >> 20,
                                    " MiB, the most that is taken here"));
    }
  }
}

}  // namespace quire
