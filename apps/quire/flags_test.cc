#include "apps/quire/flags.h"

#include <gtest/gtest.h>

#include "apps/quire/engine_flags.h"
#include "base/strings.h"

namespace quire {
namespace {

struct Values {
  bool json = false;
  bool mmap = true;
  int window = 512;
  std::string name;
  std::optional<std::string> text;
  std::optional<std::int64_t> count;
  Json overrides;
};

FlagSet MakeFlags(Values& values) {
  FlagSet flags("test [MODEL] [flags]", "A command.");
  flags.Add("json", values.json, "Objects");
  flags.Add("mmap", values.mmap, "Map files");
  flags.Add("window_size,w", values.window, "Tokens");
  flags.Add("name", values.name, "A name");
  flags.Add("text,p", values.text, "A text");
  flags.Add("count", values.count, "A number");
  flags.Add("hf-overrides", values.overrides, "An object");
  return flags;
}

struct Parsed {
  Values values;
  Status status;
  std::vector<std::string> positionals;
};

Parsed Parse(std::vector<std::string_view> args) {
  Parsed parsed;
  FlagSet flags = MakeFlags(parsed.values);
  parsed.status = flags.Parse(args).status();
  parsed.positionals = flags.positionals();
  return parsed;
}

TEST(Flags, TakeTheirValueAfterABlankOrAnEqualsSign) {
  const Parsed parsed = Parse({"--window-size", "7", "--name=a=b", "-p", "x", "--count=5"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.message();
  EXPECT_EQ(parsed.values.window, 7);
  EXPECT_EQ(parsed.values.name, "a=b");
  EXPECT_EQ(parsed.values.text, "x");
  EXPECT_EQ(parsed.values.count, 5);
}

TEST(Flags, AreSpelledWithHyphensOrUnderscores) {
  EXPECT_EQ(Parse({"--window_size", "7"}).values.window, 7);
  EXPECT_EQ(Parse({"--window-size=8"}).values.window, 8);
  EXPECT_EQ(Parse({"--window_size=9"}).values.window, 9);
}

TEST(Flags, OfOneLetterTakeTwoHyphensToo) {
  EXPECT_EQ(Parse({"--w", "7"}).values.window, 7);
  FlagSet flags("test", "");
  int n = 1;
  flags.Add("n", n, "A count");
  EXPECT_NE(flags.Help().find("      --n N"), std::string::npos) << flags.Help();
}

TEST(Flags, ShortOnesTakeAnAttachedValue) {
  EXPECT_EQ(Parse({"-w9"}).values.window, 9);
  EXPECT_EQ(Parse({"-phello"}).values.text, "hello");
}

TEST(Flags, TakeTextsThatLookLikeFlags) {
  EXPECT_EQ(Parse({"-p", "--json"}).values.text, "--json");
  EXPECT_EQ(Parse({"-p", "- a list"}).values.text, "- a list");
  EXPECT_EQ(Parse({"-p", ""}).values.text, "");
  EXPECT_EQ(Parse({"--text="}).values.text, "");
  EXPECT_EQ(Parse({"--count", "-3"}).values.count, -3);
}

TEST(Flags, SwitchesAreTurnedOnAndOff) {
  EXPECT_TRUE(Parse({"--json"}).values.json);
  EXPECT_FALSE(Parse({"--no-mmap"}).values.mmap);
  EXPECT_FALSE(Parse({"--mmap=false"}).values.mmap);
  EXPECT_FALSE(Parse({"--json", "--no-json"}).values.json);
}

TEST(Flags, AllElseIsPositional) {
  const Parsed parsed = Parse({"a", "-", "[x, y]", "--json", "b", "--", "--name", "-p"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.message();
  EXPECT_EQ(parsed.positionals,
            (std::vector<std::string>{"a", "-", "[x, y]", "b", "--name", "-p"}));
}

TEST(Flags, OfJsonTakeWholeObjectsAndMembers) {
  const Parsed parsed = Parse({"--hf-overrides", R"({"a": {"b": 1}, "c": "x"})",
                               "--hf_overrides.a.d", "2.5", "--hf-overrides.e=word"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.message();
  EXPECT_EQ(parsed.values.overrides.Dump(), R"({"a":{"b":1,"d":2.5},"c":"x","e":"word"})");
}

TEST(Flags, OfJsonTakeItemsOfLists) {
  const Parsed parsed =
      Parse({"--hf-overrides.a.list+", "1", "--hf-overrides.a.list+", "word", "--hf-overrides",
             R"({"a": {"b": 2}})", "--hf-overrides.a.list+={}"});
  ASSERT_TRUE(parsed.status.ok()) << parsed.status.message();
  EXPECT_EQ(parsed.values.overrides.Dump(), R"({"a":{"list":[1,"word",{}],"b":2}})");
}

TEST(Flags, SayThatAValueIsForgottenWhereAFlagFollows) {
  for (const char* next : {"--json", "--window_size=3", "--no-mmap", "--hf-overrides.a"}) {
    EXPECT_EQ(Parse({"--name", next}).status.code(), Code::kInvalidArgument) << next;
    EXPECT_EQ(Parse({StrCat("--name=", next)}).values.name, next);
  }
  EXPECT_EQ(Parse({"--name", "--jsonx"}).values.name, "--jsonx");
}

TEST(Flags, LaterValuesWin) { EXPECT_EQ(Parse({"-w", "1", "-w", "2"}).values.window, 2); }

TEST(Flags, UnknownOnesAreRefusedWithTheNearest) {
  const Parsed parsed = Parse({"--window-sise", "7"});
  EXPECT_EQ(parsed.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(parsed.status.message(), "unknown flag --window-sise; did you mean --window-size?");
  EXPECT_EQ(Parse({"--qqqqqqqqqqqqqqq=1"}).status.message(),
            "unknown flag --qqqqqqqqqqqqqqq; quire test --help lists the flags");
}

TEST(Flags, UnusableValuesAreRefusedByName) {
  for (const std::vector<std::string_view>& args :
       {std::vector<std::string_view>{"--window-size", "x"},
        {"--window-size"},
        {"-w"},
        {"--window-size=1.5"},
        {"--json=maybe"},
        {"--hf-overrides", "{"},
        {"--hf-overrides", "[]"},
        {"--name.x", "1"},
        {"-x"},
        {"--=3"},
        {"-jq"},
        {"--no-name"}}) {
    const Parsed parsed = Parse(args);
    EXPECT_EQ(parsed.status.code(), Code::kInvalidArgument) << Join(args, " ");
    EXPECT_NE(parsed.status.message().find("-"), std::string::npos) << parsed.status.message();
  }
}

TEST(Flags, HelpFitsEightyColumnsAndShowsDefaults) {
  Values values;
  values.name = "a default";
  FlagSet flags = MakeFlags(values);
  flags.Group("More");
  int unused = 0;
  flags.Add("a-very-long-name-for-a-flag-of-this-kind", unused,
            "a help text that is long enough to be wrapped more than once, because it says the "
            "same thing again and again and again and again");
  const std::string help = flags.Help();
  for (const std::string_view line : Split(help, '\n')) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_NE(help.find("-w, --window-size N"), std::string::npos) << help;
  EXPECT_NE(help.find("[512]"), std::string::npos) << help;
  EXPECT_NE(help.find("[a default]"), std::string::npos) << help;
  EXPECT_NE(help.find("--[no-]mmap"), std::string::npos) << help;
  EXPECT_NE(help.find("\nMore:\n"), std::string::npos) << help;
}

TEST(SamplingFlags, LeaveOutTheOneThatACommandCannotServe) {
  const std::vector<std::string_view> args = {"--top-k=3", "--thinking-token-budget=3"};
  for (const bool leaves_out : {false, true}) {
    SamplingFlags sampling;
    FlagSet flags("test [flags]", "A command.");
    sampling.AddTo(flags, leaves_out ? "thinking_token_budget" : "");
    const Status status = flags.Parse(args).status();
    EXPECT_EQ(status.ok(), !leaves_out) << status.message();
    EXPECT_TRUE(sampling.names().contains("top_k"));
    if (leaves_out) {
      EXPECT_TRUE(status.message().starts_with("unknown flag --thinking-token-budget"))
          << status.message();
    }
  }
}

}  // namespace
}  // namespace quire
