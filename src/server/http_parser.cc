#include "server/http_parser.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/strings.h"
#include "server/http_target.h"
#include "server/http_wire.h"

namespace quire {

namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using ErrorCode = boost::beast::error_code;

std::string_view View(string_view text) { return {text.data(), text.size()}; }

// The grammar is Beast's; what it finds is kept here.
class RequestReader : public http::basic_parser<true> {
 public:
  HttpRequest request;
  std::string target;
  int version = 11;
  int num_fields = 0;
  bool has_too_many_fields = false;
  bool has_head = false;
  bool expects_continue = false;

  explicit RequestReader(const HttpLimits& limits) : max_fields_(limits.max_headers) {
    header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
    body_limit(limits.max_body_bytes);
  }

 private:
  void on_request_impl(http::verb, string_view method, string_view path, int number,
                       ErrorCode&) override {
    request.method = View(method);
    target = View(path);
    version = number;
  }

  void on_field_impl(http::field, string_view name, string_view value, ErrorCode& error) override {
    if (has_head) return;  // a trailer
    if (++num_fields > max_fields_) {
      has_too_many_fields = true;
      error = http::error::header_limit;
      return;
    }
    request.headers.push_back({std::string(View(name)), std::string(View(value))});
  }

  void on_header_impl(ErrorCode&) override { has_head = true; }
  void on_response_impl(int, string_view, int, ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  void on_chunk_header_impl(std::uint64_t, string_view, ErrorCode&) override {}
  void on_finish_impl(ErrorCode&) override {}

  std::size_t on_body_impl(string_view body, ErrorCode&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, ErrorCode&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }

  const int max_fields_;
};

// Whether a line of the head begins with a blank. Beast joins it to the line before; what stands
// between the client and this server may have read something else (RFC 9112, 5.2).
bool HasFoldedLine(std::string_view head) {
  return head.find("\n ") != std::string_view::npos || head.find("\n\t") != std::string_view::npos;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (EqualsIgnoringCase(header.name, name)) return header.value;
  }
  return {};
}

int HttpRequest::num_headers(std::string_view name) const {
  return static_cast<int>(std::ranges::count_if(
      headers, [name](const HttpHeader& header) { return EqualsIgnoringCase(header.name, name); }));
}

struct HttpParser::State {
  explicit State(const HttpLimits& limits) : reader(limits) {}

