#include "server/http_server.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "server/http_transport.h"

namespace quire {

namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadBuffer = std::size_t{64} << 10;
// What the system keeps for a client that does not read; by itself it would go up to megabytes.
constexpr int kSystemSendBuffer = 128 << 10;
constexpr int kAcceptsAtOnce = 64;  // before other work has its turn
// Deadlines are kept to this grain, so that a timer does not fire for each connection by itself.
constexpr std::chrono::milliseconds kGrain{100};
constexpr std::chrono::milliseconds kRestWithoutFiles{100};

// One thread and the connections that it alone touches.
class IoThread {
 public:
  explicit IoThread(HttpService& service)
      : service_(service),
        timer_(io_),
        buffer_(kReadBuffer),
        context_{io_, buffer_, [this](HttpConnection& connection) { After(connection); }},
        outbox_(std::make_shared<HttpOutbox>([this] { asio::post(io_, [this] { Drain(); }); })),
        work_(io_.get_executor()) {}
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  ~IoThread() { Stop(); }

  // Closes every connection and ends the thread. Other threads of the server may still run.
  void Stop() {
    outbox_->Close();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    for (const std::shared_ptr<HttpConnection>& connection : connections_) connection->Close();
    connections_.clear();
  }

  void Start() {
    thread_ = std::jthread([this] { Run(); });
  }

  asio::io_context& io() { return io_; }

  // Any thread. Takes over `fd`; `refusal` other than 0 is all that it hears.
  void Adopt(int fd, TlsContext tls, int refusal) {
    asio::post(io_, [this, fd, tls = std::move(tls), refusal] { Add(fd, tls.get(), refusal); });
  }

  // Any thread.
  template <typename Action>
  void ForEach(Action action) {
    asio::post(io_, [this, action = std::move(action)] {
      // An action may remove its connection from the set.
      const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(),
                                                             connections_.end());
      for (const std::shared_ptr<HttpConnection>& connection : all) {
        action(*connection);
        After(*connection);
      }
    });
  }

 private:
  void Run() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        QUIRE_LOG(kError) << "serving connections: " << error.what();
      }
    }
  }

  void Add(int fd, ssl_ctx_st* tls, int refusal) {
    std::unique_ptr<HttpSocket> socket = MakeHttpSocket(context_, fd, tls);
    HttpSocket& transport = *socket;
    const auto connection =
        std::make_shared<HttpConnection>(service_, outbox_, std::move(socket), PeerName(fd));
    transport.Bind(connection);
    connections_.insert(connection);
    if (refusal != 0 && tls == nullptr) {
      connection->Refuse(refusal, "the server has too many connections");
    } else if (refusal != 0) {
      connection->Close();
    } else {
      connection->Start();
    }
    After(*connection);
  }

  void Drain() {
    outbox_->TakeAll(waiting_);
    for (const std::shared_ptr<HttpExchange>& exchange : waiting_) {
      const std::shared_ptr<HttpConnection> connection = exchange->connection().lock();
      if (connection == nullptr) continue;
      connection->Flush();
      After(*connection);
    }
    waiting_.clear();
  }

  // Whatever happened may have closed the connection or brought its deadline nearer.
  void After(HttpConnection& connection) {
    if (connection.is_closed()) {
      connections_.erase(connection.shared_from_this());
    } else if (connection.deadline() < next_look_) {
      Arm(connection.deadline());
    }
  }

  void Arm(HttpClock::time_point when) {
    next_look_ = when + kGrain;
    timer_.expires_at(next_look_);
    timer_.async_wait([this](const ErrorCode& error) {
      if (!error) Look();
    });
  }

  // Ends what is overdue and finds the next deadline.
  void Look() {
    const HttpClock::time_point now = HttpClock::now();
    next_look_ = HttpClock::time_point::max();
    std::vector<std::shared_ptr<HttpConnection>> due;
    HttpClock::time_point next = next_look_;
    for (const std::shared_ptr<HttpConnection>& connection : connections_) {
      if (connection->deadline() <= now) {
        due.push_back(connection);
      } else {
        next = std::min(next, connection->deadline());
      }
    }
    if (next != HttpClock::time_point::max()) Arm(next);
    for (const std::shared_ptr<HttpConnection>& connection : due) {
      connection->OnTime(now);
      After(*connection);
    }
  }

  HttpService& service_;
  asio::io_context io_{1};
  asio::steady_timer timer_;
  std::vector<char> buffer_;
  HttpTransportContext context_;
  const std::shared_ptr<HttpOutbox> outbox_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  std::vector<std::shared_ptr<HttpExchange>> waiting_;
  HttpClock::time_point next_look_ = HttpClock::time_point::max();
  std::jthread thread_;
};

