// Sockets that wait for clients.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace quire {

// Owns listening sockets, and the file of a UNIX one.
class Listener {
 public:
  // Every address that `host` means, all on one port; `port` 0: a free one. kInvalidArgument where
  // the host is none or the port is taken.
  static Result<Listener> OnTcp(const std::string& host, int port);
  // A socket file that only the user may connect to; a dead one of that name is replaced.
  static Result<Listener> OnUnix(const std::string& path);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { Close(); }

  const std::vector<int>& fds() const { return fds_; }
  int port() const { return port_; }                 // 0 of a UNIX socket
  const std::string& path() const { return path_; }  // empty of TCP

  // No more clients; those that wait to be accepted are cut off.
  void Close();

 private:
  Listener() = default;
  Status BindTcp(const std::string& host, int port);

  std::vector<int> fds_;
  int port_ = 0;
  std::string path_;
};

// Raises the process's limit of open files as far as it goes; the limit then.
long RaiseFileLimit();

// "127.0.0.1:5000", "[::1]:5000", "unix" of a connected socket's other end.
std::string PeerName(int fd);

}  // namespace quire
