// Answers a batch of prompts and shows how far it is.
//
//   generate MODEL [PROMPT …]
#include <cstdio>
#include <string>
#include <vector>

#include "quire/engine.h"

int main(int argc, char** argv) {
  using namespace quire::api;
  if (argc < 2) {
    std::fprintf(stderr, "usage: generate MODEL [PROMPT …]\n");
    return 2;
  }
  auto llm = LLM::Create(argv[1], Options().Set("max-num-seqs", 8));
  if (!llm.ok()) {
    std::fprintf(stderr, "%s\n", llm.status().message().c_str());
    return 1;
  }
  std::vector<Prompt> prompts(argv + 2, argv + argc);
  if (prompts.empty()) prompts = {"The capital of France is", "Water boils at"};

  const auto sampling = Options().Set("temperature", 0.0).Set("max_tokens", 16);
  const auto outputs = llm->Generate(prompts, sampling, [](const Progress& progress) {
    std::fprintf(stderr, "\r%d of %d prompts, %lld tokens ", progress.num_finished,
                 progress.num_prompts, static_cast<long long>(progress.num_generated_tokens));
  });
  std::fprintf(stderr, "\n");
  if (!outputs.ok()) {
    std::fprintf(stderr, "%s\n", outputs.status().message().c_str());
    return 1;
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Output& output = (*outputs)[i];
    if (!output.status.ok()) {
      std::fprintf(stderr, "prompt %zu: %s\n", i, output.status.message().c_str());
      return 1;
    }
    std::printf("%s|%s\n", prompts[i].text.c_str(), output.completions[0].text.c_str());
  }
  return 0;
}
