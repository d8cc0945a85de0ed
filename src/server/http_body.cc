#include "server/http_body.h"

#include <algorithm>
#include <utility>

#include <zlib.h>

#include "base/strings.h"
#include "server/http_wire.h"

namespace quire {

namespace {

constexpr std::size_t kStepBytes = std::size_t{64} << 10;

// One run of zlib over one body.
class Inflater {
 public:
  Inflater() { is_ready_ = inflateInit2(&stream_, MAX_WBITS + 32) == Z_OK; }  // gzip or zlib
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready_) inflateEnd(&stream_);
  }

  HttpRefusal Run(std::string_view packed, std::size_t max_bytes, std::string& out) {
    if (!is_ready_) return {.status = 500, .message = "no memory to unpack the body"};
    // zlib reads through a pointer to non-const and does not write to it.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    while (true) {
      const std::size_t size = out.size();
      const std::size_t step = std::min(kStepBytes, max_bytes + 1 - size);
      out.resize(size + step);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + size);
      stream_.avail_out = static_cast<uInt>(step);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      out.resize(size + step - stream_.avail_out);
      if (out.size() > max_bytes) {
        return {.status = 413,
                .message = StrCat("the unpacked body exceeds ", max_bytes, " bytes")};
      }
      if (result == Z_STREAM_END) {
        if (stream_.avail_in == 0) return {};
        if (inflateReset(&stream_) != Z_OK) break;  // another member follows
      } else if (result != Z_OK || (stream_.avail_in == 0 && stream_.avail_out > 0)) {
        break;
      }
    }
    return {.status = 400, .message = "the packed body is broken or cut off"};
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
};

}  // namespace

HttpRefusal UnpackBody(std::size_t max_bytes, HttpRequest& request) {
  const std::string_view encoding = request.header("content-encoding");
  if (request.num_headers("content-encoding") > 1) {
    return {.status = 415, .message = "there is more than one Content-Encoding"};
  }
  if (encoding.empty() || EqualsIgnoringCase(encoding, "identity")) return {};
  const auto is_encoding = [&](std::string_view name) {
    return EqualsIgnoringCase(encoding, name);
  };
  if (!is_encoding("gzip") && !is_encoding("x-gzip") && !is_encoding("deflate")) {
    return {.status = 415,
            .message = StrCat("Content-Encoding ", Printable(encoding),
                              " is not supported: gzip and deflate are")};
  }
  std::string unpacked;
  HttpRefusal refusal = Inflater().Run(request.body, max_bytes, unpacked);
  if (refusal.message.empty()) request.body = std::move(unpacked);
  return refusal;
}

}  // namespace quire
