#include "config/server_config.h"

#include <limits>
#include <string_view>

#include "base/strings.h"

namespace quire {

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

Status CheckRange(std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most) {
  if (value >= least && value <= most) return {};
  return InvalidArgument(StrCat(name, ": must be ", least, " to ", most, ", got ", value));
}

Status CheckSeconds(std::string_view name, double value, double least) {
  constexpr double kMostSeconds = 365.0 * 24 * 3600;
  if (value >= least && value <= kMostSeconds) return {};
  return InvalidArgument(
      StrCat(name, ": must be ", least, " to ", kMostSeconds, " seconds, got ", value));
}

Status CheckTls(const TlsOptions& tls) {
  if (tls.keyfile.empty() != tls.certfile.empty()) {
    return InvalidArgument(StrCat(tls.keyfile.empty() ? "ssl-keyfile" : "ssl-certfile",
                                  ": must be given too where the other one is"));
  }
  QUIRE_RETURN_IF_ERROR(CheckRange("ssl-cert-reqs", tls.cert_reqs, 0, 2));
  if (tls.certfile.empty() && !tls.ca_certs.empty()) {
    return InvalidArgument("ssl-ca-certs: needs ssl-keyfile and ssl-certfile");
  }
  if (tls.cert_reqs > 0 && tls.ca_certs.empty()) {
    return InvalidArgument("ssl-cert-reqs: needs ssl-ca-certs to check clients against");
  }
  return {};
}

Status CheckAccess(const AccessOptions& access) {
  for (const std::string& key : access.api_keys) {
    if (key.empty()) return InvalidArgument("api-key: must not be empty");
  }
  if (!access.enable_admin && !access.admin_key.empty()) {
    return InvalidArgument("admin-key: needs enable-admin");
  }
  return {};
}

Status CheckLimits(const LimitOptions& limits) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  QUIRE_RETURN_IF_ERROR(CheckRange("max-connections", limits.max_connections, 0, kMaxInt));
  QUIRE_RETURN_IF_ERROR(
      CheckRange("h11-max-incomplete-event-size", limits.max_header_bytes, 256, kMostBytes));
  QUIRE_RETURN_IF_ERROR(CheckRange("h11-max-header-count", limits.max_headers, 1, 100'000));
  QUIRE_RETURN_IF_ERROR(CheckRange("max-body-bytes", limits.max_body_bytes, 1, kMostBytes));
  QUIRE_RETURN_IF_ERROR(
      CheckRange("max-send-buffer-bytes", limits.max_send_buffer_bytes, 4096, kMostBytes));
  constexpr double kLeastSeconds = 0.1;
  QUIRE_RETURN_IF_ERROR(CheckSeconds("header-timeout", limits.header_timeout, kLeastSeconds));
  QUIRE_RETURN_IF_ERROR(CheckSeconds("body-timeout", limits.body_timeout, kLeastSeconds));
  QUIRE_RETURN_IF_ERROR(
      CheckSeconds("keep-alive-timeout", limits.keep_alive_timeout, kLeastSeconds));
  QUIRE_RETURN_IF_ERROR(CheckSeconds("write-timeout", limits.write_timeout, kLeastSeconds));
  QUIRE_RETURN_IF_ERROR(
      CheckRange("sse-keep-alive-interval", limits.sse_keep_alive_interval, 0, 24 * 3600));
  QUIRE_RETURN_IF_ERROR(CheckSeconds("request-timeout", limits.request_timeout, 0));
  return CheckSeconds("shutdown-timeout", limits.shutdown_timeout, 0);
}

}  // namespace

Status ServerConfig::Validate() const {
  QUIRE_RETURN_IF_ERROR(CheckRange("port", listen.port, 0, 65535));
  QUIRE_RETURN_IF_ERROR(CheckRange("io-threads", listen.io_threads, 0, 64));
  QUIRE_RETURN_IF_ERROR(CheckRange("renderer-num-workers", listen.input_threads, 1, 64));
  QUIRE_RETURN_IF_ERROR(CheckRange("max-log-len", log.max_log_len.value_or(0), 0, kMaxInt));
  if (log.log_outputs && !log.log_requests) {
    return InvalidArgument("enable-log-outputs: needs enable-log-requests");
  }
  if (listen.host.empty() && listen.uds.empty()) {
    return InvalidArgument("host: must not be empty; 0.0.0.0 or :: stands for all addresses");
  }
  if (!listen.root_path.empty() && listen.root_path.front() != '/') {
    return InvalidArgument(
        StrCat("root-path: must begin with /, got ", Printable(listen.root_path)));
  }
  QUIRE_RETURN_IF_ERROR(CheckTls(tls));
  QUIRE_RETURN_IF_ERROR(CheckAccess(access));
  return CheckLimits(limits);
}

}  // namespace quire
