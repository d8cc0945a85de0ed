// What the tests of tokenizers and chat templates share: the reference data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "tokenizer/tokenizer.h"

namespace quire::testing {

// The folder of the reference data; empty where there is none.
inline std::filesystem::path ReferenceData() {
  namespace fs = std::filesystem;
  const char* named = std::getenv("QUIRE_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
  if (named != nullptr && *named != '\0') return named;
  const char* source = std::getenv("QUIRE_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const fs::path root = source != nullptr && *source != '\0'
                            ? fs::path(source)
                            : fs::path(__FILE__).parent_path() / ".." / "..";
  std::error_code error;
  const fs::path found = root / ".." / "shared" / "data";
  return fs::is_directory(found, error) ? found : fs::path();
}

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// The rows of a file with one JSON value a line.
inline std::vector<Json> ReadJsonLines(const std::filesystem::path& path) {
  std::vector<Json> rows;
  const std::string text = ReadText(path);
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty()) continue;
    Result<Json> row = ParseJson(line);
    if (row.ok()) rows.push_back(*std::move(row));
  }
  return rows;
}

inline std::vector<TokenId> Ids(const Json& array) {
  std::vector<TokenId> ids;
  for (const Json& id : array.array()) ids.push_back(static_cast<TokenId>(id.integer()));
  return ids;
}

// A tokenizer made of a GGUF file, which it does not need any more.
inline Result<std::shared_ptr<const Tokenizer>> LoadGguf(const std::filesystem::path& path) {
  const std::string bytes = ReadText(path);
  Result<GgufHeader> header = GgufHeader::Parse(std::as_bytes(std::span(bytes)));
  if (!header.ok()) return header.status();
  return Tokenizer::FromGguf(*header);
}

}  // namespace quire::testing
