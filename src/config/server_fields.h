// The one list of the server's options by name, as engine_fields.h is of the engine's.
#pragma once

#include "config/engine_fields.h"
#include "config/server_config.h"

namespace quire {

template <FieldsOf<ListenOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("host", o.host, "Name or address to listen on; 0.0.0.0 or :: for all");
  visit("port", o.port, "Port to listen on; 0: a free one");
  visit("uds", o.uds, "Path of a UNIX socket to listen on in place of host and port");
  visit("root-path", o.root_path,
        "Path under which a proxy shows the server; requests may come with it or without");
  visit("io-threads", o.io_threads, "Threads that read and write connections; 0: by the machine");
  visit("renderer-num-workers", o.input_threads, "Threads that render and tokenize prompts");
}

template <FieldsOf<TlsOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("ssl-keyfile", o.keyfile, "File of the private key, PEM; turns TLS on");
  visit("ssl-certfile", o.certfile, "File of the certificate chain, PEM");
  visit("ssl-ca-certs", o.ca_certs, "File of the authorities that clients' certificates need");
  visit("ssl-cert-reqs", o.cert_reqs,
        "Whether clients need a certificate: 0 no, 1 if they have one it must be good, 2 yes");
  visit("ssl-ciphers", o.ciphers, "Ciphers of TLS 1.2, in OpenSSL's notation");
  visit("enable-ssl-refresh", o.enable_refresh,
        "Read key and certificate again when their files change; SIGHUP does so in any case");
}

template <FieldsOf<AccessOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("api-key", o.api_keys,
        "Key that clients must send as a bearer token; may stand several times; see also the "
        "environment variables VLLM_API_KEY and QUIRE_API_KEY");
  visit("api-key-file", o.api_key_file, "File with one such key a line");
  visit("metrics-no-auth", o.metrics_no_auth, "Give /metrics to those without a key too");
  visit("enable-admin", o.enable_admin,
        "Turn on the control routes: /sleep, /wake_up, /reset_prefix_cache, /abort");
  visit("admin-key", o.admin_key, "Key of the control routes; see also QUIRE_ADMIN_KEY");
  visit("allowed-origins", o.allowed_origins, "Origins of web pages that may call; unset: all");
  visit("allowed-methods", o.allowed_methods, "Methods that web pages may use; unset: all");
  visit("allowed-headers", o.allowed_headers, "Headers that web pages may send; unset: all");
  visit("allow-credentials", o.allow_credentials, "Let web pages send cookies and keys");
}

template <FieldsOf<LimitOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("max-connections", o.max_connections,
        "Most connections before further ones are answered 503; 0: as open files allow");
  visit("h11-max-incomplete-event-size", o.max_header_bytes,
        "Most bytes of a request's first line and headers");
  visit("h11-max-header-count", o.max_headers, "Most headers of a request");
  visit("max-body-bytes", o.max_body_bytes, "Most bytes of a request's body, also once unpacked");
  visit("max-send-buffer-bytes", o.max_send_buffer_bytes,
        "Most bytes of a stream that wait for a client that reads slowly; then it is ended");
  visit("header-timeout", o.header_timeout, "Seconds in which a request's headers must come");
  visit("body-timeout", o.body_timeout, "Seconds in which a body must go on");
  visit("keep-alive-timeout", o.keep_alive_timeout, "Seconds that an idle connection is kept");
  visit("write-timeout", o.write_timeout, "Seconds after which a client that reads nothing is cut");
  visit("sse-keep-alive-interval", o.sse_keep_alive_interval,
        "Seconds after which a stream without news gets a comment, so that no proxy gives it up; "
        "0: never");
  visit("request-timeout", o.request_timeout,
        "Seconds that a request may take until its answer is whole; 0: no limit");
  visit("shutdown-timeout", o.shutdown_timeout,
        "Seconds that requests under way may go on after SIGTERM; 0: they end at once");
}

template <FieldsOf<RouteOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("served-model-name", o.served_model_names,
        "Name of the model in requests and answers; several: the first stands in answers");
  visit("chat-template-content-format", o.chat_template_content_format,
        "Whether the template gets contents as text or as parts");
  visit("trust-request-chat-template", o.trust_request_chat_template,
        "Let requests bring a chat template");
  visit("default-chat-template-kwargs", o.default_chat_template_kwargs,
        "JSON object of variables for the chat template, under those of the request");
  visit("response-role", o.response_role, "Role of answers");
  visit("enable-auto-tool-choice", o.enable_auto_tool_choice, "Let the model choose tools");
  visit("tool-call-parser", o.tool_call_parser,
        "Format of the model's tool calls; auto: by its chat template; empty: none");
  visit("exclude-tools-when-tool-choice-none", o.exclude_tools_when_tool_choice_none,
        "Leave tools out of the prompt where tool_choice is none");
  visit("reasoning-parser", o.reasoning_parser,
        "Format of the model's reasoning; auto: by its chat template; empty: none");
  visit("strict-fields", o.strict_fields, "Refuse requests with unknown fields");
  visit("return-tokens-as-token-ids", o.return_tokens_as_token_ids,
        "Write tokens of logprobs as token_id:N");
  visit("enable-prompt-tokens-details", o.enable_prompt_tokens_details,
        "Tell in the usage how many prompt tokens were cached");
  visit("enable-force-include-usage", o.enable_force_include_usage,
        "Put the usage into every stream");
  visit("enable-server-load-tracking", o.enable_server_load_tracking, "Answer /load");
  visit("enable-request-id-headers", o.enable_request_id_headers,
        "Send X-Request-Id with every answer");
  visit("disable-fastapi-docs", o.disable_docs, "No /docs and /openapi.json");
}

template <FieldsOf<LogOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("log-level", o.level, "Least level of log lines");
  visit("log-format", o.format, "How log lines look: json is one object a line");
  visit("disable-uvicorn-access-log", o.disable_access_log, "No log line for each request");
  visit("disable-access-log-for-endpoints", o.quiet_paths,
        "Paths without such a line, with commas between: /health,/metrics");
  visit("disable-log-stats", o.disable_stats, "No line about load and speed every 10 s");
  visit("enable-log-requests", o.log_requests,
        "A log line for each prompt with its parameters; with log-level debug its text too");
  visit("enable-log-outputs", o.log_outputs,
        "A log line for each answer with its text; needs enable-log-requests");
  visit("max-log-len", o.max_log_len,
        "Most bytes of a text, and most of its ids, in such a line; unset: 2048");
}

template <FieldsOf<ServerConfig> Config, typename Visitor>
void VisitGroups(Config& c, Visitor&& visit) {
  visit("Server", c.listen);
  visit("TLS", c.tls);
  visit("Access", c.access);
  visit("Limits", c.limits);
  visit("API", c.routes);
  visit("Logging", c.log);
}

template <FieldsOf<ServerConfig> Config, typename Visitor>
void VisitFields(Config& c, Visitor&& visit) {
  VisitGroups(c, [&](std::string_view, auto& options) { VisitFields(options, visit); });
}

}  // namespace quire
