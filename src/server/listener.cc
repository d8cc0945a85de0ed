#include "server/listener.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {

namespace {

constexpr int kBacklog = 4096;  // the system cuts it to its own limit

std::string ErrorText(int error) { return std::generic_category().message(error); }

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const std::string service = StrCat(port);
  const int error =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &list);
  if (error != 0) {
    return InvalidArgument(StrCat("--host: ", Printable(host), ": ", gai_strerror(error)));
  }
  return Addresses(list);
}

int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

// A listening socket on `address`; its error number, negated, where there is none.
int Listen(const sockaddr* address, socklen_t size) {
  const int family = address->sa_family;
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const int on = 1;
  if (family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd, address, size) != 0 || listen(fd, kBacklog) != 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

// Whether `address` is a socket file on which nobody answers. Connecting to any other file is
// refused as well.
bool IsDead(const sockaddr_un& address) {
  struct stat file {};
  if (lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool is_refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  close(fd);
  return is_refused;
}

}  // namespace

Listener::Listener(Listener&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      port_(other.port_),
      path_(std::exchange(other.path_, {})) {}

void Listener::Close() {
  for (const int fd : fds_) close(fd);
  fds_.clear();
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

Result<Listener> Listener::OnTcp(const std::string& host, int port) {
  if (port < 0 || port > 65535) {
    return InvalidArgument(StrCat("--port: must be 0 to 65535, got ", port));
  }
  Listener listener;
  QUIRE_RETURN_IF_ERROR(listener.BindTcp(host, port));
  return listener;
}

Status Listener::BindTcp(const std::string& host, int port) {
  QUIRE_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port));
  int first_error = 0;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, each->ai_addr, each->ai_addrlen);
    if (port_ != 0 && address.ss_family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<std::uint16_t>(port_));
    } else if (port_ != 0) {
      reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(static_cast<std::uint16_t>(port_));
    }
    const int fd = Listen(reinterpret_cast<const sockaddr*>(&address), each->ai_addrlen);
    if (fd < 0) {
      if (first_error == 0) first_error = -fd;
      continue;
    }
    fds_.push_back(fd);
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      port_ = PortOf(address);
    }
  }
  // A machine without IPv6 cannot have the second address of "localhost"; a taken port is a fault.
  if (fds_.empty() || first_error == EADDRINUSE) {
    return InvalidArgument(StrCat("cannot listen on ", host.empty() ? "all addresses" : host,
                                  " port ", port, ": ", ErrorText(first_error)));
  }
  return {};
}

Result<Listener> Listener::OnUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return InvalidArgument(StrCat("--uds: a path of 1 to ", sizeof address.sun_path - 1,
                                  " bytes is wanted, got ", path.size()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (IsDead(address)) unlink(path.c_str());
  const mode_t old_mask = umask(0177);
  const int fd = Listen(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(old_mask);
  if (fd < 0) {
    return InvalidArgument(StrCat("--uds: ", Printable(path), ": ", ErrorText(-fd)));
  }
  Listener listener;
  listener.fds_.push_back(fd);
  listener.path_ = path;
  return listener;
}

long RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  return static_cast<long>(limit.rlim_cur);
}

std::string PeerName(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  if (address.ss_family == AF_UNIX) return "unix";
  char host[64];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "?";
  }
  const bool is_v6 = address.ss_family == AF_INET6;
  return StrCat(is_v6 ? "[" : "", static_cast<const char*>(host), is_v6 ? "]:" : ":",
                PortOf(address));
}

}  // namespace quire