  RequestReader reader;
  std::string kept;  // bytes that the grammar wants to see again together with later ones
};

HttpParser::HttpParser(const HttpLimits& limits) : limits_(limits) {}
HttpParser::~HttpParser() = default;

bool HttpParser::has_head() const { return state_ != nullptr && state_->reader.has_head; }

std::string_view HttpParser::path() const {
  if (state_ == nullptr) return {};
  const std::string_view target = state_->reader.target;
  return target.substr(0, target.find('?'));
}

std::size_t HttpParser::num_body_bytes() const {
  return state_ == nullptr ? 0 : state_->reader.request.body.size();
}

bool HttpParser::TakeExpectsContinue() {
  return has_head() && std::exchange(state_->reader.expects_continue, false);
}

HttpParser::Progress HttpParser::Feed(std::string_view& bytes) {
  if (bytes.empty()) return Progress::kNeedsMore;
  if (state_ == nullptr) {
    // Empty lines before a request are passed over, as RFC 9112 asks.
    while (!bytes.empty() && (bytes.front() == '\r' || bytes.front() == '\n')) {
      bytes.remove_prefix(1);
    }
    if (bytes.empty()) return Progress::kNeedsMore;
    state_ = std::make_unique<State>(limits_);
  }
  if (state_->reader.has_head) return FeedBody(bytes);
  return FeedHead(bytes);
}

HttpParser::Progress HttpParser::FeedHead(std::string_view& bytes) {
  std::string& kept = state_->kept;
  const std::size_t room = limits_.max_header_bytes + 4 - kept.size();
  const std::size_t num_known = kept.size();
  kept.append(bytes.substr(0, room));
  std::size_t used = 0;
  const Progress progress = Put(kept, used);
  // A header is used only together with all the lines on which it goes on.
  if (HasFoldedLine(std::string_view(kept).substr(0, used))) {
    return Refuse(400, "a header goes on in the next line, which HTTP no longer allows");
  }
  if (!state_->reader.has_head || progress == Progress::kRefused) {
    bytes.remove_prefix(kept.size() - num_known);
    if (progress == Progress::kNeedsMore && kept.size() > limits_.max_header_bytes) {
      return Refuse(431, StrCat("the headers exceed ", limits_.max_header_bytes, " bytes"));
    }
    kept.erase(0, used);
    return progress;
  }
  // The head ended inside `bytes`. What follows it is read as body from here on, not together with
  // the head: Beast does not take the beginning of a body twice.
  bytes.remove_prefix(used - num_known);
  kept = std::string();
  state_->reader.eager(true);
  if (CheckHead() == Progress::kRefused) return Progress::kRefused;
  return progress == Progress::kComplete || bytes.empty() ? progress : FeedBody(bytes);
}

HttpParser::Progress HttpParser::FeedBody(std::string_view& bytes) {
  std::string& kept = state_->kept;
  std::size_t used = 0;
  if (kept.empty()) {
    const Progress progress = Put(bytes, used);
    bytes.remove_prefix(used);
    if (progress != Progress::kNeedsMore) return progress;
  }
  // An unfinished line between chunks. Beast does not take its last line a second time in fewer
  // bytes than kLastLine, and no request ends with fewer.
  constexpr std::size_t kLastLine = kLastChunk.size();
  const std::size_t num_known = kept.size();
  kept.append(bytes.substr(0, limits_.max_header_bytes));
  if (kept.size() < kLastLine) {
    bytes = {};
    return Progress::kNeedsMore;
  }
  const Progress progress = Put(kept, used = 0);
  bytes.remove_prefix(progress == Progress::kComplete ? used - num_known : kept.size() - num_known);
  kept.erase(0, used);
  if (progress == Progress::kNeedsMore && kept.size() >= limits_.max_header_bytes) {
    return Refuse(400, "a line between the chunks of the body is too long");
  }
  if (progress == Progress::kNeedsMore && !bytes.empty()) return FeedBody(bytes);
  return progress;
}

HttpParser::Progress HttpParser::Put(std::string_view bytes, std::size_t& used) {
  RequestReader& reader = state_->reader;
  while (!reader.is_done() && used < bytes.size()) {
    const bool had_head = reader.has_head;
    ErrorCode error;
    const std::size_t taken =
        reader.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
    used += taken;
    if (error == http::error::need_more || (!error && taken == 0)) break;
    if (error == http::error::header_limit) {
      if (reader.has_too_many_fields) {
        return Refuse(431, StrCat("there are more than ", limits_.max_headers, " headers"));
      }
      return Refuse(431, StrCat("the headers exceed ", limits_.max_header_bytes, " bytes"));
    }
    if (error == http::error::body_limit) {
      return Refuse(413, StrCat("the body exceeds ", limits_.max_body_bytes, " bytes"));
    }
    if (error) return Refuse(400, StrCat("this is no HTTP request: ", error.message()));
    if (!had_head && reader.has_head) break;  // FeedHead looks at it first
  }
  return reader.is_done() ? Progress::kComplete : Progress::kNeedsMore;
}

HttpParser::Progress HttpParser::CheckHead() {
  RequestReader& reader = state_->reader;
  HttpRequest& request = reader.request;
  keeps_alive_ = reader.keep_alive();
  is_http_1_0_ = reader.version < 11;
  if (!is_http_1_0_ && request.header("host").empty()) {
    return Refuse(400, "the Host header is missing");
  }
  if (request.num_headers("host") > 1) return Refuse(400, "there is more than one Host header");
  // The same length twice is one length to some and an error to others (RFC 9112, 6.3).
  if (request.num_headers("content-length") > 1 ||
      request.header("content-length").find(',') != std::string_view::npos) {
    return Refuse(400, "there is more than one Content-Length");
  }
  const std::string_view encoding = request.header("transfer-encoding");
  if (request.num_headers("transfer-encoding") > 0 &&
      (is_http_1_0_ || !EqualsIgnoringCase(encoding, "chunked"))) {
    return Refuse(400, StrCat("Transfer-Encoding ", Printable(encoding),
                              is_http_1_0_ ? " is not part of HTTP/1.0" : " is not supported"));
  }
  const std::string_view expect = request.header("expect");
  if (!expect.empty() && !EqualsIgnoringCase(expect, "100-continue")) {
    return Refuse(417, StrCat("Expect: ", Printable(expect), " is not supported"));
  }
  reader.expects_continue = !expect.empty() && !is_http_1_0_;
  std::optional<HttpTarget> target = ParseHttpTarget(reader.target);
  if (!target) return Refuse(400, StrCat("the target ", Printable(reader.target), " is no path"));
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  return Progress::kNeedsMore;
}

HttpParser::Progress HttpParser::Refuse(int status, std::string message) {
  refusal_ = {.status = status, .message = std::move(message)};
  keeps_alive_ = false;
  return Progress::kRefused;
}

HttpRequest HttpParser::Take() {
  HttpRequest request = std::move(state_->reader.request);
  state_.reset();
  return request;
}

}  // namespace quire
