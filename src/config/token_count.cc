#include "config/token_count.h"

#include <limits>
#include <optional>

#include "base/strings.h"

namespace quire {

namespace {

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxFractionDigits = 15;  // more than any sensible count has

// What a letter after the digits multiplies them with; nullopt for another letter.
std::optional<std::int64_t> Multiplier(char letter) {
  constexpr std::string_view kDecimal = "kmgt";
  constexpr std::string_view kBinary = "KMGT";
  std::int64_t multiplier = 1;
  if (const std::size_t power = kDecimal.find(letter); power != std::string_view::npos) {
    for (std::size_t i = 0; i <= power; ++i) multiplier *= 1000;
    return multiplier;
  }
  if (const std::size_t power = kBinary.find(letter); power != std::string_view::npos) {
    for (std::size_t i = 0; i <= power; ++i) multiplier *= 1024;
    return multiplier;
  }
  return std::nullopt;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// `fraction`, the digits after the point, times `multiplier`, rounded down: digit by digit from
// the last one, so that nothing is lost and nothing overflows.
std::int64_t FractionOf(std::string_view fraction, std::int64_t multiplier) {
  __extension__ using Wide = unsigned __int128;
  Wide digits = 0;
  Wide scale = 1;
  for (const char digit : fraction) {
    digits = digits * 10 + static_cast<Wide>(digit - '0');
    scale *= 10;
  }
  return static_cast<std::int64_t>(digits * static_cast<Wide>(multiplier) / scale);
}

}  // namespace

Result<std::int64_t> ParseTokenCount(std::string_view text) {
  const auto refuse = [&](std::string_view reason) {
    return InvalidArgument(StrCat(reason, ", got '", Printable(text), "'"));
  };
  std::string_view digits = text;
  std::int64_t multiplier = 1;
  if (!digits.empty()) {
    if (const auto factor = Multiplier(digits.back())) {
      multiplier = *factor;
      digits.remove_suffix(1);
    }
  }
  std::string_view fraction;
  if (const std::size_t point = digits.find('.'); point != std::string_view::npos) {
    fraction = digits.substr(point + 1);
    digits = digits.substr(0, point);
    if (multiplier == 1 || !IsDigits(fraction) || fraction.size() > kMaxFractionDigits) {
      return refuse("must be a count such as 4096, 4k, 4K or 1.5m");
    }
  }
  if (!IsDigits(digits)) return refuse("must be a count such as 4096, 4k, 4K or 1.5m");
  const auto whole = ParseNumber<std::int64_t>(digits);
  const std::int64_t part = FractionOf(fraction, multiplier);
  if (!whole || *whole > (kMaxCount - part) / multiplier) {
    return refuse(StrCat("must be at most ", kMaxCount));
  }
  return *whole * multiplier + part;
}

Result<MaxModelLen> ParseMaxModelLen(std::string_view text) {
  if (text.empty()) return MaxModelLen(ModelsOwnLength{});
  if (text == "auto" || text == "-1") return MaxModelLen(LengthThatFits{});
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t tokens, ParseTokenCount(text));
  if (tokens < 1) return InvalidArgument("must be at least 1, got 0");
  return MaxModelLen(tokens);
}

}  // namespace quire
