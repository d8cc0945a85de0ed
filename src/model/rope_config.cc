// Reading how positions turn, in the old and the new style of config.json.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "model/config_reader.h"

namespace quire {
namespace {

constexpr double kMaxTheta = 1e15;
constexpr double kMaxFactor = 1e6;
constexpr IntBounds kPositions = {1, (std::int64_t{1} << 31) - 1};

constexpr std::pair<std::string_view, RopeScaling> kScalings[] = {
    {"default", RopeScaling::kNone},  {"none", RopeScaling::kNone},
    {"linear", RopeScaling::kLinear}, {"dynamic", RopeScaling::kDynamic},
    {"llama3", RopeScaling::kLlama3}, {"yarn", RopeScaling::kYarn},
};

Result<RopeScaling> ReadScaling(const Json& rope) {
  std::optional<std::string> name;
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* member = rope.Find(key);
    if (member == nullptr || member->is_null()) continue;
    QUIRE_ASSIGN_OR_RETURN(name, RequireString(rope, key));
    break;
  }
  if (!name) {
    if (rope.Find("factor") == nullptr) return RopeScaling::kNone;
    return InvalidArgument("rope_type: must say what the factor is for");
  }
  std::vector<std::string> known;
  for (const auto& [key, scaling] : kScalings) {
    if (*name == key) return scaling;
    known.emplace_back(key);
  }
  return Unimplemented(
      StrCat("rope type ", Printable(*name), " is not supported; known are ", Join(known, ", ")));
}

Status ReadLlama3(const Json& rope, RopeConfig& out) {
  QUIRE_ASSIGN_OR_RETURN(out.low_freq_factor,
                         ReadPositiveOr(rope, "low_freq_factor", 1.0, kMaxFactor));
  QUIRE_ASSIGN_OR_RETURN(out.high_freq_factor,
                         ReadPositiveOr(rope, "high_freq_factor", 4.0, kMaxFactor));
  if (out.high_freq_factor <= out.low_freq_factor) {
    return InvalidArgument(StrCat("high_freq_factor: must be above low_freq_factor, got ",
                                  out.high_freq_factor, " and ", out.low_freq_factor));
  }
  return {};
}

Result<std::optional<double>> OptionalNumber(const Json& rope, std::string_view name) {
  const Json* member = rope.Find(name);
  if (member == nullptr || member->is_null()) return std::optional<double>();
  QUIRE_ASSIGN_OR_RETURN(const double value, RequireNumber(rope, name));
  if (!std::isfinite(value) || std::abs(value) > kMaxFactor) {
    return InvalidArgument(StrCat(name, ": must be a number up to ", kMaxFactor, ", got ", value));
  }
  return std::optional<double>(value);
}

Status ReadYarn(const Json& rope, RopeConfig& out) {
  QUIRE_ASSIGN_OR_RETURN(out.beta_fast, ReadPositiveOr(rope, "beta_fast", 32.0, kMaxFactor));
  QUIRE_ASSIGN_OR_RETURN(out.beta_slow, ReadPositiveOr(rope, "beta_slow", 1.0, kMaxFactor));
  QUIRE_ASSIGN_OR_RETURN(out.attention_factor, OptionalNumber(rope, "attention_factor"));
  QUIRE_ASSIGN_OR_RETURN(out.mscale, OptionalNumber(rope, "mscale"));
  QUIRE_ASSIGN_OR_RETURN(out.mscale_all_dim, OptionalNumber(rope, "mscale_all_dim"));
  QUIRE_ASSIGN_OR_RETURN(out.truncate, BoolOr(rope, "truncate", true));
  return {};
}

// The object that describes scaling, empty where the config has none.
Result<Json> RopeObject(const Json& config) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* member = config.Find(key);
    if (member == nullptr || member->is_null()) continue;
    if (!member->is_object()) {
      return InvalidArgument(StrCat(key, ": must be an object, got ", member->kind()));
    }
    for (const auto& [name, value] : member->object()) {
      if (value.is_object()) {
        return Unimplemented(StrCat(key, ".", Printable(name),
                                    ": rotary settings per layer type are not supported for this "
                                    "architecture"));
      }
    }
    return *member;
  }
  return Json(JsonObject{});
}

Status ReadFactor(const Json& config, const Json& rope, const ModelConfig& model, RopeConfig& out) {
  const Json& holder = rope.Find("original_max_position_embeddings") != nullptr ? rope : config;
  QUIRE_ASSIGN_OR_RETURN(
      out.original_max_positions,
      ReadIntOr(holder, "original_max_position_embeddings", model.max_positions, kPositions));
  const Json* factor = rope.Find("factor");
  if (factor == nullptr || factor->is_null()) return InvalidArgument("factor: must be there");
  QUIRE_ASSIGN_OR_RETURN(out.factor, ReadPositiveOr(rope, "factor", 1.0, kMaxFactor));
  return {};
}

// The context that scaling makes of the declared one; llama3's declared one has it in already.
std::int64_t ScaledPositions(const RopeConfig& rope, std::int64_t declared) {
  double base = static_cast<double>(declared);
  if (rope.scaling == RopeScaling::kYarn) base = static_cast<double>(rope.original_max_positions);
  const bool is_scaled = rope.scaling != RopeScaling::kNone && rope.scaling != RopeScaling::kLlama3;
  const double scaled = is_scaled ? base * rope.factor : base;
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::min(scaled, static_cast<double>(kPositions.max))));
}

Status ReadPartial(const Json& config, const Json& rope, ModelConfig& model) {
  const Json& holder = rope.Find("partial_rotary_factor") != nullptr ? rope : config;
  QUIRE_ASSIGN_OR_RETURN(model.rope.partial_factor,
                         ReadPositiveOr(holder, "partial_rotary_factor", 1.0, 1.0));
  const int rotary_dim = RotaryDim(model);
  if (rotary_dim < 2 || rotary_dim % 2 != 0) {
    return InvalidArgument(StrCat("partial_rotary_factor: turns ", rotary_dim,
                                  " values of a head of ", model.head_dim,
                                  "; must be an even number above 0"));
  }
  return {};
}

Status ReadScaled(const Json& config, const Json& rope, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(model.rope.scaling, ReadScaling(rope));
  if (model.rope.scaling == RopeScaling::kNone) return {};
  QUIRE_RETURN_IF_ERROR(ReadFactor(config, rope, model, model.rope));
  if (model.rope.scaling == RopeScaling::kLlama3) return ReadLlama3(rope, model.rope);
  if (model.rope.scaling == RopeScaling::kYarn) return ReadYarn(rope, model.rope);
  return {};
}

}  // namespace

Status ReadRope(const Json& config, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(const Json rope, RopeObject(config));
  const Json& theta_holder = rope.Find("rope_theta") != nullptr ? rope : config;
  model.rope.original_max_positions = model.max_positions;
  QUIRE_ASSIGN_OR_RETURN(model.rope.theta,
                         ReadPositiveOr(theta_holder, "rope_theta", model.rope.theta, kMaxTheta));
  if (Status status = ReadScaled(config, rope, model); !status.ok()) {
    return status.With("rope scaling");
  }
  QUIRE_RETURN_IF_ERROR(ReadPartial(config, rope, model));
  model.max_positions = ScaledPositions(model.rope, model.max_positions);
  return {};
}

}  // namespace quire
