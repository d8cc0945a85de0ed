// What the server costs without a model: requests and streamed tokens a second over many
// connections, the time of /health beside them, the memory of idle connections. Server and client
// share the machine's cores; each is a process, and the processor time of both is told.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/percentile.h"
#include "base/strings.h"
#include "server/listener.h"
#include "tests/stress/null_server.h"

namespace quire {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Settings {
  double seconds = 5;
  int connections = 256;
  int idle = 10'000;
  int tokens = 1000;     // of a streamed answer
  int port = 0;          // of a server that runs already; 0: one over the null device
  pid_t server_pid = 0;  // of that server, for its processor time and memory
  std::string model = "null";
  bool is_json = false;  // an object a line in place of text
};

// Processor time of a process in seconds, and its resident memory in bytes.
double CpuSeconds(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string_view> fields = Split(line.substr(line.rfind(')') + 2), ' ');
  if (fields.size() < 13) return 0;
  const auto ticks =
      ParseNumber<double>(fields[11]).value_or(0) + ParseNumber<double>(fields[12]).value_or(0);
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double ResidentBytes(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/statm"));
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

int Connect(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

std::string Request(const std::string& model, int max_tokens, bool is_stream) {
  const std::string body =
      StrCat(R"({"model":")", model, R"(","prompt":"hello","ignore_eos":true,"max_tokens":)",
             max_tokens, is_stream ? R"(,"stream":true})" : "}");
  return StrCat("POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n",
                "Content-Length: ", body.size(), "\r\n\r\n", body);
}

// One connection that asks again as soon as it has its answer.
struct Caller {
  int fd = -1;
  Clock::time_point asked;
  std::string tail;  // the end of what came, enough to see where an answer ends
};

// Answers are over where `end` is the last that came.
struct Load {
  std::string request;
  std::string end;
  std::string unit;  // counted in what comes
};

struct Outcome {
  double seconds = 0;
  std::int64_t num_answers = 0;
  std::int64_t num_units = 0;
  std::int64_t num_bytes = 0;
  std::int64_t num_reconnects = 0;  // after the server closed a connection
  std::vector<double> latencies_ms;
};

std::int64_t CountOf(std::string_view text, std::string_view unit) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(unit); at != std::string_view::npos;
       at = text.find(unit, at + unit.size())) {
    ++count;
  }
  return count;
}

void Ask(Caller& caller, const Load& load) {
  caller.asked = Clock::now();
  caller.tail.clear();
  if (send(caller.fd, load.request.data(), load.request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(load.request.size())) {
    std::perror("send");
  }
}

// False once the server has closed the connection.
bool Hear(Caller& caller, const Load& load, std::vector<char>& buffer, Outcome& outcome) {
  const ssize_t size = recv(caller.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) return size < 0 && errno == EAGAIN;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  outcome.num_bytes += size;
  const std::size_t kept = caller.tail.size();
  caller.tail += bytes;
  // A unit cut in two is found with the tail, and none is counted twice.
  const std::string_view fresh =
      std::string_view(caller.tail)
          .substr(kept > load.unit.size() ? kept - load.unit.size() + 1 : 0);
  outcome.num_units += CountOf(fresh, load.unit);
  const bool is_over = caller.tail.ends_with(load.end);
  constexpr std::size_t kTail = 64;
  if (caller.tail.size() > kTail) caller.tail.erase(0, caller.tail.size() - kTail);
  if (!is_over) return true;
  ++outcome.num_answers;
  outcome.latencies_ms.push_back(Seconds(Clock::now() - caller.asked).count() * 1000);
  Ask(caller, load);
  return true;
}

// Connects as caller number `index`, heard of through `epoll`, and asks.
void Begin(const Settings& settings, const Load& load, int epoll, std::size_t index,
           Caller& caller) {
  if (caller.fd >= 0) close(caller.fd);
  caller.fd = Connect(settings.port);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, caller.fd, &event);
  Ask(caller, load);
}

Outcome Run(const Settings& settings, const Load& load) {
  std::vector<Caller> callers(static_cast<std::size_t>(settings.connections));
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < callers.size(); ++i) Begin(settings, load, epoll, i, callers[i]);
  Outcome outcome;
  std::vector<char> buffer(std::size_t{256} << 10);
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end =
      begin + std::chrono::duration_cast<Clock::duration>(Seconds(settings.seconds));
  std::array<epoll_event, 256> events;
  while (Clock::now() < end) {
    const int num_ready = epoll_wait(epoll, events.data(), events.size(), 100);
    for (int i = 0; i < num_ready; ++i) {
      const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
      if (Hear(callers[index], load, buffer, outcome)) continue;
      ++outcome.num_reconnects;
      Begin(settings, load, epoll, index, callers[index]);
    }
  }
  outcome.seconds = Seconds(Clock::now() - begin).count();
  for (const Caller& caller : callers) close(caller.fd);
  close(epoll);
  return outcome;
}

// Asks /health again and again until told to stop.
std::vector<double> ProbeHealth(int port, const std::stop_token& stop) {
  constexpr std::string_view kRequest = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<double> times_ms;
  int fd = Connect(port);
  char bytes[4096];
  while (!stop.stop_requested()) {
    const Clock::time_point asked = Clock::now();
    const bool is_sent = send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0;
    if (!is_sent || recv(fd, bytes, sizeof bytes, 0) <= 0) {
      close(fd);  // some servers end a connection after so many requests
      fd = Connect(port);
      continue;
    }
    times_ms.push_back(Seconds(Clock::now() - asked).count() * 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  close(fd);
  return times_ms;
}

// Runs `load` with a probe of /health beside it and tells both in one line.
void Measure(const char* name, const Settings& settings, const Load& load) {
  std::vector<double> health_ms;
  Outcome outcome;
  const double server_before = CpuSeconds(settings.server_pid);
  const double client_before = CpuSeconds(getpid());
  {
    std::jthread probe(
        [&](const std::stop_token& stop) { health_ms = ProbeHealth(settings.port, stop); });
    outcome = Run(settings, load);
  }
  const double server = (CpuSeconds(settings.server_pid) - server_before) / outcome.seconds;
  const double client = (CpuSeconds(getpid()) - client_before) / outcome.seconds;
  if (settings.is_json) {
    std::printf(
        R"({"what":"%s","answers_per_s":%.1f,"tokens_per_s":%.1f,"answer_p50_ms":%.2f,)"
        R"("answer_p99_ms":%.2f,"health_p50_ms":%.2f,"health_p99_ms":%.2f,"num_health":%zu,)"
        R"("num_reconnects":%lld,"server_cores":%.3f,"client_cores":%.3f})"
        "\n",
        name, static_cast<double>(outcome.num_answers) / outcome.seconds,
        static_cast<double>(outcome.num_units) / outcome.seconds,
        Percentile(outcome.latencies_ms, 50), Percentile(outcome.latencies_ms, 99),
        Percentile(health_ms, 50), Percentile(health_ms, 99), health_ms.size(),
        static_cast<long long>(outcome.num_reconnects), server, client);
    std::fflush(stdout);
    return;
  }
  std::printf(
      "%-10s %9.0f answers/s %9.0f tokens/s %6.1f MB/s | answer p50 %.1f p99 %.1f ms | /health p50 "
      "%.2f p99 %.2f ms of %zu | cores: server %.2f client %.2f\n",
      name, static_cast<double>(outcome.num_answers) / outcome.seconds,
      static_cast<double>(outcome.num_units) / outcome.seconds,
      static_cast<double>(outcome.num_bytes) / outcome.seconds / 1e6,
      Percentile(outcome.latencies_ms, 50), Percentile(outcome.latencies_ms, 99),
      Percentile(health_ms, 50), Percentile(health_ms, 99), health_ms.size(), server, client);
  std::fflush(stdout);
}

void MeasureIdle(const Settings& settings) {
  const double before = ResidentBytes(settings.server_pid);
  std::vector<int> fds;
  for (int i = 0; i < settings.idle; ++i) fds.push_back(Connect(settings.port));
  // Each has had an answer, so that what a connection keeps between requests counts.
  constexpr std::string_view kRequest = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
  constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};  // a server may hold only some at once
  char bytes[4096];
  int num_answered = 0;
  for (const int fd : fds) {
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    if (send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) <= 0) continue;
    if (recv(fd, bytes, sizeof bytes, 0) <= 0) break;
    ++num_answered;
  }
  const double after = ResidentBytes(settings.server_pid);
  const double cpu = CpuSeconds(settings.server_pid);
  constexpr std::chrono::seconds kIdleTime{2};
  std::this_thread::sleep_for(kIdleTime);
  const double cores = (CpuSeconds(settings.server_pid) - cpu) / 2;
  if (settings.is_json) {
    std::printf(
        R"({"what":"idle","connections":%d,"answered":%d,"server_mb":%.1f,"kb_each":%.1f,"cores":%.3f})"
        "\n",
        settings.idle, num_answered, after / 1e6,
        (after - before) / 1e3 / std::max(1, settings.idle), cores);
  } else {
    std::printf("%-10s %d connections, %d answered: server %.1f MB, %.1f kB each | cores %.3f\n",
                "idle", settings.idle, num_answered, after / 1e6,
                (after - before) / 1e3 / std::max(1, settings.idle), cores);
  }
  for (const int fd : fds) close(fd);
}

// The server in a process of its own, which ends with this one.
pid_t StartServer(int& port) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) std::exit(1);
  const pid_t pid = fork();
  if (pid != 0) {
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &port, sizeof port) != sizeof port) std::exit(1);
    close(pipe_fds[0]);
    return pid;
  }
  close(pipe_fds[0]);
  NullServerOptions options;
  options.server.listen.port = 0;
  options.max_num_seqs = 1024;
  options.num_blocks = 32768;
  auto server = NullServer::Start(options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().message().c_str());
    std::exit(1);
  }
  const int bound = (*server)->port();
  if (write(pipe_fds[1], &bound, sizeof bound) != sizeof bound) std::exit(1);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  int signal = 0;
  sigwait(&set, &signal);
  std::_Exit(0);
}

