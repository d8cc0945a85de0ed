#include "config/options.h"

#include <type_traits>

#include "config/engine_fields.h"
#include "config/field_value.h"
#include "config/server_fields.h"
#include "request/sampling_fields.h"

namespace quire {

namespace {

// The one spelling that names are compared in.
std::string Plain(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c == '_') c = '-';
  }
  return plain;
}

template <typename Fields>
std::vector<std::string> FieldNames() {
  std::vector<std::string> names;
  const Fields fields;
  VisitFields(fields, [&](std::string_view name, const auto&, std::string_view) {
    names.emplace_back(name);
  });
  return names;
}

// Calls `set` on the field `name` of `fields`; a message of its own where there is no such field.
template <typename Fields, typename Set>
Status SetField(Fields& fields, std::string_view what, std::string_view name, Set set) {
  const std::string wanted = Plain(name);
  bool is_known = false;
  Status status;
  VisitFields(fields, [&](std::string_view field_name, auto& field, std::string_view) {
    if (is_known || Plain(field_name) != wanted) return;
    is_known = true;
    status = set(field).With(field_name);
  });
  if (is_known) return status;
  std::string message = StrCat(Printable(name), ": there is no such ", what);
  if (const auto near = NearestName(name, FieldNames<Fields>())) {
    message += StrCat("; did you mean ", *near, "?");
  }
  return InvalidArgument(std::move(message));
}

template <typename Fields>
Json FieldsToJson(const Fields& fields) {
  JsonObject members;
  VisitFields(fields, [&](std::string_view name, const auto& field, std::string_view) {
    members.emplace_back(name, FieldToJson(field));
  });
  return Json(std::move(members));
}

template <typename T>
constexpr std::string_view kTypeName = "TEXT";
template <>
constexpr std::string_view kTypeName<int> = "INT";
template <>
constexpr std::string_view kTypeName<std::int64_t> = "INT";
template <>
constexpr std::string_view kTypeName<std::optional<int>> = "INT";
template <>
constexpr std::string_view kTypeName<std::optional<std::int64_t>> = "INT";
template <>
constexpr std::string_view kTypeName<std::optional<std::uint64_t>> = "INT";
template <>
constexpr std::string_view kTypeName<double> = "NUMBER";
template <>
constexpr std::string_view kTypeName<Json> = "JSON";
template <>
constexpr std::string_view kTypeName<LogitBias> = "JSON";
template <>
constexpr std::string_view kTypeName<std::optional<RepetitionDetection>> = "JSON";
template <>
constexpr std::string_view kTypeName<std::vector<TokenId>> = "IDS";
template <>
constexpr std::string_view kTypeName<std::optional<std::vector<TokenId>>> = "IDS";

template <typename T>
constexpr bool kIsList =
    std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<TokenId>> ||
    std::is_same_v<T, std::optional<std::vector<TokenId>>> || std::is_same_v<T, LogitBias>;

template <typename T>
std::string DefaultText(const T& field) {
  if constexpr (kIsList<T>) {
    return {};
  } else {
    const Json value = FieldToJson(field);
    if (value.is_null()) return {};
    return value.is_string() ? value.string() : value.Dump();
  }
}

template <typename Fields>
void Describe(std::string_view group, std::vector<OptionDescription>& out) {
  const Fields defaults;
  VisitFields(defaults, [&](std::string_view name, const auto& field, std::string_view help) {
    using T = std::remove_cvref_t<decltype(field)>;
    OptionDescription option;
    option.group = group;
    option.name = name;
    option.type = kTypeName<T>;
    option.default_text = DefaultText(field);
    option.help = help;
    option.is_switch = std::is_same_v<T, bool>;
    option.is_repeatable = kIsList<T>;
    if constexpr (NamedEnum<T>) {
      option.choices = NamesOf<T>();
      option.type = Join(option.choices, "|");
    }
    out.push_back(std::move(option));
  });
}

