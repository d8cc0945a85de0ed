// What a user may ask of the server, under vLLM's names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/enum_names.h"
#include "formats/json.h"

namespace quire {

enum class ContentFormat { kAuto, kString, kOpenai };
enum class ServerLogLevel { kDebug, kInfo, kWarning, kError };
enum class ServerLogFormat { kText, kJson };

template <>
struct EnumNames<ContentFormat> {
  static constexpr std::array<EnumName<ContentFormat>, 3> kNames = {
      {{"auto", ContentFormat::kAuto},
       {"string", ContentFormat::kString},
       {"openai", ContentFormat::kOpenai}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

template <>
struct EnumNames<ServerLogFormat> {
  static constexpr std::array<EnumName<ServerLogFormat>, 2> kNames = {
      {{"text", ServerLogFormat::kText}, {"json", ServerLogFormat::kJson}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

template <>
struct EnumNames<ServerLogLevel> {
  static constexpr std::array<EnumName<ServerLogLevel>, 12> kNames = {
      {{"info", ServerLogLevel::kInfo},
       {"INFO", ServerLogLevel::kInfo},
       {"debug", ServerLogLevel::kDebug},
       {"DEBUG", ServerLogLevel::kDebug},
       {"NOTSET", ServerLogLevel::kDebug},
       {"trace", ServerLogLevel::kDebug},
       {"warning", ServerLogLevel::kWarning},
       {"WARNING", ServerLogLevel::kWarning},
       {"error", ServerLogLevel::kError},
       {"ERROR", ServerLogLevel::kError},
       {"critical", ServerLogLevel::kError},
       {"CRITICAL", ServerLogLevel::kError}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

// Where clients find the server.
struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 8000;
  std::string uds;        // a socket file in place of host and port
  std::string root_path;  // of a proxy before the server; paths may come with it
  int io_threads = 0;     // 0: by the machine
  int input_threads = 4;  // several, so that a short prompt does not wait for a huge one

  friend bool operator==(const ListenOptions&, const ListenOptions&) = default;
};

struct TlsOptions {
  std::string keyfile;
  std::string certfile;
  std::string ca_certs;         // who may have signed a client's certificate
  int cert_reqs = 0;            // of clients: 0 none, 1 if they have one, 2 required
  std::string ciphers;          // of TLS 1.2, as OpenSSL writes them
  bool enable_refresh = false;  // read the files again when they change

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// Who may do what.
struct AccessOptions {
  std::vector<std::string> api_keys;
  std::string api_key_file;  // one key a line
  bool metrics_no_auth = false;
  bool enable_admin = false;
  std::string admin_key;
  std::vector<std::string> allowed_origins;  // empty: all; so with the next two
  std::vector<std::string> allowed_methods;
  std::vector<std::string> allowed_headers;
  bool allow_credentials = false;

  friend bool operator==(const AccessOptions&, const AccessOptions&) = default;
};

// What a client may take. Times in seconds.
struct LimitOptions {
  int max_connections = 0;  // 0: as many as the limit of open files allows
  std::int64_t max_header_bytes = std::int64_t{64} << 10;
  int max_headers = 256;
  std::int64_t max_body_bytes = std::int64_t{16} << 20;
  std::int64_t max_send_buffer_bytes = std::int64_t{1} << 20;
  double header_timeout = 10;
  double body_timeout = 30;
  double keep_alive_timeout = 75;
  double write_timeout = 30;
  int sse_keep_alive_interval = 0;  // between comments in a stream that has no news; 0: none
  double request_timeout = 0;       // 0: none
  double shutdown_timeout = 0;      // for requests under way when the server is told to end

  friend bool operator==(const LimitOptions&, const LimitOptions&) = default;
};

// What the routes do with requests.
struct RouteOptions {
  std::vector<std::string> served_model_names;  // empty: the model's name
  ContentFormat chat_template_content_format = ContentFormat::kAuto;
  bool trust_request_chat_template = false;
  Json default_chat_template_kwargs;
  std::string response_role = "assistant";
  bool enable_auto_tool_choice = true;
  std::string tool_call_parser = "auto";
  bool exclude_tools_when_tool_choice_none = false;
  std::string reasoning_parser = "auto";
  bool strict_fields = false;
  bool return_tokens_as_token_ids = false;
  bool enable_prompt_tokens_details = false;
  bool enable_force_include_usage = false;
  bool enable_server_load_tracking = true;
  bool enable_request_id_headers = true;
  bool disable_docs = false;

  friend bool operator==(const RouteOptions&, const RouteOptions&) = default;
};

struct LogOptions {
  ServerLogLevel level = ServerLogLevel::kInfo;
  ServerLogFormat format = ServerLogFormat::kText;
  bool disable_access_log = false;
  std::string quiet_paths;  // comma-separated, without access log lines
  bool disable_stats = false;
  bool log_requests = false;
  bool log_outputs = false;                 // needs log_requests
  std::optional<std::int64_t> max_log_len;  // bytes of a prompt or an answer, or ids

  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

struct ServerConfig {
  ListenOptions listen;
  TlsOptions tls;
  AccessOptions access;
  LimitOptions limits;
  RouteOptions routes;
  LogOptions log;

  // Each field alone and against the others.
  Status Validate() const;

  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

}  // namespace quire
