#include "server/auth.h"

#include <fstream>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/strings.h"
#include "server/http_wire.h"

namespace quire {

namespace {

constexpr std::size_t kMaxKeyFileBytes = std::size_t{1} << 20;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The key of "Bearer KEY", whatever the case of the scheme; empty where there is none.
std::string_view BearerKey(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!EqualsIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return {};
  return Trim(authorization.substr(kScheme.size()));
}

}  // namespace

KeyRing::Hash KeyRing::HashOf(std::string_view key) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), hash.data());
  return hash;
}

KeyRing::KeyRing(const std::vector<std::string>& keys) {
  hashes_.reserve(keys.size());
  for (const std::string& key : keys) hashes_.push_back(HashOf(key));
}

bool KeyRing::Accepts(std::string_view key) const {
  const Hash hash = HashOf(key);
  bool is_known = false;
  for (const Hash& known : hashes_) {
    is_known |= CRYPTO_memcmp(hash.data(), known.data(), hash.size()) == 0;
  }
  return is_known;
}

bool KeyRing::Admits(const HttpRequest& request) const {
  const std::string_view bearer = BearerKey(request.header("authorization"));
  if (!bearer.empty()) return Accepts(bearer);
  const std::string_view key = request.header("x-api-key");
  return !key.empty() && Accepts(key);
}

Result<std::vector<std::string>> ReadKeyFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument(StrCat(Printable(path), ": cannot be read"));
  std::string text(kMaxKeyFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxKeyFileBytes) {
    return InvalidArgument(StrCat(Printable(path), ": is longer than 1 MB"));
  }
  std::vector<std::string> keys;
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view key = Trim(line);
    if (!key.empty()) keys.emplace_back(key);
  }
  if (keys.empty()) return InvalidArgument(StrCat(Printable(path), ": holds no key"));
  return keys;
}

}  // namespace quire
