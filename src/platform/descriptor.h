// A file descriptor with an owner, and what the system said.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "base/status.h"

namespace quire {

// Owns a file descriptor, or none (-1).
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// What the last system call said about `path`, as errno has it: "PATH: cannot ACTION: …", with the
// code that fits it.
Status SystemError(const std::string& path, std::string_view action);

}  // namespace quire
