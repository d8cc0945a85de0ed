// The requests of a batch on their way through the server's routes, without a socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/quire/batch_file.h"
#include "apps/quire/io.h"
#include "apps/quire/terminal.h"
#include "base/status.h"
#include "server/http.h"

namespace quire {

// What the run tells of the engine while it shows its progress.
struct BatchSpeed {
  std::int64_t num_tokens = 0;  // generated so far
  std::int64_t num_running = 0;
};

// One thread calls it; the routes answer on theirs.
class BatchRun {
 public:
  struct Options {
    std::size_t max_live = 256;             // requests under way at once
    std::optional<std::int64_t> num_lines;  // of the input, where that is known
    bool quiet = false;
    std::function<BatchSpeed()> speed;
  };

  // Both outlive this; `routes` answer as the server's do.
  BatchRun(const std::vector<Route>& routes, BatchOutput& output, Options options);
  ~BatchRun();

  // Asks every line of `reader` that `output` has no answer for. kCancelled on Ctrl-C: what is
  // under way is given up, and a later run does it. Answers that are errors are no failure.
  Status Run(LineReader& reader);

  // "12 requests answered, 1 of them with an error; 3 were done before; 340 tokens, 56.0 tokens/s"
  std::string Summary() const;
  std::int64_t num_failed() const { return num_failed_; }

 private:
  class Mailbox;
  class Reply;
  struct Live {
    BatchLine line;
    std::weak_ptr<Reply> reply;  // the route holds it until it has answered
  };

  Status ReadMore(LineReader& reader);
  void Ask(BatchLine line);
  Status TakeAnswers();
  Status Write(const BatchLine& line, const HttpResponse& response);
  void GiveUp();
  void ShowProgress();

  const std::vector<Route>& routes_;
  BatchOutput& output_;
  Options options_;
  std::shared_ptr<Mailbox> mailbox_;
  std::map<std::int64_t, Live> live_;  // by the line's number
  std::deque<BatchLine> again_;        // refused for a while only
  bool at_end_ = false;
  std::int64_t num_read_ = 0;  // lines of any kind
  std::int64_t num_written_ = 0;
  std::int64_t num_failed_ = 0;
  std::int64_t num_done_before_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_sync_;
  ProgressLine progress_;
};

}  // namespace quire