// `name` without a "no-" before it, where it then names a switch.
template <typename Fields>
std::optional<std::string> SwitchedOff(std::string_view name) {
  const std::string plain = Plain(name);
  if (!plain.starts_with("no-")) return std::nullopt;
  std::optional<std::string> found;
  const Fields fields;
  VisitFields(fields, [&](std::string_view field_name, const auto& field, std::string_view) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, bool>) {
      if (Plain(field_name) == std::string_view(plain).substr(3)) found = field_name;
    }
  });
  return found;
}

template <typename Fields>
Status SetFromText(Fields& fields, std::string_view what, std::string_view name,
                   std::string_view text) {
  const auto set = [](std::string_view value) {
    return [value](auto& field) { return FieldFromText(value, field); };
  };
  const std::optional<std::string> off = SwitchedOff<Fields>(name);
  if (!off) return SetField(fields, what, name, set(text));
  if (!text.empty()) return InvalidArgument(StrCat(name, ": takes no value"));
  return SetField(fields, what, *off, set("false"));
}

template <typename Config>
std::vector<OptionDescription> DescribeGroups() {
  std::vector<OptionDescription> options;
  const Config config;
  VisitGroups(config, [&](std::string_view group, const auto& part) {
    Describe<std::remove_cvref_t<decltype(part)>>(group, options);
  });
  return options;
}

constexpr std::string_view kEngineOption = "engine option";
constexpr std::string_view kServerOption = "server option";
constexpr std::string_view kSamplingParam = "sampling parameter";

}  // namespace

std::vector<OptionDescription> DescribeEngineOptions() { return DescribeGroups<EngineConfig>(); }

std::vector<OptionDescription> DescribeServerOptions() { return DescribeGroups<ServerConfig>(); }

std::vector<OptionDescription> DescribeSamplingParams() {
  std::vector<OptionDescription> options;
  Describe<SamplingParams>("Sampling", options);
  return options;
}

Status SetEngineFlag(EngineConfig& config, std::string_view name, std::string_view text) {
  return SetFromText(config, kEngineOption, name, text);
}

Status SetEngineField(EngineConfig& config, std::string_view name, const Json& value) {
  return SetField(config, kEngineOption, name,
                  [&](auto& field) { return FieldFromJson(value, field); });
}

Status SetServerFlag(ServerConfig& config, std::string_view name, std::string_view text) {
  return SetFromText(config, kServerOption, name, text);
}

Status SetServerField(ServerConfig& config, std::string_view name, const Json& value) {
  return SetField(config, kServerOption, name,
                  [&](auto& field) { return FieldFromJson(value, field); });
}

Status SetSamplingFlag(SamplingParams& params, std::string_view name, std::string_view text) {
  return SetFromText(params, kSamplingParam, name, text);
}

Status SetSamplingField(SamplingParams& params, std::string_view name, const Json& value) {
  const std::string plain = Plain(name);
  if (value.is_bool() && (plain == "logprobs" || plain == "prompt-logprobs")) {
    return SetSamplingField(params, name, value.boolean() ? Json(1) : Json());
  }
  return SetField(params, kSamplingParam, name,
                  [&](auto& field) { return FieldFromJson(value, field); });
}

bool IsSamplingParam(std::string_view name) {
  const std::string wanted = Plain(name);
  for (const std::string& known : FieldNames<SamplingParams>()) {
    if (Plain(known) == wanted) return true;
  }
  return false;
}

Json ToJson(const EngineConfig& config) { return FieldsToJson(config); }

Json ToJson(const ServerConfig& config) { return FieldsToJson(config); }

Json ToJson(const SamplingParams& params) { return FieldsToJson(params); }

Result<EngineConfig> EngineConfigFromJson(const Json& value) {
  if (!value.is_object()) {
    return InvalidArgument(StrCat("engine options: must be an object, got ", value.kind()));
  }
  EngineConfig config;
  for (const auto& [name, member] : value.object()) {
    QUIRE_RETURN_IF_ERROR(SetEngineField(config, name, member));
  }
  return config;
}

}  // namespace quire
