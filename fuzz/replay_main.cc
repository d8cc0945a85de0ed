// main() of a fuzz target built without libFuzzer: runs it over the files and folders that are
// its arguments.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& argument) {
  if (!std::filesystem::is_directory(argument)) return {argument};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  // A copy of exactly the input's size, so that the address sanitizer sees a read past its end.
  const std::vector<char> read(std::istreambuf_iterator<char>(file), {});
  const std::vector<std::uint8_t> input(read.begin(), read.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& path : FilesOf(argv[i])) {
      // The last line of a run that dies names the input.
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      Replay(path);
      ++inputs;
    }
  }
  std::printf("%zu inputs passed\n", inputs);
  return inputs > 0 ? 0 : 1;
}
