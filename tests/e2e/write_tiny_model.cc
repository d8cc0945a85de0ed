// Writes the small random model, with a tokenizer, for tests that are programs of their own.
#include <cstdio>

#include "tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_tiny_model FOLDER\n");
    return 2;
  }
  quire::Status status = quire::WriteTinyModel(argv[1]);
  if (status.ok()) status = quire::WriteTinyTokenizer(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
