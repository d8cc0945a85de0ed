// quire bench latency and quire bench throughput, with the flags and the JSON of vLLM's.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/quire/bench.h"
#include "apps/quire/bench_load.h"
#include "apps/quire/bench_machine.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/terminal.h"
#include "base/percentile.h"
#include "base/strings.h"
#include "engine/llm.h"

namespace quire {

namespace {

struct BenchOptions {
  EngineConfig config;
  BenchLoad load;
  BenchOutput output;
  int num_iters_warmup = 0;
  int num_iters = 1;
  bool disable_detokenize = false;
  bool measure_memory = false;
};

void AddFlags(FlagSet& flags, BenchOptions& options) {
  flags.Group("Load");
  flags.Add("input-len", options.load.input_len, "Tokens of each prompt, chosen at random");
  flags.Add("output-len", options.load.output_len, "Tokens of each answer");
  flags.Add("n", options.load.n, "Answers of each prompt");
  flags.Add("disable-detokenize", options.disable_detokenize, "Do not turn tokens into text");
  AddOutputFlags(flags, options.output);
}

// False when --help was given.
Result<bool> ParseFlags(FlagSet& flags, Args args, BenchOptions& options) {
  AddEngineFlags(flags, options.config);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return false;
  QUIRE_RETURN_IF_ERROR(TakeOnlyModel(flags, options.config));
  options.load.detokenize = !options.disable_detokenize;
  return true;
}

Status RequireAtLeast(const char* name, int value, int least) {
  if (value >= least) return {};
  return InvalidArgument(StrCat("--", name, ": must be at least ", least, ", got ", value));
}

double Rate(double count, double seconds) { return seconds > 0.0 ? count / seconds : 0.0; }

// Rates of each run, of which the median counts.
struct Rates {
  std::vector<double> latencies_s;
  std::vector<double> first_token_ms;
  std::vector<double> prefill;
  std::vector<double> decode;
  std::vector<double> memory_gb_per_s;  // around each run; empty: not measured

  void Add(const BenchLoad& load, const BenchTimes& times) {
    latencies_s.push_back(times.total_s);
    first_token_ms.push_back(times.first_token_s * 1e3);
    prefill.push_back(
        Rate(static_cast<double>(load.num_prompts) * load.input_len, times.prefill_s));
    decode.push_back(
        Rate(static_cast<double>(times.num_decode_tokens), times.total_s - times.prefill_s));
  }
};

Json NumbersOf(const std::vector<double>& values) {
  JsonArray numbers;
  for (const double value : values) numbers.emplace_back(value);
  return numbers;
}

constexpr double kPercents[] = {10, 25, 50, 75, 90, 99};

Json LatencyJson(const BenchLoad& load, const Rates& rates) {
  double sum = 0.0;
  for (const double latency : rates.latencies_s) sum += latency;
  JsonObject percentiles;
  for (const double percent : kPercents) {
    percentiles.emplace_back(Fixed(percent, 0), Json(Percentile(rates.latencies_s, percent)));
  }
  JsonObject object{{"avg_latency", Json(sum / static_cast<double>(rates.latencies_s.size()))},
                    {"latencies", NumbersOf(rates.latencies_s)},
                    {"percentiles", Json(std::move(percentiles))},
                    {"batch_size", Json(load.num_prompts)},
                    {"input_len", Json(load.input_len)},
                    {"output_len", Json(load.output_len)},
                    {"first_token_ms", Json(Median(rates.first_token_ms))},
                    {"prefill_tokens_per_s", Json(Median(rates.prefill))},
                    {"decode_tokens_per_s", Json(Median(rates.decode))}};
  if (!rates.memory_gb_per_s.empty()) {
    object.emplace_back("decode_tokens_per_s_of_runs", NumbersOf(rates.decode));
    object.emplace_back("memory_gb_per_s_of_runs", NumbersOf(rates.memory_gb_per_s));
  }
  return object;
}

std::string LatencyText(const BenchLoad& load, const Json& result) {
  const auto number = [&](const char* name) { return result.Find(name)->number(); };
  std::string text =
      StrCat("batch of ", load.num_prompts, ", ", load.input_len, " tokens in, ", load.output_len,
             " out\n", "Avg latency: ", Fixed(number("avg_latency"), 4), " seconds\n");
  for (const auto& [percent, value] : result.Find("percentiles")->object()) {
    text += StrCat(percent, "% percentile latency: ", Fixed(value.number(), 4), " seconds\n");
  }
  return text + StrCat("First token:  ", Fixed(number("first_token_ms"), 1), " ms\n",
                       "Prefill:      ", Fixed(number("prefill_tokens_per_s"), 1), " tokens/s\n",
                       "Decode:       ", Fixed(number("decode_tokens_per_s"), 1), " tokens/s\n");
}

Result<Rates> MeasureRuns(Llm& llm, BenchOptions& options) {
  std::optional<MemoryMeter> memory;
  if (options.measure_memory) {
    const ParallelOptions& parallel = options.config.parallel;
    memory.emplace(ThreadPoolOptions{.num_threads = parallel.threads, .pin = parallel.pin});
  }
  ProgressLine progress;
  Rates rates;
  for (int run = -options.num_iters_warmup; run < options.num_iters; ++run, ++options.load.seed) {
    const bool is_measured = run >= 0;
    progress.Show(is_measured ? StrCat("run ", run + 1, " of ", options.num_iters)
                              : StrCat("warming up: run ", run + options.num_iters_warmup + 1,
                                       " of ", options.num_iters_warmup));
    const double before = memory && is_measured ? memory->Read() : 0.0;
    QUIRE_ASSIGN_OR_RETURN(const BenchTimes times, RunLoad(llm, options.load, {}));
    if (!is_measured) continue;
    rates.Add(options.load, times);
    if (memory) rates.memory_gb_per_s.push_back((before + memory->Read()) / 2e9);
  }
  progress.Clear();
  return rates;
}

}  // namespace

Status RunBenchLatency(Args args) {
  BenchOptions options;
  options.num_iters_warmup = 10;
  options.num_iters = 30;
  options.config.cache.enable_prefix_caching = false;
  FlagSet flags("bench latency [MODEL] [flags]",
                "Runs one batch of prompts to its end, again and again, and tells how long it "
                "takes. Rates are medians over the runs.");
  AddFlags(flags, options);
  flags.Group("Load");
  flags.Add("batch-size", options.load.num_prompts, "Prompts at once");
  flags.Add("num-iters-warmup", options.num_iters_warmup, "Runs before the measured ones");
  flags.Add("num-iters", options.num_iters, "Measured runs");
  flags.Add("measure-memory", options.measure_memory,
            "Read memory before and after each run; the JSON then has each run's decode rate and "
            "the mean of those two readings");
  flags.AddExample("quire bench latency --input-len 512 --output-len 64 --batch-size 1 --json");
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, ParseFlags(flags, args, options));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(RequireAtLeast("batch-size", options.load.num_prompts, 1));
  QUIRE_RETURN_IF_ERROR(RequireAtLeast("num-iters", options.num_iters, 1));
  QUIRE_RETURN_IF_ERROR(RequireAtLeast("num-iters-warmup", options.num_iters_warmup, 0));
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  QUIRE_ASSIGN_OR_RETURN(const Rates rates, MeasureRuns(*llm, options));
  const Json result = LatencyJson(options.load, rates);
  return WriteBenchResult(options.output, LatencyText(options.load, result), result);
}

