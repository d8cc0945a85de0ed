#include "engine/load_tokenizer.h"

#include <filesystem>
#include <system_error>

#include "base/strings.h"
#include "formats/gguf.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

Result<std::shared_ptr<const Tokenizer>> FromGgufFile(const std::string& path) {
  QUIRE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  if (!header.ok()) return header.status().With(path);
  auto tokenizer = Tokenizer::FromGguf(*header);
  if (!tokenizer.ok()) return tokenizer.status().With(path);
  return tokenizer;
}

// The metadata of a split model stands in its first part.
std::string FirstPart(const std::filesystem::path& path) {
  const auto split = ParseGgufSplitName(path.filename().string());
  if (!split) return path.string();
  return (path.parent_path() / GgufSplitFileName(*split, 1)).string();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> LoadTokenizer(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.extension() == ".gguf") return FromGgufFile(FirstPart(file));
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return NotFound(StrCat(Printable(path, 200), ": no such file or folder"));
  }
  if (std::filesystem::is_directory(file, error)) return Tokenizer::FromHfFolder(path);
  const std::filesystem::path folder = file.parent_path();
  return Tokenizer::FromHfFolder(folder.empty() ? "." : folder.string());
}

}  // namespace quire
