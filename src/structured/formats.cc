#include "structured/formats.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/strings.h"
#include "structured/regex.h"

namespace quire::structured {
namespace {

constexpr std::array<std::string_view, 8> kUnknownFormats = {
    "idn-email",     "idn-hostname", "iri",          "iri-reference",
    "uri-reference", "uri-template", "json-pointer", "relative-json-pointer"};

Result<Dfa> TextsOf(std::string_view regex) {
  QUIRE_ASSIGN_OR_RETURN(const Regex tree, ParseRegex(regex));
  return Dfa::From(tree);
}

// Days as the calendar has them; the year 0000 is left out.
constexpr std::string_view kDate =
    "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|"
    "02-(0[1-9]|1\\d|2[0-8]))|(\\d\\d(0[48]|[2468][048]|[13579][26])|"
    "([02468][048]|[13579][26])00)-02-29)";
constexpr std::string_view kLaterYears =
    "(\\d{3}[1-9]|\\d\\d[1-9]\\d|\\d[1-9]\\d\\d|[1-9]\\d{3})-[-0-9]*";
// Of leap seconds those of UTC alone.
constexpr std::string_view kTime =
    "(([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?([zZ]|[+-]([01]\\d|2[0-3]):[0-5]\\d)|"
    "23:59:60(\\.\\d+)?([zZ]|[+-]00:00))";
constexpr std::string_view kDuration =
    "P(\\d+W|(\\d+D|\\d+M(\\d+D)?|\\d+Y(\\d+M(\\d+D)?)?)(T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|"
    "\\d+S))?|T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S))";
// Labels of up to 61 characters, four of them at most, no two hyphens in a row.
constexpr std::string_view kHostname =
    "[a-zA-Z0-9](-?[a-zA-Z0-9]){0,30}(\\.[a-zA-Z0-9](-?[a-zA-Z0-9]){0,30}){0,3}";
constexpr std::string_view kMailbox =
    "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*";
constexpr std::string_view kIpv4 =
    "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)){3}";
constexpr std::string_view kUuid =
    "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

std::string Ipv6() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  const std::string last = StrCat("(", group, ":", group, "|", kIpv4, ")");
  std::string all = StrCat("(", group, ":){6}", last);
  // So many groups before the double colon, then at most as many as there is room for.
  for (int before = 0; before <= 7; ++before) {
    const std::string head = before == 0 ? "" : StrCat(group, "(:", group, "){", before - 1, "}");
    const int after = 7 - before;
    std::string tail = after == 0 ? "" : StrCat("(", group, "(:", group, "){0,", after - 1, "})?");
    if (after >= 2) {
      tail = StrCat("(", tail, "|(", group, ":){0,", after - 2, "}", kIpv4, ")");
    }
    all += StrCat("|", head, "::", tail);
  }
  return StrCat("(", all, ")");
}

std::string Uri() {
  const std::string free = "[a-zA-Z0-9._~!$&'()*+,;=-]|%[0-9a-fA-F]{2}";
  const std::string segment = StrCat("(", free, "|[:@])");
  const std::string host = StrCat("(\\[", Ipv6(), "\\]|(", free, ")*)");
  const std::string authority = StrCat("(((", free, "|:)*@)?", host, "(:\\d*)?)");
  return StrCat("[a-zA-Z][a-zA-Z0-9+.-]*:(//", authority, "(/", segment, "*)*|/(", segment, "+(/",
                segment, "*)*)?|", segment, "+(/", segment, "*)*|)(\\?(", segment, "|[/?])*)?(#(",
                segment, "|[/?])*)?");
}

Result<Dfa> Date() {
  QUIRE_ASSIGN_OR_RETURN(const Dfa dates, TextsOf(kDate));
  QUIRE_ASSIGN_OR_RETURN(const Dfa later, TextsOf(kLaterYears));
  return dates.And(later);
}

Result<Dfa> DateTime() {
  QUIRE_ASSIGN_OR_RETURN(const Dfa all, TextsOf(StrCat(kDate, "[tT]", kTime)));
  QUIRE_ASSIGN_OR_RETURN(const Dfa later, TextsOf(StrCat(kLaterYears, "[tT].*")));
  return all.And(later);
}

Result<Dfa> KnownFormat(std::string_view name) {
  if (name == "date") return Date();
  if (name == "date-time") return DateTime();
  if (name == "time") return TextsOf(kTime);
  if (name == "duration") return TextsOf(kDuration);
  if (name == "hostname") return TextsOf(kHostname);
  if (name == "email") return TextsOf(StrCat(kMailbox, "@", kHostname));
  if (name == "ipv4") return TextsOf(kIpv4);
  if (name == "ipv6") return TextsOf(Ipv6());
  if (name == "uri") return TextsOf(Uri());
  if (name == "uuid") return TextsOf(kUuid);
  return Dfa();
}

}  // namespace

Result<std::optional<Dfa>> TextsOfFormat(std::string_view name) {
  if (name == "regex" || std::ranges::find(kUnknownFormats, name) != kUnknownFormats.end()) {
    return Unimplemented(StrCat("unsupported format ", Printable(name)));
  }
  QUIRE_ASSIGN_OR_RETURN(Dfa dfa, KnownFormat(name));
  if (dfa.is_empty()) return std::optional<Dfa>();
  return std::optional<Dfa>(std::move(dfa));
}

}  // namespace quire::structured
