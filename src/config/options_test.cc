#include "config/options.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "config/engine_fields.h"
#include "config/server_fields.h"
#include "request/sampling_fields.h"

namespace quire {
namespace {

using LogitBias = std::vector<std::pair<TokenId, float>>;

// A value of each type of field that differs from every default.
struct Change {
  void operator()(bool& field) const { field = !field; }
  void operator()(int& field) const { field += 3; }
  void operator()(std::int64_t& field) const { field += 3; }
  void operator()(double& field) const { field += 0.25; }
  void operator()(std::string& field) const { field += "changed"; }
  void operator()(Json& field) const { field = Json(JsonObject{{"a", Json(1)}}); }
  void operator()(LogitBias& field) const { field = {{5, 1.5F}}; }
  void operator()(std::vector<std::string>& field) const { field = {"x", "y"}; }
  void operator()(std::vector<TokenId>& field) const { field = {4, 5}; }
  template <typename T>
  void operator()(std::optional<T>& field) const {
    T value = field.value_or(T());
    (*this)(value);
    field = value;
  }
  void operator()(std::uint64_t& field) const { field += 3; }
  template <NamedEnum Enum>
  void operator()(Enum& field) const {
    field = EnumNames<Enum>::kNames.back().value;
  }
};

// Whether T can be made from N values of any type in braces: the number of its members.
struct Anything {
  template <typename T>
  operator T() const {  // NOLINT(google-explicit-constructor): it stands for any member
    return T();
  }
};
template <typename T, std::size_t... I>
constexpr bool kTakes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <typename T, std::size_t N = 0>
constexpr std::size_t NumMembers() {
  if constexpr (kTakes<T>(std::make_index_sequence<N + 1>())) {
    return NumMembers<T, N + 1>();
  } else {
    return N;
  }
}

template <typename T>
std::size_t NumListed() {
  std::size_t count = 0;
  const T fields;
  VisitFields(fields, [&](std::string_view, const auto&, std::string_view) { ++count; });
  return count;
}

TEST(FieldLists, HoldEveryMember) {
  EXPECT_EQ(NumListed<ModelOptions>(), NumMembers<ModelOptions>());
  EXPECT_EQ(NumListed<CacheOptions>(), NumMembers<CacheOptions>());
  EXPECT_EQ(NumListed<SchedulerOptions>(), NumMembers<SchedulerOptions>());
  EXPECT_EQ(NumListed<ParallelOptions>(), NumMembers<ParallelOptions>());
  EXPECT_EQ(NumListed<ListenOptions>(), NumMembers<ListenOptions>());
  EXPECT_EQ(NumListed<TlsOptions>(), NumMembers<TlsOptions>());
  EXPECT_EQ(NumListed<AccessOptions>(), NumMembers<AccessOptions>());
  EXPECT_EQ(NumListed<LimitOptions>(), NumMembers<LimitOptions>());
  EXPECT_EQ(NumListed<RouteOptions>(), NumMembers<RouteOptions>());
  EXPECT_EQ(NumListed<LogOptions>(), NumMembers<LogOptions>());
  constexpr std::size_t kNotSettable = 3;  // bad_words_ids, output_kind and structured_outputs
  EXPECT_EQ(NumListed<SamplingParams>() + kNotSettable, NumMembers<SamplingParams>());
}

TEST(FieldLists, NameNothingTwice) {
  std::set<std::string_view> names;
  const auto check = [&](std::string_view name, const auto&, std::string_view help) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(help.empty()) << name;
    EXPECT_EQ(name.find('_'), std::string_view::npos) << name;
  };
  const EngineConfig config;
  VisitFields(config, check);
  const ServerConfig server;
  VisitFields(server, check);
  EXPECT_GT(names.size(), 25U);
}

TEST(EngineOptions, SurviveTheWayThroughJson) {
  EngineConfig config;
  VisitFields(config, [](std::string_view, auto& field, std::string_view) { Change()(field); });
  const EngineConfig defaults;
  EXPECT_FALSE(config == defaults);
  const auto parsed = ParseJson(ToJson(config).Dump());
  ASSERT_TRUE(parsed.ok());
  const auto back = EngineConfigFromJson(*parsed);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(*back == config);
}

TEST(ServerOptions, SurviveTheWayThroughJson) {
  ServerConfig config;
  VisitFields(config, [](std::string_view, auto& field, std::string_view) { Change()(field); });
  EXPECT_FALSE(config == ServerConfig());
  ServerConfig back;
  const Json json = ToJson(config);
  for (const auto& [name, value] : json.object()) {
    const Status status = SetServerField(back, name, value);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(back == config);
}

TEST(EngineOptions, EachFieldChangesTheJsonOfItselfOnly) {
  const Json before = ToJson(EngineConfig());
  for (std::size_t i = 0; i < before.object().size(); ++i) {
    EngineConfig config;
    std::size_t index = 0;
    VisitFields(config, [&](std::string_view, auto& field, std::string_view) {
      if (index++ == i) Change()(field);
    });
    const Json after = ToJson(config);
    for (std::size_t j = 0; j < before.object().size(); ++j) {
      EXPECT_EQ(before.object()[j] == after.object()[j], i != j) << before.object()[j].first;
    }
  }
}

TEST(EngineOptions, AreSetByFlagAndByJson) {
  EngineConfig config;
  EXPECT_TRUE(SetEngineFlag(config, "max-num-batched-tokens", "4K").ok());
  EXPECT_EQ(config.scheduler.max_num_batched_tokens, 4096);
  EXPECT_TRUE(SetEngineField(config, "max_num_seqs", Json(8)).ok());
  EXPECT_EQ(config.scheduler.max_num_seqs, 8);
  EXPECT_TRUE(SetEngineFlag(config, "kv-cache-memory-bytes", "2g").ok());
  EXPECT_EQ(config.cache.kv_cache_memory_bytes, 2000000000);
  EXPECT_TRUE(SetEngineFlag(config, "dtype", "half").ok());
  EXPECT_EQ(config.model.dtype, ModelDtype::kFloat16);
  EXPECT_TRUE(SetEngineField(config, "max-model-len", Json(4096)).ok());
  EXPECT_EQ(config.model.max_model_len, "4096");
  EXPECT_TRUE(SetEngineFlag(config, "hf-overrides", R"({"rope_theta": 5.0})").ok());
  EXPECT_EQ(config.model.hf_overrides.Dump(), R"({"rope_theta":5.0})");
}

TEST(EngineOptions, SwitchesAreTurnedOffByNo) {
  EngineConfig config;
  EXPECT_TRUE(SetEngineFlag(config, "no-mmap", "").ok());
  EXPECT_FALSE(config.model.use_mmap);
  EXPECT_TRUE(SetEngineFlag(config, "mmap", "").ok());
  EXPECT_TRUE(config.model.use_mmap);
  EXPECT_TRUE(SetEngineFlag(config, "no-enable-prefix-caching", "").ok());
  EXPECT_FALSE(config.cache.enable_prefix_caching);
  EXPECT_EQ(SetEngineFlag(config, "no-mmap", "true").message(), "no-mmap: takes no value");
  EXPECT_FALSE(SetEngineFlag(config, "no-threads", "").ok());
}

TEST(EngineOptions, MessagesNameTheOption) {
  EngineConfig config;
  EXPECT_EQ(SetEngineFlag(config, "block-size", "x").message(),
            "block-size: must be a count such as 4096, 4k, 4K or 1.5m, got 'x'");
  EXPECT_EQ(SetEngineField(config, "block_size", Json("x")).message(),
            "block-size: must be an integer, got a string");
  EXPECT_EQ(SetEngineFlag(config, "max-num-seq", "4").message(),
            "max-num-seq: there is no such engine option; did you mean max-num-seqs?");
  EXPECT_EQ(SetEngineFlag(config, "kv-cache-dtype", "fp8").message(),
            "kv-cache-dtype: 'fp8' is not supported, only auto, float32, float16, bfloat16, "
            "int8_per_token_head, int8");
  EXPECT_FALSE(EngineConfigFromJson(Json(JsonObject{{"frobnicate", Json(1)}})).ok());
  EXPECT_FALSE(EngineConfigFromJson(Json(1)).ok());
}

TEST(SamplingParamsByName, AreSetFromJsonUnderVllmsNames) {
  const auto body = ParseJson(R"({
    "n": 2, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "typical_p": 0.9,
    "presence_penalty": 0.1, "frequency_penalty": 0.2, "repetition_penalty": 1.1, "seed": 7,
    "stop": "end", "stop_token_ids": [3], "ignore_eos": true, "max_tokens": 50, "min_tokens": 2,
    "logprobs": 3, "prompt_logprobs": true, "logprob_token_ids": [1, 2, 3], "detokenize": true,
    "skip_special_tokens": false, "spaces_between_special_tokens": false,
    "include_stop_str_in_output": true, "logit_bias": {"5": -1}, "allowed_token_ids": [1, 2],
    "bad_words": ["bad"], "truncate_prompt_tokens": -1,
    "repetition_detection": {"max_pattern_size": 3, "min_pattern_size": 0, "min_count": 2},
    "thinking_token_budget": 9})");
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->object().size(), NumListed<SamplingParams>());
  SamplingParams params;
  for (const auto& [name, value] : body->object()) {
    EXPECT_EQ(SetSamplingField(params, name, value).message(), "");
    EXPECT_TRUE(IsSamplingParam(name));
  }
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.stop, std::vector<std::string>{"end"});
  EXPECT_EQ(params.prompt_logprobs, 1);
  Json expected = *body;
  expected["stop"] = Json(JsonArray{Json("end")});
  expected["prompt_logprobs"] = Json(1);
  expected["logit_bias"] = Json(JsonObject{{"5", Json(-1.0)}});
  EXPECT_EQ(ToJson(params).Dump(), expected.Dump());
}

