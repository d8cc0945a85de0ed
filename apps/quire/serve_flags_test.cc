#include "apps/quire/serve_flags.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/quire/flags.h"
#include "base/strings.h"
#include "base/test_data.h"

namespace quire {
namespace {

struct Read {
  ServeConfig config;
  Status status;
  bool runs = false;
  std::string printed;
};

Read ReadFlags(const std::vector<std::string_view>& args) {
  Read read;
  testing::internal::CaptureStdout();
  const Result<bool> runs = ReadServeFlags(args, read.config);
  read.printed = testing::internal::GetCapturedStdout();
  read.status = runs.status();
  read.runs = runs.ok() && *runs;
  return read;
}

std::string MessageOf(const std::vector<std::string_view>& args) {
  return ReadFlags(args).status.message();
}

// A file that is gone with its owner.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view text)
      : path_(StrCat("/tmp/quire_serve_flags_test.", getpid(), ".yaml")) {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(ServeFlags, TakesAModelAndFlagsOfServerAndEngine) {
  const Read read = ReadFlags({"model.gguf", "--port", "8001", "--max-num-seqs=7", "--api-key", "a",
                               "b", "--served-model-name", "x", "y", "--max_waiting", "3"});
  ASSERT_TRUE(read.runs) << read.status.message();
  EXPECT_EQ(read.config.engine.model.model, "model.gguf");
  EXPECT_EQ(read.config.server.listen.port, 8001);
  EXPECT_EQ(read.config.server.listen.host, "127.0.0.1");
  EXPECT_EQ(read.config.engine.scheduler.max_num_seqs, 7);
  EXPECT_EQ(read.config.engine.scheduler.max_waiting, 3);
  EXPECT_EQ(read.config.server.access.api_keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read.config.server.routes.served_model_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(read.config.needs_key);
}

TEST(ServeFlags, CommandLineGoesBeforeTheFileAndTheFileBeforeDefaults) {
  const ConfigFile file(
      "model: from-file.gguf\nport: 9000\nmax_num_seqs: 5\napi-key: [k1, k2]\n"
      "enable-prefix-caching: false\nhf-overrides:\n  rope_scaling: {factor: 2.0}\n"
      "allowed-origins: ['https://a']\n");
  const Read read = ReadFlags({"--config", file.path(), "--port", "8001"});
  ASSERT_TRUE(read.runs) << read.status.message();
  EXPECT_EQ(read.config.engine.model.model, "from-file.gguf");
  EXPECT_EQ(read.config.server.listen.port, 8001);
  EXPECT_EQ(read.config.engine.scheduler.max_num_seqs, 5);
  EXPECT_FALSE(read.config.engine.cache.enable_prefix_caching);
  EXPECT_EQ(read.config.server.access.api_keys.size(), 2u);
  EXPECT_EQ(read.config.engine.model.hf_overrides.Dump(), R"({"rope_scaling":{"factor":2.0}})");
  const Read other = ReadFlags({"line.gguf", "--config", file.path(), "--api-key", "k3"});
  EXPECT_EQ(other.config.engine.model.model, "line.gguf");
  EXPECT_EQ(other.config.server.access.api_keys, (std::vector<std::string>{"k3"}));
}

TEST(ServeFlags, SaysWhatIsWrongWithAFile) {
  const ConfigFile unknown("prot: 9000\n");
  EXPECT_EQ(MessageOf({"--config", unknown.path()}),
            StrCat("--config ", unknown.path(), ": unknown flag --prot; did you mean --port?"));
  EXPECT_NE(MessageOf({"--config", "/nothing.yaml"}).find("/nothing.yaml"), std::string::npos);
  const ConfigFile broken("port: [1\n");
  EXPECT_NE(MessageOf({"--config", broken.path()}).find("line "), std::string::npos);
  const ConfigFile list("- port\n");
  EXPECT_NE(MessageOf({"--config", list.path()}).find("must hold members"), std::string::npos);
}

TEST(ServeFlags, RefusesWhatAFlagOfAFileCannotHold) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"port: [1, 2]", "port: takes one value, got an array"},
      {"port: []", "port: takes one value, got an array"},
      {"host: {a: b}", "host: takes one value, got an object"},
      {"host: [a]", "host: takes one value, got an array"},
      {"chat-template: [x, y]", "chat-template: takes one value, got an array"},
      {"strict_fields: [true]", "strict-fields: takes one value, got an array"},
      {"hf-overrides: [{a: 1}]", "hf-overrides: takes one value, got an array"},
      {"served-model-name: {a: b}", "served-model-name: takes one value, got an object"},
      {"served-model-name: [a, [b]]", "served-model-name: items must be single values, got an"},
      {"served-model-name: [a, null]", "served-model-name: items must be single values, got null"},
      {"enable-prefix-caching: 3", "enable-prefix-caching: must be true or false"},
      {"no-enable-prefix-caching: 3", "no-enable-prefix-caching: must be true or false, got an"},
      {"no-enable-prefix-cachin: true", "unknown flag --no-enable-prefix-cachin; did you mean"},
      {"no-port: true", "unknown flag --no-port"},
      {"lora-modules: [{name: a}]", "--lora-modules"},
      {"config: other.yaml", "config: a file of flags cannot name a further one"}};
  for (const auto& [text, message] : cases) {
    const ConfigFile file(text + "\n");
    EXPECT_TRUE(MessageOf({"--config", file.path()})
                    .starts_with(StrCat("--config ", file.path(), ": ", message)))
        << text << ": " << MessageOf({"--config", file.path()});
  }
}

TEST(ServeFlags, TurnsSwitchesOffInAFileAsOnTheCommandLine) {
  for (const char* text : {"no-enable-prefix-caching: true", "no_enable_prefix_caching: true",
                           "enable-prefix-caching: false", "enable_prefix_caching: 'false'"}) {
    const ConfigFile file(StrCat(text, "\n"));
    const auto is_on = [&](const std::vector<std::string_view>& args) {
      const Read read = ReadFlags(args);
      EXPECT_TRUE(read.runs) << text << read.status.message();
      return read.config.engine.cache.enable_prefix_caching;
    };
    EXPECT_FALSE(is_on({"--config", file.path()})) << text;
    EXPECT_TRUE(is_on({"--config", file.path(), "--enable-prefix-caching"})) << text;
  }
  const ConfigFile on("no-enable-prefix-caching: false\n");
  EXPECT_TRUE(ReadFlags({"--config", on.path()}).config.engine.cache.enable_prefix_caching);
}

TEST(ServeFlags, PrintsAConfigurationThatReadsBackAsItself) {
  const Read first = ReadFlags({"m.gguf", "--port", "8001", "--served-model-name", "a", "b",
                                "--hf-overrides.x", "1", "--no-mmap", "--api-key", "secret",
                                "--shutdown-timeout", "2.5", "--print-config"});
  EXPECT_FALSE(first.runs);
  EXPECT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_EQ(first.printed.find("secret"), std::string::npos);
  const ConfigFile file(first.printed);
  const Read second = ReadFlags({"--config", file.path(), "--api-key", "secret"});
  ASSERT_TRUE(second.runs) << second.status.message();
  EXPECT_EQ(second.config.server, first.config.server);
  EXPECT_EQ(second.config.engine, first.config.engine);
}

TEST(ServeFlags, ShowsHelpByGroupAndByWord) {
  const std::string groups = ReadFlags({"--help=groups"}).printed;
  EXPECT_NE(groups.find("TLS\n"), std::string::npos);
  const std::string tls = ReadFlags({"--help=tls"}).printed;
  EXPECT_NE(tls.find("--ssl-keyfile"), std::string::npos);
  EXPECT_EQ(tls.find("--max-num-seqs"), std::string::npos);
  const std::string word = ReadFlags({"--help=max-num-seqs"}).printed;
  EXPECT_NE(word.find("--max-num-seqs"), std::string::npos);
  EXPECT_EQ(word.find("--port"), std::string::npos);
  EXPECT_EQ(ReadFlags({"--help"}).printed.find("tensor-parallel"), std::string::npos);
  EXPECT_FALSE(ReadFlags({"--help=xyzzy"}).status.ok());
}

TEST(ServeFlags, RefusesWithTheReasonWhatHasNoSenseHere) {
  EXPECT_EQ(MessageOf({"--tensor-parallel-size", "2"}),
            "--tensor-parallel-size 2 is refused: Quire serves one copy of the model from one "
            "process");
  EXPECT_NE(MessageOf({"-tp=4"}).find("is refused"), std::string::npos);
  EXPECT_NE(MessageOf({"--enable-lora"}).find("LoRA"), std::string::npos);
  EXPECT_NE(MessageOf({"--speculative-config.method", "ngram"}).find("is refused"),
            std::string::npos);
  EXPECT_EQ(MessageOf({"-tp", "1", "--enforce-eager", "--trust-remote-code", "--runner", "generate",
                       "--no-enable-lora"}),
            "");
  EXPECT_EQ(MessageOf({"--max-num-seq", "4"}),
            "unknown flag --max-num-seq; did you mean --max-num-seqs?");
}

TEST(ServeFlags, ObeysFlagsOfVllmForLogsAndStreams) {
  const Read read =
      ReadFlags({"--enable-log-requests", "--max-log-len", "10", "--stream-interval", "4",
                 "--sse-keep-alive-interval", "15", "--logprobs-mode", "processed_logits",
                 "--renderer-num-workers", "2", "--disable-log-stats", "--enable-offline-docs"});
  ASSERT_TRUE(read.runs) << read.status.message();
  EXPECT_TRUE(read.config.server.log.log_requests);
  EXPECT_EQ(read.config.server.log.max_log_len, 10);
  EXPECT_TRUE(read.config.server.log.disable_stats);
  EXPECT_EQ(read.config.engine.scheduler.stream_interval, 4);
  EXPECT_EQ(read.config.server.limits.sse_keep_alive_interval, 15);
  EXPECT_EQ(read.config.engine.model.logprobs_mode, LogprobsMode::kProcessedLogits);
  EXPECT_EQ(read.config.server.listen.input_threads, 2);
  EXPECT_NE(MessageOf({"--stream-interval", "0"}).find("stream-interval"), std::string::npos);
  EXPECT_NE(MessageOf({"--renderer-num-workers", "0"}).find("renderer"), std::string::npos);
  EXPECT_NE(MessageOf({"--sse-keep-alive-interval", "-1"}).find("sse-keep"), std::string::npos);
  EXPECT_NE(MessageOf({"--logprobs-mode", "raw"}).find("processed_logprobs"), std::string::npos);
}

TEST(ServeFlags, LogsAnswersWhereRequestsAreLoggedAndBoundsWhatWaits) {
  const Read read = ReadFlags({"--enable-log-requests", "--enable-log-outputs",
                               "--enable-log-deltas", "--max-num-queued-tokens", "4k"});
  ASSERT_TRUE(read.runs) << read.status.message();
  EXPECT_TRUE(read.config.server.log.log_outputs);
  EXPECT_EQ(read.config.engine.scheduler.max_waiting_tokens, 4000);
  EXPECT_NE(MessageOf({"--enable-log-outputs"}).find("needs enable-log-requests"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--max-num-queued-tokens", "0"}).find("max-num-queued-tokens"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--fingerprint-mode", "none"}).find("system_fingerprint"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--custom-histogram-buckets", "{}"}).find("buckets"), std::string::npos);
}

TEST(ServeFlags, TakesListsAsVllmWritesThem) {
  const auto origins = [](const std::vector<std::string_view>& args) {
    return ReadFlags(args).config.server.access.allowed_origins;
  };
  const std::vector<std::string> both = {"https://a.example", "https://b.example"};
  EXPECT_EQ(origins({"--allowed-origins", R"(["https://a.example", "https://b.example"])"}), both);
  EXPECT_EQ(origins({"--allowed-origins", "https://a.example", "https://b.example"}), both);
  EXPECT_EQ(origins({"--allowed-origins", R"(["*"])"}), std::vector<std::string>{"*"});
  for (const char* wrong : {R"(["a")", R"([1])"}) {
    const std::string message = MessageOf({"--allowed-origins", wrong});
    EXPECT_NE(message, "") << wrong;
  }
}

TEST(ServeFlags, ChecksRanges) {
  EXPECT_NE(MessageOf({"--port", "70000"}).find("port"), std::string::npos);
  EXPECT_NE(MessageOf({"--ssl-keyfile", "k.pem"}).find("ssl-certfile"), std::string::npos);
  EXPECT_NE(MessageOf({"--request-timeout", "-1"}).find("request-timeout"), std::string::npos);
  EXPECT_NE(MessageOf({"a.gguf", "b.gguf"}).find("one model"), std::string::npos);
}

// Those that are written as one plain value; a deployment may spell them out.
TEST(ServeFlags, TakesEveryDefaultOfVllm) {
  const std::string path = TestDataPath("compat/serve-flags.tsv");
  std::ifstream table(path);
  if (!table) GTEST_SKIP() << path << " is absent";
  std::string line;
  std::getline(table, line);
  int num_defaults = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string_view> cells = Split(line, '\t');
    const std::string_view name = Split(cells[0], ' ')[0];
    if (cells.size() < 5 || !name.starts_with("--")) continue;
    std::string value(cells[4]);
    if (value.starts_with('\'')) value = value.substr(1, value.size() - 2);
    const bool is_plain = value.find_first_of("<([{") == std::string::npos && !value.empty();
    if (!is_plain || value == "None" || value == "SUPPRESS") continue;
    if (cells[2].starts_with("bool")) value = value == "True" ? "true" : "false";
    ++num_defaults;
    EXPECT_EQ(MessageOf({StrCat(name, "=", value)}), "");
  }
  EXPECT_GT(num_defaults, 150);
}

TEST(ServeFlags, KnowsEveryFlagOfVllm) {
  const std::string path = TestDataPath("compat/serve-flags.tsv");
  std::ifstream table(path);
  if (!table) GTEST_SKIP() << path << " is absent";
  std::string line;
  std::getline(table, line);
  int num_flags = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string_view> cells = Split(line, '\t');
    const std::string_view name = Split(cells[0], ' ')[0];
    if (cells.size() < 3 || !name.starts_with("--")) continue;
    ++num_flags;
    // With an absurd value every flag is either taken, or refused for another reason than that it
    // is unknown.
    const std::string message = MessageOf({StrCat(name, "=absurd")});
    EXPECT_EQ(message.find("unknown flag"), std::string::npos) << message;
  }
  EXPECT_GT(num_flags, 300);
}

}  // namespace
}  // namespace quire