Status RunBenchThroughput(Args args) {
  BenchOptions options;
  options.load.num_prompts = 1000;
  options.load.input_len = 1024;
  FlagSet flags("bench throughput [MODEL] [flags]",
                "Hands the engine many prompts at once and tells how fast it answers them all.");
  AddFlags(flags, options);
  flags.Group("Load");
  flags.Add("num-prompts", options.load.num_prompts, "Prompts in all");
  flags.AddExample("quire bench throughput --num-prompts 64 --input-len 128 --output-len 64");
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, ParseFlags(flags, args, options));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(RequireAtLeast("num-prompts", options.load.num_prompts, 1));
  options.config.scheduler.max_waiting =
      std::max(options.config.scheduler.max_waiting, options.load.num_prompts);
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  ProgressLine progress;
  const auto show = [&](int num_done) {
    if (!progress.is_due()) return;
    const SchedulerStats stats = llm->stats();
    progress.Show(StrCat(num_done, " of ", options.load.num_prompts, " prompts, ",
                         stats.num_running, " running, ", stats.num_waiting, " waiting"));
  };
  QUIRE_ASSIGN_OR_RETURN(const BenchTimes times, RunLoad(*llm, options.load, show));
  progress.Clear();
  const double prompts = options.load.num_prompts;
  const double input = prompts * options.load.input_len;
  const auto output = static_cast<double>(times.num_output_tokens);
  const Json result = JsonObject{
      {"elapsed_time", Json(times.total_s)},
      {"num_requests", Json(options.load.num_prompts)},
      {"total_num_tokens", Json(static_cast<std::int64_t>(input + output))},
      {"requests_per_second", Json(Rate(prompts, times.total_s))},
      {"tokens_per_second", Json(Rate(input + output, times.total_s))},
      {"output_tokens_per_second", Json(Rate(output, times.total_s))},
      {"first_token_ms", Json(times.first_token_s * 1e3)},
      {"prefill_tokens_per_s", Json(Rate(input, times.prefill_s))},
      {"decode_tokens_per_s",
       Json(Rate(static_cast<double>(times.num_decode_tokens), times.total_s - times.prefill_s))}};
  const std::string text =
      StrCat("Throughput: ", Fixed(Rate(prompts, times.total_s), 2), " requests/s, ",
             Fixed(Rate(input + output, times.total_s), 2), " total tokens/s, ",
             Fixed(Rate(output, times.total_s), 2), " output tokens/s\n",
             "Total num prompt tokens:  ", static_cast<std::int64_t>(input), "\n",
             "Total num output tokens:  ", times.num_output_tokens, "\n",
             "Mean time to first token: ", Fixed(times.first_token_s * 1e3, 1), " ms\n");
  return WriteBenchResult(options.output, text, result);
}

}  // namespace quire
