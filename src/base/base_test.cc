#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_kind.h"
#include "base/half.h"
#include "base/id.h"
#include "base/log_format.h"
#include "base/percentile.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/strings.h"

namespace quire {
namespace {

TEST(Status, PutsEachLayersContextBeforeTheMessage) {
  const Status status = InvalidArgument("must be positive, got -3").With("max_tokens").With("body");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "body: max_tokens: must be positive, got -3");
  EXPECT_TRUE(Status().With("x").ok());
}

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument(StrCat(x, " is odd"));
  return x / 2;
}

Result<int> Quarter(int x) {
  QUIRE_ASSIGN_OR_RETURN(const int half, Half(x));
  return Half(half);
}

TEST(Result, CarriesTheValueOrTheFailure) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
}

TEST(Log, WritesTextOrOneJsonObjectALine) {
  const std::array<LogField, 1> fields = {{{"load", 0.5}}};
  testing::internal::CaptureStderr();
  WriteLog(LogLevel::kInfo, "x.cc:1", "a \"b\"\n", fields);
  SetLogFormat(LogFormat::kJson);
  WriteLog(LogLevel::kWarning, "x.cc:1", "a \"b\"\n", fields);
  QUIRE_LOG(kError) << "c";
  SetLogFormat(LogFormat::kText);
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_NE(out.find(" x.cc:1] a \"b\"\n\n"), std::string::npos) << out;
  EXPECT_NE(
      out.find(R"("level":"warning","source":"x.cc:1","message":"a \"b\"\u000a","load":0.5})"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find(R"("message":"c"})"), std::string::npos) << out;
}

TEST(Strings, NumbersRoundTripInTheirShortestForm) {
  EXPECT_EQ(StrCat("a", 1, ' ', 0.1, true), "a1 0.1true");
  EXPECT_EQ(ParseNumber<int>("12"), 12);
  EXPECT_EQ(ParseNumber<int>("12x"), std::nullopt);
  EXPECT_EQ(ParseNumber<int>("99999999999"), std::nullopt);
}

TEST(Strings, PrintableEscapesWhatATerminalShouldNotSee) {
  EXPECT_EQ(Printable("a\x1b\xff é"), "a\\x1b\\xff é");
  EXPECT_EQ(Printable("\xc2\x9b\x31m\xc2\xa0"), "\\xc2\\x9b1m\xc2\xa0");
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
}

// What IsValidUtf8() must say, one sequence after the other.
bool IsValidOneByOne(std::string_view text) {
  while (!text.empty()) {
    const int length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

TEST(Strings, FindsOneBadByteAnywhereInALongText) {
  std::minstd_rand random(17);
  constexpr std::array<std::string_view, 10> kParts = {"a",          "plain letters", "\n",     "é",
                                                       "\u0800",     "\ud7ff",        "\uffff", "€",
                                                       "\U00010000", "\U0010ffff"};
  constexpr std::string_view kBytes =
      "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff";
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    while (text.size() < 40 + random() % 120) text += kParts[random() % kParts.size()];
    EXPECT_TRUE(IsValidUtf8(text));
    text[random() % text.size()] = kBytes[random() % kBytes.size()];
    if (i % 3 == 0) text.resize(random() % text.size());
    EXPECT_EQ(IsValidUtf8(text), IsValidOneByOne(text)) << Printable(text, 400);
    valid += IsValidUtf8(text);
  }
  EXPECT_GT(valid, 1000);
  EXPECT_LT(valid, 19000);
}

TEST(Strings, RefusesOverlongAndSurrogateUtf8) {
  EXPECT_TRUE(IsValidUtf8("aé€🧪"));
  EXPECT_FALSE(IsValidUtf8("\xC0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80"));
  EXPECT_FALSE(IsValidUtf8("\xE2\x82"));
}

TEST(Strings, FindsTheNearestNameOnlyWhenItIsNear) {
  EXPECT_EQ(NearestName("temprature", {"top_p", "temperature"}), "temperature");
  EXPECT_EQ(NearestName("zzz", {"top_p", "temperature"}), std::nullopt);
}

TEST(Half, EveryF16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const F16 half{static_cast<std::uint16_t>(bits)};
    const float value = ToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(ToFloat(ToF16(value))));
    } else {
      ASSERT_EQ(ToF16(value).bits, bits);
    }
  }
}

TEST(Half, RoundsTiesToEven) {
  EXPECT_EQ(ToF16(1.0F + 0x1p-11F).bits, 0x3C00);
  EXPECT_EQ(ToF16(1.0F + 3 * 0x1p-11F).bits, 0x3C02);
  EXPECT_EQ(ToF16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(ToF16(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(ToBf16(1.0F + 0x1p-8F).bits, 0x3F80);
  EXPECT_EQ(ToBf16(1.0F + 3 * 0x1p-8F).bits, 0x3F82);
  EXPECT_TRUE(std::isnan(ToFloat(ToBf16(std::numeric_limits<float>::quiet_NaN()))));
}

// Known answers published with the generator (Random123, kat_vectors).
TEST(Philox, GivesThePublishedAnswers) {
  const std::array<std::uint32_t, 4> zero = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), zero);
  const std::array<std::uint32_t, 4> pi = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}), pi);
}

TEST(Percentile, LiesBetweenNeighboursInProportion) {
  EXPECT_EQ(Percentile({}, 50), 0.0);
  EXPECT_EQ(Percentile({7}, 99), 7.0);
  const std::vector<double> values = {40, 10, 30, 20, 50};
  EXPECT_EQ(Percentile(values, 0), 10.0);
  EXPECT_EQ(Percentile(values, 25), 20.0);
  EXPECT_DOUBLE_EQ(Percentile(values, 90), 46.0);
  EXPECT_EQ(Percentile(values, 100), 50.0);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(HasFile, TellsAFileFromNothingAndFromWhatIsNoFile) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "quire_has_file";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto message = [&](const char* name) {
    return HasFile((folder / name).string()).status().message();
  };
  std::ofstream(folder / "file") << "x";
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("absent", folder / "dangling");
  fs::create_symlink("loop", folder / "loop");
  fs::create_directory(folder / "folder");
  EXPECT_TRUE(*HasFile((folder / "file").string()));
  EXPECT_TRUE(*HasFile((folder / "link").string()));
  EXPECT_FALSE(*HasFile((folder / "absent").string()));
  EXPECT_FALSE(*HasFile((folder / "absent" / "absent").string()));
  EXPECT_NE(message("dangling").find("dangling: is a link to a file that"), std::string::npos);
  EXPECT_NE(message("folder").find("folder: is a folder"), std::string::npos);
  EXPECT_NE(message("loop").find("loop: cannot be examined: "), std::string::npos);
  EXPECT_EQ(HasFile("/dev/null").status().message(),
            "/dev/null: is a pipe or a device, not a file");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace quire
