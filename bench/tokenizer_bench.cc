// Encoding, decoding and loading with the default model's vocabulary.
//
// QUIRE_TEST_DATA names the reference data (tokenizers/real/smollm2); without it there is nothing
// to measure. tools/tokenizer_speed.py runs this beside the `tokenizers` package.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "formats/gguf.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace {

using quire::Tokenizer;

std::string DataFolder() {
  const char* data = std::getenv("QUIRE_TEST_DATA");
  return data == nullptr ? std::string() : std::string(data) + "/tokenizers/real/";
}

const Tokenizer* Load(benchmark::State& state, const std::string& name) {
  const auto tokenizer = Tokenizer::FromHfFolder(DataFolder() + name);
  if (!tokenizer.ok()) {
    state.SkipWithError(tokenizer.status().message().c_str());
    return nullptr;
  }
  static const auto* kept = new std::shared_ptr<const Tokenizer>();
  *const_cast<std::shared_ptr<const Tokenizer>*>(kept) = *tokenizer;
  return kept->get();
}

// English prose, repeated with numbered lines so that no two pages are the same.
std::string Prose(std::size_t num_bytes) {
  std::ifstream stream("/usr/share/common-licenses/GPL-3", std::ios::binary);
  std::string page(std::istreambuf_iterator<char>(stream), {});
  if (page.empty()) page = "The quick brown fox jumps over the lazy dog. It's 2026.\n";
  std::string out;
  for (int i = 0; out.size() < num_bytes; ++i) out += "Page " + std::to_string(i) + "\n" + page;
  out.resize(num_bytes);
  return out;
}

void EncodeText(benchmark::State& state, const std::string& text) {
  const Tokenizer* tokenizer = Load(state, "smollm2");
  if (tokenizer == nullptr) return;
  std::size_t num_ids = 0;
  for (auto _ : state) {
    num_ids = tokenizer->Encode(text)->size();
    benchmark::DoNotOptimize(num_ids);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["ids"] = static_cast<double>(num_ids);
}

void BM_EncodeProse(benchmark::State& state) {
  EncodeText(state, Prose(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_EncodeProse)->Arg(1 << 10)->Arg(32 << 10)->Arg(1 << 20);

std::string Repeated(const std::string& unit, std::size_t num_bytes) {
  std::string out;
  while (out.size() < num_bytes) out += unit;
  return out;
}

void BM_EncodeOneLetter(benchmark::State& state) {
  EncodeText(state, Repeated("a", static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_EncodeOneLetter)->Arg(32 << 10)->Arg(1 << 20);

void BM_EncodeSpaces(benchmark::State& state) {
  EncodeText(state, Repeated(" ", static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_EncodeSpaces)->Arg(32 << 10)->Arg(1 << 20);

void BM_EncodeEmoji(benchmark::State& state) {
  EncodeText(state, Repeated("\U0001F600", static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_EncodeEmoji)->Arg(32 << 10)->Arg(1 << 20);

void BM_EncodeWithoutSplitPoint(benchmark::State& state) {
  EncodeText(state,
             Repeated("qwertyuiopasdfghjklzxcvbnm", static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_EncodeWithoutSplitPoint)->Arg(32 << 10)->Arg(1 << 20);

// A chat of 64 KiB that grows by one turn: with a prefix cache only the turn is encoded.
void BM_EncodeNextTurn(benchmark::State& state) {
  const Tokenizer* tokenizer = Load(state, "smollm2");
  if (tokenizer == nullptr) return;
  std::string chat;
  for (int i = 0; chat.size() < (64u << 10); ++i) {
    chat += "<|im_start|>user\n" + Prose(700 + i % 7) + "<|im_end|>\n";
  }
  int turn = 0;
  for (auto _ : state) {
    const std::string text =
        chat + "<|im_start|>user\nQuestion " + std::to_string(turn++) + "?<|im_end|>\n";
    benchmark::DoNotOptimize(tokenizer->Encode(text)->size());
  }
}
BENCHMARK(BM_EncodeNextTurn);

void BM_Detokenize(benchmark::State& state) {
  const Tokenizer* tokenizer = Load(state, "smollm2");
  if (tokenizer == nullptr) return;
  const auto ids = *tokenizer->Encode(Prose(32 << 10));
  for (auto _ : state) {
    quire::IncrementalDetokenizer stream(*tokenizer);
    for (const quire::TokenId id : ids) benchmark::DoNotOptimize(stream.Append(id));
    benchmark::DoNotOptimize(stream.Finish());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * ids.size()));
}
BENCHMARK(BM_Detokenize);

void BM_LoadFolder(benchmark::State& state, const std::string& name) {
  for (auto _ : state) {
    const auto tokenizer = Tokenizer::FromHfFolder(DataFolder() + name);
    if (!tokenizer.ok()) {
      state.SkipWithError(tokenizer.status().message().c_str());
      return;
    }
  }
}
BENCHMARK_CAPTURE(BM_LoadFolder, smollm2, std::string("smollm2"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_LoadFolder, qwen2_5, std::string("qwen2.5"))->Unit(benchmark::kMillisecond);

void BM_LoadGguf(benchmark::State& state) {
  const char* home = std::getenv("HOME");
  std::ifstream stream(std::string(home == nullptr ? "" : home) +
                           "/.cache/quire/models/SmolLM2-135M-Instruct.Q4_1.gguf",
                       std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  if (bytes.empty()) {
    state.SkipWithError("the default model is absent");
    return;
  }
  for (auto _ : state) {
    const auto header = quire::GgufHeader::Parse(std::as_bytes(std::span(bytes)));
    const auto tokenizer = Tokenizer::FromGguf(*header);
    benchmark::DoNotOptimize(tokenizer.ok());
  }
}
BENCHMARK(BM_LoadGguf)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
