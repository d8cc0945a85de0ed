// Keys that open routes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http.h"

namespace quire {

// Keys as hashes: the keys themselves are not kept. Immutable; any thread.
class KeyRing {
 public:
  KeyRing() = default;
  explicit KeyRing(const std::vector<std::string>& keys);

  bool empty() const { return hashes_.empty(); }
  // Takes equally long whatever `key` is, but for its length.
  bool Accepts(std::string_view key) const;
  // Whether the request brings one of the keys: "Authorization: Bearer KEY" or "X-Api-Key: KEY".
  bool Admits(const HttpRequest& request) const;

 private:
  using Hash = std::array<unsigned char, 32>;
  static Hash HashOf(std::string_view key);
  std::vector<Hash> hashes_;
};

// The keys of a file, one a line; blanks around them and empty lines are passed over. At most 1 MB.
Result<std::vector<std::string>> ReadKeyFile(const std::string& path);

}  // namespace quire
