// Integers that only compare and index as what they count.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace quire {

// Id: an integer with a type of its own; BlockId(1) == RequestId(1) does not compile.
template <typename Tag, typename Rep = std::int32_t>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = -1;
};

// A KV block, an index into the block pool; 0 is the null block.
using BlockId = Id<struct BlockIdTag>;
// A request inside one engine, unique for the engine's life.
using RequestId = Id<struct RequestIdTag, std::int64_t>;

// A vocabulary index; plain because it is what models, tokenizers and clients exchange.
using TokenId = std::int32_t;

}  // namespace quire

template <typename Tag, typename Rep>
struct std::hash<quire::Id<Tag, Rep>> {
  std::size_t operator()(quire::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>()(id.value());
  }
};