TEST(SamplingParamsByName, FlagsAddUpWhereTheyAreLists) {
  SamplingParams params;
  EXPECT_TRUE(SetSamplingFlag(params, "stop", "a").ok());
  EXPECT_TRUE(SetSamplingFlag(params, "stop", "b").ok());
  EXPECT_EQ(params.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(SetSamplingFlag(params, "stop-token-ids", "4,5").ok());
  EXPECT_EQ(params.stop_token_ids, (std::vector<TokenId>{4, 5}));
  EXPECT_TRUE(SetSamplingFlag(params, "no-skip-special-tokens", "").ok());
  EXPECT_FALSE(params.skip_special_tokens);
  EXPECT_TRUE(SetSamplingFlag(params, "max-tokens", "none").ok());
  EXPECT_EQ(params.max_tokens, std::nullopt);
}

TEST(SamplingParamsByName, NullMeansNotSet) {
  SamplingParams params;
  params.logprobs = 4;
  EXPECT_TRUE(SetSamplingField(params, "temperature", Json()).ok());
  EXPECT_EQ(params.temperature, 1.0);
  EXPECT_TRUE(SetSamplingField(params, "logprobs", Json(false)).ok());
  EXPECT_EQ(params.logprobs, std::nullopt);
}

TEST(SamplingParamsByName, MessagesNameTheParameter) {
  SamplingParams params;
  EXPECT_EQ(SetSamplingField(params, "top_k", Json(0.5)).message(),
            "top_k: must be an integer, got 0.5");
  EXPECT_EQ(SetSamplingField(params, "temperature", Json("hot")).message(),
            "temperature: must be a number, got a string");
  EXPECT_EQ(SetSamplingField(params, "temprature", Json(1)).message(),
            "temprature: there is no such sampling parameter; did you mean temperature?");
  EXPECT_FALSE(SetSamplingField(params, "bad_words_ids", Json(JsonArray{})).ok());
  EXPECT_FALSE(IsSamplingParam("bad_words_ids"));
  EXPECT_FALSE(SetSamplingField(params, "output_kind", Json(1)).ok());
}

// The values of a column of a file of tab-separated lines, each split at spaces.
std::set<std::string> WordsOfColumn(const std::string& path, int column) {
  std::set<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::stringstream cells(line);
    std::string cell;
    for (int i = 0; i <= column; ++i) std::getline(cells, cell, '\t');
    std::stringstream text(cell);
    for (std::string word; text >> word;) words.insert(word);
  }
  return words;
}

