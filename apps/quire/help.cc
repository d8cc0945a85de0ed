// The help text of a FlagSet, in 80 columns.
#include <algorithm>

#include "apps/quire/flags.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kHelpColumn = 30;

// Adds `text` to `out`, whose last line is `column` long, in lines of kColumns with `indent`
// blanks before the second and later ones. Counts bytes: help is ASCII but for rare characters.
void AppendWrapped(std::string& out, std::string_view text, std::size_t column,
                   std::size_t indent) {
  for (const std::string_view line : Split(text, '\n')) {
    bool is_first = true;
    for (const std::string_view word : Split(line, ' ')) {
      if (!is_first && column + 1 + word.size() > kColumns) {
        out += StrCat("\n", std::string(indent, ' '));
        column = indent;
        is_first = true;
      }
      out += StrCat(is_first ? "" : " ", word);
      column += word.size() + (is_first ? 0 : 1);
      is_first = false;
    }
    out += "\n";
    column = 0;
  }
}

// "  -p, --prompt TEXT" or "      --no-mmap"
std::string Spelling(const Flag& flag) {
  std::string shorts;
  std::string longs;
  for (const std::string& name : flag.names) {
    if (name.size() == 1 && flag.names.size() > 1) {
      shorts += StrCat("-", name, ", ");
    } else {
      longs += StrCat(longs.empty() ? "" : ", ", "--", name);
    }
  }
  if (shorts.empty()) shorts = "    ";
  std::string names = StrCat("  ", shorts, longs);
  if (flag.value_name.empty()) return names;
  const bool fits = names.size() + 1 + flag.value_name.size() <= kColumns;
  return StrCat(names, fits ? " " : "\n        ", flag.value_name);
}

void AppendFlag(std::string& out, const Flag& flag) {
  std::string head = Spelling(flag);
  std::string help = flag.help;
  if (flag.value_name.empty()) {
    // A switch that is on already is shown by its other spelling.
    if (flag.default_text == "true") {
      head.replace(head.find("--"), 2, "--[no-]");
      help += " [on]";
    }
  } else if (!flag.default_text.empty()) {
    help += StrCat(" [", flag.default_text, "]");
  }
  if (head.size() + 2 > kHelpColumn) {
    head += StrCat("\n", std::string(kHelpColumn, ' '));
  } else {
    head.resize(kHelpColumn, ' ');
  }
  out += head;
  AppendWrapped(out, help, kHelpColumn, kHelpColumn);
}

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

// Whether the topic, with or without its dashes, stands in the flag's names or help.
bool IsAbout(const Flag& flag, std::string_view topic) {
  while (topic.starts_with('-')) topic.remove_prefix(1);
  const std::string wanted = Lowered(topic);
  for (const std::string& name : flag.names) {
    if (Lowered(name).find(wanted) != std::string::npos) return true;
  }
  return Lowered(flag.help).find(wanted) != std::string::npos;
}

}  // namespace

std::string FlagSet::Help(std::string_view topic) const {
  std::string out;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const bool is_whole = topic.empty() || Lowered(groups_[group]) == Lowered(topic);
    const auto is_shown = [&](const Flag& flag) {
      return flag.group == group && !flag.is_hidden && (is_whole || IsAbout(flag, topic));
    };
    if (std::none_of(flags_.begin(), flags_.end(), is_shown)) continue;
    out += StrCat("\n", groups_[group], ":\n");
    for (const Flag& flag : flags_) {
      if (is_shown(flag)) AppendFlag(out, flag);
    }
  }
  if (!topic.empty()) return out;
  std::string head = StrCat("Usage: quire ", usage_, "\n\n");
  AppendWrapped(head, about_, 0, 0);
  out = head + out;
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const std::string& example : examples_) out += StrCat("  ", example, "\n");
  return out;
}

}  // namespace quire
