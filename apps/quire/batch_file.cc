#include "apps/quire/batch_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/quire/json_lines.h"
#include "base/strings.h"
#include "formats/json.h"

namespace quire {

namespace {

constexpr std::size_t kMaxIdBytes = 512;

constexpr std::array<std::string_view, 3> kUrls = {"/v1/chat/completions", "/v1/completions",
                                                   "/v1/responses"};

Status CheckUrl(std::string_view url) {
  if (std::find(kUrls.begin(), kUrls.end(), url) != kUrls.end()) return {};
  return InvalidArgument(
      StrCat("url: must be one of ", Join(kUrls, ", "), ", got \"", Printable(url), "\""));
}

Status TakeMembers(const Json& json, BatchLine& line) {
  if (!json.is_object()) return InvalidArgument(StrCat("must be an object, got ", json.kind()));
  QUIRE_ASSIGN_OR_RETURN(line.custom_id, RequireString(json, "custom_id"));
  if (line.custom_id.empty() || line.custom_id.size() > kMaxIdBytes) {
    line.custom_id.clear();
    return InvalidArgument(StrCat("custom_id: must have 1 to ", kMaxIdBytes, " bytes"));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string method, RequireString(json, "method"));
  if (method != "POST") {
    return InvalidArgument(StrCat("method: must be POST, got \"", Printable(method), "\""));
  }
  QUIRE_ASSIGN_OR_RETURN(line.url, RequireString(json, "url"));
  QUIRE_RETURN_IF_ERROR(CheckUrl(line.url));
  const Json* body = json.Find("body");
  if (body == nullptr || !body->is_object()) {
    return InvalidArgument(
        StrCat("body: must be an object, got ", body == nullptr ? "none" : body->kind()));
  }
  const Json* stream = body->Find("stream");
  if (stream != nullptr && *stream == Json(true)) {
    return InvalidArgument("body: stream: must not be true in a batch");
  }
  line.body = body->Dump();
  return {};
}

Status ErrnoStatus(std::string_view doing, const std::string& path) {
  const int error = errno;
  return Status(Code::kUnavailable, StrCat(doing, " ", Printable(path), ": ", ErrnoText(error)));
}

}  // namespace

BatchLine ReadBatchLine(std::int64_t number, std::string_view text) {
  BatchLine line;
  line.number = number;
  const Result<Json> json = ParseJsonLine(text, number);
  if (!json.ok()) {
    line.fault = json.status();
  } else if (const Status taken = TakeMembers(*json, line); !taken.ok()) {
    line.fault = taken.With(StrCat("line ", number));
  }
  return line;
}

std::string WriteBatchLine(const BatchLine& line, const HttpResponse& response) {
  Json out(JsonObject{{"id", StrCat("batch_req_", line.number)},
                      {"custom_id", line.custom_id.empty() ? Json() : Json(line.custom_id)},
                      {"response", Json()},
                      {"error", Json()}});
  if (!line.fault.ok()) {
    out["error"] =
        Json(JsonObject{{"code", "invalid_line"}, {"message", ToValidUtf8(line.fault.message())}});
    return out.Dump() + "\n";
  }
  Result<Json> body = ParseJson(response.body);
  out["response"] =
      Json(JsonObject{{"status_code", response.status},
                      {"request_id", StrCat("batch-", line.number)},
                      {"body", body.ok() ? *body : Json(ToValidUtf8(response.body))}});
  if (response.status == 200) return out.Dump() + "\n";
  const Json* error = body.ok() ? body->Find("error") : nullptr;
  const Json* message = error == nullptr ? nullptr : error->Find("message");
  out["error"] = Json(JsonObject{{"code", StrCat(response.status)},
                                 {"message", message == nullptr ? Json("failed") : *message}});
  return out.Dump() + "\n";
}

Result<std::unique_ptr<BatchOutput>> BatchOutput::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus("cannot open", path);
  std::unique_ptr<BatchOutput> output(new BatchOutput(fd, path));
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return InvalidArgument(StrCat(Printable(path), ": must be a file; answers are kept in it"));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Status(Code::kFailedPrecondition,
                  StrCat(Printable(path), ": another process is writing it"));
  }
  QUIRE_RETURN_IF_ERROR(output->ReadDone());
  return output;
}

BatchOutput::~BatchOutput() { close(fd_); }

// Every whole line; what follows the last line feed is cut off.
Status BatchOutput::ReadDone() {
  LineReader reader(fd_);
  std::int64_t end_of_lines = 0;
  const off_t size = lseek(fd_, 0, SEEK_END);
  lseek(fd_, 0, SEEK_SET);
  for (std::int64_t number = 1;; ++number) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> text, reader.Next());
    if (!text) break;
    const std::int64_t end = end_of_lines + static_cast<std::int64_t>(text->size()) + 1;
    if (end > size) break;  // the last one, without a line feed
    const Result<Json> json = ParseJsonLine(*text, number);
    const Json* id = json.ok() ? json->Find("custom_id") : nullptr;
    if (id == nullptr) {
      return InvalidArgument(StrCat(Printable(path_), ": line ", number,
                                    " is no answer of a batch; name another file"));
    }
    if (id->is_string()) {
      ++num_done_[id->string()];
    } else {
      ++num_faults_done_;
    }
    end_of_lines = end;
  }
  if (end_of_lines < size && ftruncate(fd_, end_of_lines) != 0) {
    return ErrnoStatus("cannot shorten", path_);
  }
  return {};
}

bool BatchOutput::TakeDone(const BatchLine& line) {
  if (line.custom_id.empty()) return num_faults_done_ > 0 && num_faults_done_-- > 0;
  const auto found = num_done_.find(line.custom_id);
  if (found == num_done_.end() || found->second == 0) return false;
  --found->second;
  return true;
}

Status BatchOutput::Append(const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ErrnoStatus("cannot write", path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status BatchOutput::Sync() {
  if (fdatasync(fd_) == 0) return {};
  return ErrnoStatus("cannot write", path_);
}

}  // namespace quire
