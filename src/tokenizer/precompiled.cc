#include "tokenizer/precompiled.h"

#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tokenizer/graphemes.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

// A unit of the double array, as the darts-clone library lays it out.
bool HasLeaf(std::uint32_t unit) { return unit >> 8 & 1; }
std::uint32_t ValueOf(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t LabelOf(std::uint32_t unit) { return unit & (0x80000000 | 0xFF); }
std::uint32_t OffsetOf(std::uint32_t unit) { return unit >> 10 << ((unit & (1u << 9)) >> 6); }

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(CharsMap map) : map_(std::move(map)) {}

  Status Apply(std::string& text) const override {
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = FirstGrapheme(rest);
      AppendMapped(rest.substr(0, length), out);
      rest.remove_prefix(length);
    }
    text = std::move(out);
    return {};
  }

 private:
  static constexpr std::size_t kLongestCluster = 5;  // longer ones are taken apart

  void AppendMapped(std::string_view cluster, std::string& out) const {
    if (cluster.size() <= kLongestCluster) {
      if (const auto match = map_.FindShortest(cluster)) {
        out += match->value;
        return;
      }
    }
    while (!cluster.empty()) {
      const std::string_view part = cluster.substr(0, FirstCodePoint(cluster).length);
      const auto match = map_.FindShortest(part);
      out += match ? match->value : part;
      cluster.remove_prefix(part.size());
    }
  }

  CharsMap map_;
};

}  // namespace

Result<CharsMap> CharsMap::Parse(std::string_view blob) {
  CharsMap map;
  if (blob.empty()) return map;
  std::uint32_t trie_bytes = 0;
  if (blob.size() < 4) return InvalidArgument("precompiled_charsmap: shorter than its header");
  std::memcpy(&trie_bytes, blob.data(), 4);
  if (trie_bytes > blob.size() - 4 || trie_bytes % 4 != 0) {
    return InvalidArgument(
        StrCat("precompiled_charsmap: table of ", trie_bytes, " bytes in ", blob.size() - 4));
  }
  map.units_.resize(trie_bytes / 4);
  if (trie_bytes > 0) std::memcpy(map.units_.data(), blob.data() + 4, trie_bytes);
  map.values_ = std::string(blob.substr(4 + trie_bytes));
  map.values_ += '\0';
  if (!IsValidUtf8(map.values_)) return InvalidArgument("precompiled_charsmap: not valid UTF-8");
  return map;
}

std::optional<CharsMap::Match> CharsMap::Find(std::string_view text, bool longest) const {
  std::optional<Match> found;
  if (units_.empty()) return found;
  std::size_t at = OffsetOf(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) break;  // no key holds one
    at ^= byte;
    if (at >= units_.size() || LabelOf(units_[at]) != byte) break;
    const std::uint32_t unit = units_[at];
    at ^= OffsetOf(unit);
    if (!HasLeaf(unit)) continue;
    if (at >= units_.size()) break;
    const std::uint32_t start = ValueOf(units_[at]);
    if (start >= values_.size() || (values_[start] & 0xC0) == 0x80) break;
    found = Match{i + 1, std::string_view(values_.c_str() + start)};
    if (!longest) break;
  }
  return found;
}

std::unique_ptr<const Normalizer> MakePrecompiled(CharsMap map) {
  return std::make_unique<Precompiled>(std::move(map));
}

Result<std::unique_ptr<const Normalizer>> MakePrecompiledFromBase64(std::string_view text) {
  const std::optional<std::string> blob = DecodeBase64(text);
  if (!blob) return InvalidArgument("precompiled_charsmap: not base64");
  QUIRE_ASSIGN_OR_RETURN(CharsMap map, CharsMap::Parse(*blob));
  return MakePrecompiled(std::move(map));
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  const auto value_of = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    out += static_cast<char>(bits >> num_bits & 0xFF);
  }
  return out;
}

}  // namespace quire
