#include "apps/quire/flags.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/quire/io.h"
#include "base/strings.h"
#include "config/field_value.h"

namespace quire {

namespace {

// "rope_scaling.factor" and "8" as {"rope_scaling": {"factor": 8}}; a value that is no JSON counts
// as a string.
Json MemberAsJson(std::string_view path, std::string_view value) {
  Result<Json> parsed = ParseJson(value);
  Json json = parsed.ok() ? *std::move(parsed) : Json(value);
  const std::vector<std::string_view> keys = Split(path, '.');
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    JsonObject object;
    object.emplace_back(std::string(*key), std::move(json));
    json = Json(std::move(object));
  }
  return json;
}

// Members of `from` put over those of `into`, objects member by member; "name+" adds an item to the
// list "name".
void MergeJson(Json& into, const Json& from) {
  if (!into.is_object()) into = JsonObject();
  for (const auto& [name, member] : from.object()) {
    if (name.size() > 1 && name.ends_with('+')) {
      Json& list = into[name.substr(0, name.size() - 1)];
      if (!list.is_array()) list = JsonArray();
      list.array().push_back(member);
      continue;
    }
    Json& target = into[name];
    if (member.is_object()) {
      MergeJson(target, member);
    } else {
      target = member;
    }
  }
}

Status MergeText(std::string_view text, Json& into) {
  QUIRE_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text));
  if (!parsed.is_object()) {
    return InvalidArgument(StrCat("must be a JSON object, got ", parsed.kind()));
  }
  MergeJson(into, parsed);
  return {};
}

template <typename T>
Flag FieldFlag(std::string_view name, T& value, std::string_view value_name,
               std::string default_text) {
  Flag flag;
  flag.value_name = value_name;
  flag.default_text = std::move(default_text);
  flag.set = [name = std::string(name), &value](std::string_view text) {
    return FieldFromText(text, value).With("--" + name);
  };
  return flag;
}

std::string WithHyphens(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

}  // namespace

Flag FlagFor(std::string_view name, bool& value) {
  return FieldFlag(name, value, "", value ? "true" : "");
}

Flag FlagFor(std::string_view name, int& value) {
  return FieldFlag(name, value, "N", StrCat(value));
}

Flag FlagFor(std::string_view name, std::string& value) {
  return FieldFlag(name, value, "TEXT", value);
}

Flag FlagFor(std::string_view name, std::optional<std::int64_t>& value) {
  return FieldFlag(name, value, "N", value ? StrCat(*value) : "");
}

Flag FlagFor(std::string_view, std::optional<std::string>& value) {
  Flag flag;
  flag.value_name = "TEXT";
  flag.default_text = value.value_or("");
  flag.set = [&value](std::string_view text) {
    value = text;
    return Status();
  };
  return flag;
}

Flag FlagFor(std::string_view name, Json& value) {
  Flag flag;
  flag.value_name = "JSON";
  flag.takes_members = true;
  flag.set = [name = std::string(name), &value](std::string_view text) {
    return MergeText(text, value).With("--" + name);
  };
  return flag;
}

Flag FlagFor(const OptionDescription& option,
             std::function<Status(std::string_view name, std::string_view text)> set) {
  Flag flag;
  flag.value_name = option.is_switch ? "" : option.type;
  flag.help = option.help;
  flag.default_text = option.default_text == "false" ? "" : option.default_text;
  flag.takes_members = option.type == "JSON";
  if (!flag.takes_members) {
    flag.set = [name = option.name, set = std::move(set)](std::string_view text) {
      return set(name, text);
    };
    return flag;
  }
  flag.set = [name = option.name, set = std::move(set),
              all = Json()](std::string_view text) mutable {
    if (const Status merged = MergeText(text, all); !merged.ok()) return merged.With(name);
    return set(name, all.Dump());
  };
  return flag;
}

// The arguments and how far they are read.
struct FlagSet::Cursor {
  Args args;
  std::size_t next = 0;

  std::optional<std::string_view> Take() {
    if (next == args.size()) return std::nullopt;
    return args[next++];
  }

  bool NextIsValue() const {
    return next < args.size() && (args[next].empty() || args[next].front() != '-');
  }

  std::optional<std::string_view> Peek() const {
    if (next == args.size()) return std::nullopt;
    return args[next];
  }

  Result<std::string_view> TakeValue(const Flag& flag) {
    if (const std::optional<std::string_view> value = Take()) return *value;
    return InvalidArgument(
        StrCat("--", flag.names[0], ": a value must follow (", flag.value_name, ")"));
  }
};