double Value(std::string_view text) { return ParseNumber<double>(text).value_or(0); }

Settings ReadSettings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const double value = Value(argv[i + 1]);
    if (name == "--seconds") settings.seconds = value;
    if (name == "--connections") settings.connections = static_cast<int>(value);
    if (name == "--idle") settings.idle = static_cast<int>(value);
    if (name == "--tokens") settings.tokens = static_cast<int>(value);
    if (name == "--port") settings.port = static_cast<int>(value);
    if (name == "--pid") settings.server_pid = static_cast<pid_t>(value);
    if (name == "--model") settings.model = argv[i + 1];
    if (name == "--json") settings.is_json = value != 0;
  }
  return settings;
}

int Main(int argc, char** argv) {
  Settings settings = ReadSettings(argc, argv);
  RaiseFileLimit();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  const bool starts_server = settings.port == 0;
  if (starts_server) {
    sigprocmask(SIG_BLOCK, &set, nullptr);  // for the child, which waits for it
    settings.server_pid = StartServer(settings.port);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
  }
  Measure("one token", settings, {Request(settings.model, 1, false), "}", "\"finish_reason\":"});
  Measure("streams", settings,
          {Request(settings.model, settings.tokens, true), "0\r\n\r\n", "\"text\":"});
  MeasureIdle(settings);
  if (starts_server) {
    kill(settings.server_pid, SIGTERM);
    waitpid(settings.server_pid, nullptr, 0);
  }
  return 0;
}

}  // namespace
}  // namespace quire

int main(int argc, char** argv) { return quire::Main(argc, argv); }
