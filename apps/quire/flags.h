// Typed command-line flags in groups, with help made from the same list.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/quire/command.h"
#include "base/status.h"
#include "config/options.h"
#include "formats/json.h"

namespace quire {

// One flag. Names are spelled with hyphens and without the leading ones; underscores are accepted
// in their place on the command line.
struct Flag {
  std::vector<std::string> names;  // "prompt", "p"; the first is the one that messages use
  std::string value_name;          // "N"; empty: a switch, --x and --no-x
  std::string help;
  std::string default_text;    // shown in the help; empty: none; "true" for a switch that is on
  bool takes_members = false;  // a JSON object: --x.key VALUE and --x.a.b VALUE add members
  bool takes_many = false;     // a list: --x A B takes all values up to the next flag
  bool is_hidden = false;      // not in the help, and no suggestion
  // Takes one value, "true" or "false" for a switch. The message names the flag.
  std::function<Status(std::string_view)> set;
  std::size_t group = 0;
  bool is_set = false;
};

// A flag for a value of the caller's: how it is read and what the help shows of it. The name stands
// in messages.
Flag FlagFor(std::string_view name, bool& value);
Flag FlagFor(std::string_view name, int& value);
Flag FlagFor(std::string_view name, std::string& value);
Flag FlagFor(std::string_view name, std::optional<std::int64_t>& value);
Flag FlagFor(std::string_view name, std::optional<std::string>& value);
Flag FlagFor(std::string_view name, Json& value);  // an object; values are merged

// A flag for an option of config/options.h, given to `set` under its own name. What `set` is given
// for an option of JSON type is the object of all values so far.
Flag FlagFor(const OptionDescription& option,
             std::function<Status(std::string_view name, std::string_view text)> set);

class FlagSet {
 public:
  // `usage` is what stands after "Usage: quire "; `about` a paragraph.
  FlagSet(std::string usage, std::string about);

  // The flags added from here on stand under `title` in the help. An existing title is taken up
  // again.
  void Group(std::string_view title);

  // `names` are separated by commas. What `target` holds now is shown as the default; it must
  // outlive Parse().
  template <typename T>
  void Add(std::string_view names, T& target, std::string_view help,
           std::string_view value_name = {}) {
    Flag flag = FlagFor(names.substr(0, names.find(',')), target);
    flag.help = help;
    if (!value_name.empty()) flag.value_name = value_name;
    AddFlag(names, std::move(flag));
  }
  void AddFlag(std::string_view names, Flag flag);

  void AddExample(std::string line) { examples_.push_back(std::move(line)); }

  // Reads the command line: --flag VALUE, --flag=VALUE, -f VALUE, -fVALUE, switches, and "--",
  // after which everything is positional. Later values win; list flags gather. kInvalidArgument
  // with one sentence for unknown flags (with the nearest one) and unusable values. False when
  // --help (or --help=TOPIC, --help=groups) was given: the help has been written to standard
  // output, nothing else is to be done.
  Result<bool> Parse(Args args);

  // Arguments that are no flags, in their order; "-" is one.
  const std::vector<std::string>& positionals() const { return positionals_; }
  bool is_set(std::string_view name) const;
  bool has(std::string_view name) const { return Find(name) != nullptr; }

  // Sets flags that the command line did not, from the members of an object that go by their
  // names (no-x that of a switch): a list sets a list flag once for each item, null leaves it.
  // After Parse(). Messages begin with `source`.
  Status SetOthers(const Json& values, std::string_view source);

  // The help text, in 80 columns; of one group, or of the flags that have `topic` in them, where
  // there is one. Empty where there is nothing about `topic`.
  std::string Help(std::string_view topic = {}) const;

 private:
  struct Cursor;
  Status ParseFlag(Cursor& cursor, std::string_view arg);
  Status CheckNoFlagFollows(const Cursor& cursor, std::string_view arg) const;
  Status ParseShort(Cursor& cursor, std::string_view arg);
  static Status Set(Flag& flag, std::string_view value);
  Status PrintHelp() const;
  Flag* Find(std::string_view name);
  const Flag* Find(std::string_view name) const;
  Status Unknown(std::string_view arg, std::string_view name) const;

  std::string usage_;
  std::string about_;
  std::vector<std::string> examples_;
  std::vector<std::string> groups_;  // in the order of the help
  std::size_t group_ = 0;
  std::vector<Flag> flags_;
  std::vector<std::string> positionals_;
  bool wants_help_ = false;
  std::string topic_;  // of the help
};

}  // namespace quire