FlagSet::FlagSet(std::string usage, std::string about)
    : usage_(std::move(usage)), about_(std::move(about)) {
  Group("Flags");
}

void FlagSet::Group(std::string_view title) {
  const auto found = std::find(groups_.begin(), groups_.end(), title);
  group_ = static_cast<std::size_t>(found - groups_.begin());
  if (found == groups_.end()) groups_.emplace_back(title);
}

void FlagSet::AddFlag(std::string_view names, Flag flag) {
  for (const std::string_view name : Split(names, ',')) flag.names.push_back(WithHyphens(name));
  flag.group = group_;
  flags_.push_back(std::move(flag));
}

const Flag* FlagSet::Find(std::string_view name) const {
  for (const Flag& flag : flags_) {
    if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) return &flag;
  }
  return nullptr;
}

Flag* FlagSet::Find(std::string_view name) {
  return const_cast<Flag*>(std::as_const(*this).Find(name));
}

bool FlagSet::is_set(std::string_view name) const {
  const Flag* flag = Find(name);
  QUIRE_CHECK(flag != nullptr) << "no flag is called " << name;
  return flag->is_set;
}

Result<bool> FlagSet::Parse(Args args) {
  Cursor cursor{.args = args};
  bool flags_ended = false;
  while (const std::optional<std::string_view> arg = cursor.Take()) {
    if (flags_ended || arg->size() < 2 || arg->front() != '-') {
      positionals_.emplace_back(*arg);
    } else if (*arg == "--") {
      flags_ended = true;
    } else if (arg->substr(0, 2) == "--") {
      QUIRE_RETURN_IF_ERROR(ParseFlag(cursor, *arg));
    } else {
      QUIRE_RETURN_IF_ERROR(ParseShort(cursor, *arg));
    }
  }
  if (!wants_help_) return true;
  QUIRE_RETURN_IF_ERROR(PrintHelp());
  return false;
}

Status FlagSet::PrintHelp() const {
  if (topic_ == "groups" || topic_ == "listgroup") {
    return PrintToStdout(StrCat(Join(groups_, "\n"), "\n"));
  }
  const std::string help = Help(topic_ == "page" || topic_ == "all" ? "" : topic_);
  if (!help.empty()) return PrintToStdout(help);
  return InvalidArgument(StrCat("--help: no flag or group has ", Printable(topic_),
                                " in it; --help=groups lists the groups"));
}

namespace {

std::string TextOf(const Json& value) { return value.is_string() ? value.string() : value.Dump(); }

// `no-x: true` of a switch x.
Status SetNegated(const Flag& flag, std::string_view name, const Json& value) {
  if (value.is_bool()) return flag.set(value.boolean() ? "false" : "true");
  return InvalidArgument(StrCat(name, ": must be true or false, got ", value.kind()));
}

Status SetFromJson(const Flag& flag, std::string_view name, const Json& value) {
  // What a flag of vLLM's that is not served here may hold is its own affair.
  const bool takes_any = flag.is_hidden;
  if (value.is_array() && (flag.takes_many || takes_any)) {
    for (const Json& item : value.array()) {
      if (!takes_any && (item.is_array() || item.is_object() || item.is_null())) {
        return InvalidArgument(StrCat(name, ": items must be single values, got ", item.kind()));
      }
      QUIRE_RETURN_IF_ERROR(flag.set(TextOf(item)));
    }
    return {};
  }
  const bool is_object = value.is_object() && !flag.takes_members;
  if ((value.is_array() || is_object) && !takes_any) {
    return InvalidArgument(StrCat(name, ": takes one value, got ", value.kind()));
  }
  return flag.set(TextOf(value));
}

}  // namespace

Status FlagSet::SetOthers(const Json& values, std::string_view source) {
  if (values.is_null()) return {};
  if (!values.is_object()) {
    return InvalidArgument(StrCat(source, ": must hold members, got ", values.kind()));
  }
  for (const auto& [name, value] : values.object()) {
    const std::string hyphened = WithHyphens(name);
    Flag* flag = Find(hyphened);
    const bool is_negated = flag == nullptr && hyphened.starts_with("no-");
    if (is_negated) flag = Find(hyphened.substr(3));
    if (flag == nullptr || (is_negated && !flag->value_name.empty())) {
      return Unknown(StrCat("--", name), hyphened).With(source);
    }
    if (flag->is_set || value.is_null()) continue;
    const Status status =
        is_negated ? SetNegated(*flag, hyphened, value) : SetFromJson(*flag, hyphened, value);
    QUIRE_RETURN_IF_ERROR(status.With(source));
  }
  return {};
}

