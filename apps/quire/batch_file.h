// OpenAI's batch files: requests in, one JSON object a line, and answers out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/quire/io.h"
#include "base/status.h"
#include "server/http.h"

namespace quire {

// A line of the input: {"custom_id", "method", "url", "body"}.
struct BatchLine {
  std::int64_t number = 0;  // from 1
  std::string custom_id;    // empty where the line is of no use; "" otherwise counts as an id, too
  std::string url;          // "/v1/chat/completions"
  std::string body;         // JSON
  Status fault;             // why the line cannot be asked
};

// What is in the line of that number. Everything that is wrong is in `fault`.
BatchLine ReadBatchLine(std::int64_t number, std::string_view text);

// The answer to a line, as a line with its line feed: {"id", "custom_id", "response":
// {"status_code", "request_id", "body"}, "error"}. For a line with a fault `response` is null.
std::string WriteBatchLine(const BatchLine& line, const HttpResponse& response);

// The file of answers. Lines that an earlier run wrote whole stay; the beginning of one that a
// kill cut off is taken away.
class BatchOutput {
 public:
  // Opens or makes it. kFailedPrecondition where another process writes it;
  // kInvalidArgument where it holds what is no answer of a batch.
  static Result<std::unique_ptr<BatchOutput>> Open(const std::string& path);
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;
  ~BatchOutput();

  // Whether an earlier run has answered the line. Each answer counts for one line of its id; ask
  // once a line, in order.
  bool TakeDone(const BatchLine& line);

  // Appends the line in one write and hands it to the system.
  Status Append(const std::string& line);

  // Waits until what was written is on the disk.
  Status Sync();

 private:
  BatchOutput(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status ReadDone();

  int fd_;
  std::string path_;
  std::map<std::string, std::int64_t, std::less<>> num_done_;  // by custom_id
  std::int64_t num_faults_done_ = 0;                           // lines without an id
};

}  // namespace quire
