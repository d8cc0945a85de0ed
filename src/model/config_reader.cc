#include "model/config_reader.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/strings.h"

namespace quire {
namespace {

constexpr std::int64_t kMaxWindow = (std::int64_t{1} << 31) - 1;

Status OutOfBounds(std::string_view name, IntBounds bounds, std::int64_t value) {
  return InvalidArgument(
      StrCat(name, ": must be from ", bounds.min, " to ", bounds.max, ", got ", value));
}

bool IsAbsent(const Json& config, std::string_view name) {
  const Json* member = config.Find(name);
  return member == nullptr || member->is_null();
}

// What the config calls itself: architectures[0], or model_type.
Result<std::string> DeclaredName(const Json& config, bool* is_architecture) {
  *is_architecture = true;
  const Json* architectures = config.Find("architectures");
  if (architectures != nullptr && architectures->is_array() && !architectures->array().empty()) {
    const Json& first = architectures->array().front();
    if (!first.is_string()) {
      return InvalidArgument(StrCat("architectures: must hold strings, got ", first.kind()));
    }
    return first.string();
  }
  *is_architecture = false;
  if (IsAbsent(config, "model_type")) {
    return InvalidArgument("has neither architectures nor model_type, so its family is unknown");
  }
  return RequireString(config, "model_type");
}

Status UnknownFamily(const std::string& name, bool is_architecture) {
  std::vector<std::string> known;
  for (const Family* family : Families()) {
    known.emplace_back(is_architecture ? family->architecture : family->model_type);
  }
  const std::optional<std::string> nearest = NearestName(name, known);
  return Unimplemented(StrCat(is_architecture ? "architecture " : "model type ", Printable(name),
                              " is not supported; ",
                              nearest ? StrCat("the nearest that is: ", *nearest)
                                      : StrCat("supported are ", Join(known, ", "))));
}

}  // namespace

Result<std::int64_t> ReadInt(const Json& config, std::string_view name, IntBounds bounds) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t value, RequireInt(config, name));
  if (value < bounds.min || value > bounds.max) return OutOfBounds(name, bounds, value);
  return value;
}

Result<std::int64_t> ReadIntOr(const Json& config, std::string_view name, std::int64_t fallback,
                               IntBounds bounds) {
  if (IsAbsent(config, name)) return fallback;
  return ReadInt(config, name, bounds);
}

Result<double> ReadPositiveOr(const Json& config, std::string_view name, double fallback,
                              double max) {
  QUIRE_ASSIGN_OR_RETURN(const double value, NumberOr(config, name, fallback));
  if (!(value > 0) || value > max) {
    return InvalidArgument(StrCat(name, ": must be above 0 and at most ", max, ", got ", value));
  }
  return value;
}

Result<const Family*> FindFamily(const Json& config) {
  bool is_architecture = true;
  QUIRE_ASSIGN_OR_RETURN(const std::string name, DeclaredName(config, &is_architecture));
  for (const Family* family : Families()) {
    if (name == (is_architecture ? family->architecture : family->model_type)) return family;
  }
  return UnknownFamily(name, is_architecture);
}

Result<std::int64_t> ReadWindow(const Json& config, std::int64_t fallback) {
  const Json* member = config.Find("sliding_window");
  if (member == nullptr) return fallback;
  if (member->is_null()) return 0;
  return ReadInt(config, "sliding_window", {1, kMaxWindow});
}

Status ReadLayerWindows(const Json& config, std::int64_t window, std::int64_t first_windowed,
                        ModelConfig& model) {
  model.layer_windows.assign(static_cast<std::size_t>(model.num_layers), 0);
  const Json* types = config.Find("layer_types");
  const bool has_types = types != nullptr && !types->is_null();
  if (has_types && (!types->is_array() || types->array().size() != model.layer_windows.size())) {
    return InvalidArgument(StrCat(
        "layer_types: must be an array of num_hidden_layers = ", model.num_layers, " names"));
  }
  for (std::size_t i = 0; i < model.layer_windows.size(); ++i) {
    bool is_windowed = static_cast<std::int64_t>(i) >= first_windowed && window > 0;
    if (has_types) {
      const Json& type = types->array()[i];
      const std::string name = type.is_string() ? type.string() : std::string(type.kind());
      is_windowed = name == "sliding_attention";
      if (!is_windowed && name != "full_attention") {
        return Unimplemented(StrCat("layer_types: layer ", i, " is ", Printable(name),
                                    "; known are full_attention and sliding_attention"));
      }
    }
    if (is_windowed && window == 0) {
      return InvalidArgument(
          StrCat("layer_types: layer ", i, " is sliding_attention but no sliding_window is set"));
    }
    if (is_windowed) model.layer_windows[i] = window;
  }
  return {};
}

Status ReadLlamaBiases(const Json& config, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(model.qkv_bias, BoolOr(config, "attention_bias", false));
  model.output_bias = model.qkv_bias;
  QUIRE_ASSIGN_OR_RETURN(model.mlp_bias, BoolOr(config, "mlp_bias", false));
  return {};
}

Status ReadUpperLayerWindows(const Json& config, ModelConfig& model) {
  constexpr std::int64_t kDefaultWindow = 4096, kDefaultFirst = 28;
  QUIRE_ASSIGN_OR_RETURN(const bool is_on, BoolOr(config, "use_sliding_window", false));
  if (!is_on) return ReadLayerWindows(config, 0, 0, model);
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t window, ReadWindow(config, kDefaultWindow));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t first,
                         ReadIntOr(config, "max_window_layers", kDefaultFirst, {0, kMaxWindow}));
  return ReadLayerWindows(config, window, first, model);
}

}  // namespace quire