// --name, --name VALUE, --name=VALUE, --no-name, --name.member VALUE
Status FlagSet::ParseFlag(Cursor& cursor, std::string_view arg) {
  const std::size_t equals = arg.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string_view spelled = arg.substr(2, has_value ? equals - 2 : equals);
  const std::size_t dot = spelled.find('.');
  const std::string name = WithHyphens(spelled.substr(0, dot));
  if (name == "help") {
    wants_help_ = true;
    if (has_value) topic_ = arg.substr(equals + 1);
    return {};
  }
  Flag* flag = Find(name);
  const bool has_member = dot != std::string_view::npos;
  if (flag == nullptr && !has_member && name.starts_with("no-")) {
    flag = Find(name.substr(3));
    if (flag != nullptr && flag->value_name.empty()) {
      if (has_value) return InvalidArgument(StrCat("--", name, ": takes no value"));
      return Set(*flag, "false");
    }
    flag = nullptr;
  }
  if (flag == nullptr || (has_member && !flag->takes_members)) return Unknown(arg, name);
  std::string_view value = has_value ? arg.substr(equals + 1) : std::string_view();
  if (flag->value_name.empty()) return Set(*flag, has_value ? value : "true");
  if (!has_value) {
    QUIRE_RETURN_IF_ERROR(CheckNoFlagFollows(cursor, arg));
    QUIRE_ASSIGN_OR_RETURN(value, cursor.TakeValue(*flag));
  }
  if (flag->takes_many && !has_member) {
    QUIRE_RETURN_IF_ERROR(Set(*flag, value));
    while (!has_value && cursor.NextIsValue()) QUIRE_RETURN_IF_ERROR(Set(*flag, *cursor.Take()));
    return {};
  }
  if (!has_member) return Set(*flag, value);
  return Set(*flag, MemberAsJson(spelled.substr(dot + 1), value).Dump());
}

// A value that is spelled as a flag is a value forgotten, unless it stands behind "=".
Status FlagSet::CheckNoFlagFollows(const Cursor& cursor, std::string_view arg) const {
  const std::string_view next = cursor.Peek().value_or("");
  if (!next.starts_with("--")) return {};
  std::string name = WithHyphens(next.substr(2, next.find_first_of("=.") - 2));
  if (name.starts_with("no-") && Find(name) == nullptr) name.erase(0, 3);
  if (Find(name) == nullptr) return {};
  return InvalidArgument(StrCat(arg, ": a value must follow, got the flag ", Printable(next), "; ",
                                arg, "=", Printable(next), " makes it the value"));
}

// -f, -f VALUE, -fVALUE; -tp VALUE and -tp=VALUE where a flag is called so
Status FlagSet::ParseShort(Cursor& cursor, std::string_view arg) {
  if (arg == "-h") {
    wants_help_ = true;
    return {};
  }
  if (const std::string_view name = arg.substr(1, arg.find('=') - 1);
      name.size() > 1 && Find(WithHyphens(name)) != nullptr) {
    return ParseFlag(cursor, StrCat("-", arg));
  }
  Flag* flag = Find(arg.substr(1, 1));
  std::string_view value = arg.substr(2);
  if (flag == nullptr || (flag->value_name.empty() && !value.empty())) {
    return Unknown(arg, arg.substr(1));
  }
  if (flag->value_name.empty()) return Set(*flag, "true");
  if (value.empty()) {
    QUIRE_ASSIGN_OR_RETURN(value, cursor.TakeValue(*flag));
  }
  return Set(*flag, value);
}

Status FlagSet::Set(Flag& flag, std::string_view value) {
  flag.is_set = true;
  return flag.set(value);
}

Status FlagSet::Unknown(std::string_view arg, std::string_view name) const {
  std::vector<std::string> names = {"help"};
  for (const Flag& flag : flags_) {
    if (flag.is_hidden) continue;
    for (const std::string& known : flag.names) {
      if (known.size() == 1) continue;
      names.push_back(known);
      if (flag.value_name.empty()) names.push_back(StrCat("no-", known));
    }
  }
  const std::string shown = Printable(arg.substr(0, arg.find('=')));
  const std::optional<std::string> nearest = NearestName(name, names);
  const std::string command = usage_.substr(0, usage_.find_first_of("[("));
  const std::string hint = nearest ? StrCat("did you mean --", *nearest, "?")
                                   : StrCat("quire ", command, "--help lists the flags");
  return InvalidArgument(StrCat("unknown flag ", shown, "; ", hint));
}

}  // namespace quire