TEST(EngineOptions, HaveTheNamesOfVllmsFlags) {
  const std::string path = TestDataPath("compat/serve-flags.tsv");
  if (path.empty()) GTEST_SKIP() << "compat/serve-flags.tsv is absent";
  const std::set<std::string> flags = WordsOfColumn(path, 0);
  // vLLM had the last two and dropped them.
  const std::set<std::string> own = {"compute-dtype",
                                     "mmap",
                                     "mlock",
                                     "packed-cache",
                                     "packed-cache-bytes",
                                     "prefault-kv-cache",
                                     "threads",
                                     "pin",
                                     "grammar-compile-timeout",
                                     "max-num-partial-prefills",
                                     "max-long-partial-prefills"};
  for (const OptionDescription& option : DescribeEngineOptions()) {
    EXPECT_NE(flags.contains("--" + option.name), own.contains(option.name)) << option.name;
  }
}

TEST(SamplingParamsByName, HaveVllmsNames) {
  const std::string path = TestDataPath("compat/sampling-params.tsv");
  if (path.empty()) GTEST_SKIP() << "compat/sampling-params.tsv is absent";
  const std::set<std::string> fields = WordsOfColumn(path, 1);
  // vLLM has the second one as a field of requests, not of SamplingParams.
  const std::set<std::string> own = {"typical_p", "truncate_prompt_tokens"};
  for (const OptionDescription& option : DescribeSamplingParams()) {
    EXPECT_NE(fields.contains(option.name), own.contains(option.name)) << option.name;
  }
}

TEST(Descriptions, SayTypeDefaultAndChoices) {
  std::map<std::string, OptionDescription> options;
  for (OptionDescription& option : DescribeEngineOptions()) options[option.name] = option;
  for (OptionDescription& option : DescribeSamplingParams()) options[option.name] = option;
  EXPECT_EQ(options["max-num-seqs"].type, "INT");
  EXPECT_EQ(options["max-num-seqs"].default_text, "256");
  EXPECT_EQ(options["max-num-seqs"].group, "Scheduler");
  EXPECT_EQ(options["scheduling-policy"].type, "fcfs|priority");
  EXPECT_EQ(options["scheduling-policy"].default_text, "fcfs");
  EXPECT_TRUE(options["mmap"].is_switch);
  EXPECT_EQ(options["mmap"].default_text, "true");
  EXPECT_EQ(options["kv-cache-memory-bytes"].default_text, "");
  EXPECT_EQ(options["temperature"].type, "NUMBER");
  EXPECT_TRUE(options["stop"].is_repeatable);
  EXPECT_EQ(options["logit_bias"].type, "JSON");
  EXPECT_EQ(options["allowed_token_ids"].type, "IDS");
}

}  // namespace
}  // namespace quire
