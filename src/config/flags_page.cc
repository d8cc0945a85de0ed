#include "config/flags_page.h"

#include "base/strings.h"
#include "config/options.h"

namespace quire {

namespace {

constexpr std::string_view kIntroduction =
    "# Flags\n\n"
    "Made from the program's own lists of options; change those, not this page.\n\n"
    "Names are vLLM's where it has the option. Counts may be written as 4k (4000), 4K (4096) or\n"
    "1.5m. An option that is on or off is turned on by `--name` and off by `--no-name`. IDS are\n"
    "token ids with commas between. Where `…` follows, the flag may stand several times.\n";

std::string FlagOf(const OptionDescription& option) {
  std::string flag = StrCat("--", option.name);
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

// The text inside one cell of a table.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string Values(const OptionDescription& option) {
  if (option.is_switch) return "on or off";
  const std::string values = option.choices.empty() ? option.type : Join(option.choices, ", ");
  return option.is_repeatable ? StrCat(values, " …") : values;
}

std::string Default(const OptionDescription& option) {
  if (option.is_switch) return option.default_text == "true" ? "on" : "off";
  return option.default_text.empty() ? "" : StrCat("`", Cell(option.default_text), "`");
}

void AppendGroups(const std::vector<OptionDescription>& options, std::string& page) {
  std::string_view group;
  for (const OptionDescription& option : options) {
    if (option.group != group) {
      group = option.group;
      page +=
          StrCat("\n### ", group, "\n\n| flag | values | default | meaning |\n|---|---|---|---|\n");
    }
    page += StrCat("| `", FlagOf(option), "` | ", Cell(Values(option)), " | ", Default(option),
                   " | ", Cell(option.help), " |\n");
  }
}

}  // namespace

std::string FlagsPage() {
  std::string page(kIntroduction);
  page += "\n## The engine\n";
  AppendGroups(DescribeEngineOptions(), page);
  page += "\n## The server\n\nOf `quire serve`, besides those of the engine.\n";
  AppendGroups(DescribeServerOptions(), page);
  page += "\n## A request\n\nThe same names, with underscores, are fields of requests.\n";
  AppendGroups(DescribeSamplingParams(), page);
  return page;
}

}  // namespace quire