// Lets clients in and deals them out to the threads.
class Acceptor {
 public:
  using Admit = std::function<void(int fd)>;
  Acceptor(asio::io_context& io, int fd, Admit admit)
      : socket_(io, dup(fd)), rest_(io), admit_(std::move(admit)) {
    Wait();
  }

  void Close() {
    ErrorCode ignored;
    socket_.close(ignored);
    rest_.cancel();
  }

 private:
  void Wait() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const ErrorCode& error) {
      if (!error) AcceptSome();
    });
  }

  void AcceptSome() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int fd =
          accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        admit_(fd);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return Rest();
      } else if (errno != ECONNABORTED && errno != EINTR) {
        break;
      }
    }
    Wait();
  }

  // The client would wake this thread again at once while nothing can be done for it.
  void Rest() {
    QUIRE_LOG(kWarning) << "no client can be let in: out of file descriptors or memory";
    rest_.expires_after(kRestWithoutFiles);
    rest_.async_wait([this](const ErrorCode& error) {
      if (!error) Wait();
    });
  }

  asio::posix::stream_descriptor socket_;
  asio::steady_timer rest_;
  const Admit admit_;
};

}  // namespace

struct HttpServer::State {
  State(Listener taken, HttpService& shared, const Options& given)
      : listener(std::move(taken)), service(shared), options(given), tls(given.tls) {}
  void Admit(int fd);

  Listener listener;
  HttpService& service;
  const Options options;
  Mutex mutex;
  TlsContext tls QUIRE_GUARDED_BY(mutex);
  std::size_t next = 0;  // of the first thread alone, as the acceptors are
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::vector<std::unique_ptr<IoThread>> threads;
};

void HttpServer::State::Admit(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails where there is no TCP
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSystemSendBuffer, sizeof kSystemSendBuffer);
  const bool is_full =
      options.max_connections > 0 &&
      service.num_connections.load(std::memory_order_relaxed) >= options.max_connections;
  TlsContext current;
  {
    MutexLock lock(mutex);
    current = tls;
  }
  threads[next++ % threads.size()]->Adopt(fd, std::move(current), is_full ? 503 : 0);
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  // The acceptors live on the first thread and hand connections to the others.
  for (const std::unique_ptr<IoThread>& thread : state_->threads) thread->Stop();
  state_->acceptors.clear();
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(Listener listener, HttpService& service,
                                                      const Options& options) {
  auto state = std::make_unique<State>(std::move(listener), service, options);
  try {
    for (int i = 0; i < std::max(1, options.num_threads); ++i) {
      state->threads.push_back(std::make_unique<IoThread>(service));
    }
    for (const int fd : state->listener.fds()) {
      state->acceptors.push_back(std::make_unique<Acceptor>(
          state->threads[0]->io(), fd, [raw = state.get()](int client) { raw->Admit(client); }));
    }
  } catch (const std::exception& error) {
    return ResourceExhausted(StrCat("starting the HTTP server: ", error.what()));
  }
  for (const std::unique_ptr<IoThread>& thread : state->threads) thread->Start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

int HttpServer::port() const { return state_->listener.port(); }

void HttpServer::SetTls(TlsContext tls) {
  MutexLock lock(state_->mutex);
  state_->tls = std::move(tls);
}

void HttpServer::CloseIdle() {
  state_->service.is_closing.store(true, std::memory_order_relaxed);
  asio::post(state_->threads[0]->io(), [state = state_.get()] {
    for (const std::unique_ptr<Acceptor>& acceptor : state->acceptors) acceptor->Close();
  });
  for (const std::unique_ptr<IoThread>& thread : state_->threads) {
    thread->ForEach([](HttpConnection& connection) { connection.CloseWhenIdle(); });
  }
}

void HttpServer::EndRequests(int http_status, const std::string& message) {
  for (const std::unique_ptr<IoThread>& thread : state_->threads) {
    thread->ForEach([http_status, message](HttpConnection& connection) {
      connection.EndRequest(http_status, message);
    });
  }
}

}  // namespace quire
