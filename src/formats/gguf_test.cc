#include "formats/gguf.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_data.h"
#include "formats/testing.h"

namespace quire {
namespace {

// An entry of every type, an array of arrays, and two tensors.
GgufWriter SmallFile() {
  GgufWriter file;
  file.Preamble(2, 16);
  file.Entry("u8", 0, std::uint8_t{200}).Entry("i8", 1, std::int8_t{-3});
  file.Entry("u16", 2, std::uint16_t{60000}).Entry("i16", 3, std::int16_t{-300});
  file.Entry("u32", 4, std::uint32_t{4'000'000'000}).Entry("i32", 5, std::int32_t{-5});
  file.Entry("f32", 6, 0.5F).Entry("bool", 7, std::uint8_t{1});
  file.StringEntry("string", "text \xff");
  file.Entry("u64", 10, std::uint64_t{1} << 63).Entry("i64", 11, std::int64_t{-7});
  file.Entry("f64", 12, 0.25);
  file.ArrayEntry("strings", 8, 2).Text("a").Text("bc");
  file.ArrayEntry("ints", 3, 3).Put(std::int16_t{1}).Put(std::int16_t{-2}).Put(std::int16_t{3});
  file.ArrayEntry("bools", 7, 2).Put(std::uint8_t{1}).Put(std::uint8_t{0});
  file.ArrayEntry("nested", 9, 2);
  file.Put(std::uint32_t{0}).Put(std::uint64_t{1}).Put(std::uint8_t{9});
  file.Put(std::uint32_t{8}).Put(std::uint64_t{1}).Text("deep");
  file.Tensor("weight", {32, 2}, 2, 0).Tensor("bias", {3}, 0, 64);
  return file.Data(64 + 12);
}

std::string ErrorOf(std::span<const std::byte> bytes) {
  const Result<GgufHeader> header = GgufHeader::Parse(bytes);
  if (header.ok()) return "ok";
  EXPECT_EQ(header.status().code(), Code::kDataLoss);
  EXPECT_TRUE(IsValidUtf8(header.status().message()));
  return header.status().message();
}

TEST(Gguf, ReadsEveryValueType) {
  const GgufWriter file = SmallFile();
  const Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->version(), 3U);
  EXPECT_EQ(header->metadata().size(), 16U);
  EXPECT_EQ(header->Int("u8").value(), 200);
  EXPECT_EQ(header->Int("i8").value(), -3);
  EXPECT_EQ(header->Int("u16").value(), 60000);
  EXPECT_EQ(header->Int("i16").value(), -300);
  EXPECT_EQ(header->Int("u32").value(), 4'000'000'000);
  EXPECT_EQ(header->Int("i32").value(), -5);
  EXPECT_EQ(header->Int("i64").value(), -7);
  EXPECT_EQ(header->Number("f32").value(), 0.5);
  EXPECT_EQ(header->Number("f64").value(), 0.25);
  EXPECT_EQ(header->Number("u64").value(), 0x1p63);
  EXPECT_EQ(header->Bool("bool").value(), true);
  EXPECT_EQ(header->String("string").value(), "text \xff");
}

TEST(Gguf, DecodesArraysOfEveryKind) {
  const GgufWriter file = SmallFile();
  const Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->Array("strings")->Strings(), (std::vector<std::string_view>{"a", "bc"}));
  EXPECT_EQ(header->Array("ints")->Integers(), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(header->Array("ints")->Floats(), (std::vector<float>{1, -2, 3}));
  EXPECT_EQ(header->Array("bools")->Integers(), (std::vector<std::int64_t>{1, 0}));
  const std::vector<GgufArray> nested = header->Array("nested")->Arrays();
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[0].Integers(), std::vector<std::int64_t>{9});
  EXPECT_EQ(nested[1].Strings(), std::vector<std::string_view>{"deep"});
  EXPECT_TRUE(header->Array("strings")->Integers().empty());
  EXPECT_TRUE(header->Array("ints")->Strings().empty());
  EXPECT_EQ(header->Array("u8"), nullptr);
}

TEST(Gguf, TurnsShapesRoundAndCountsOffsetsFromTheFilesStart) {
  const GgufWriter file = SmallFile();
  const Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  ASSERT_TRUE(header.ok()) << header.status().message();
  ASSERT_EQ(header->tensors().size(), 2U);
  const TensorInfo& weight = header->tensors()[0];
  EXPECT_EQ(weight.name, "weight");
  EXPECT_EQ(weight.type, DType::kQ4_0);
  EXPECT_EQ(weight.shape, (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(weight.num_bytes, 36U);
  EXPECT_EQ(weight.offset, file.text().size() - 76);
  EXPECT_EQ(weight.offset % 32, 0U);
  EXPECT_EQ(header->tensors()[1].offset, weight.offset + 64);
  EXPECT_EQ(header->tensors()[1].num_bytes, 12U);
}

TEST(Gguf, TypedLookUpsNameTheKeyAndBothTypes) {
  const GgufWriter file = SmallFile();
  const Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->Int("absent").value(), std::nullopt);
  EXPECT_EQ(header->String("absent").value(), std::nullopt);
  EXPECT_EQ(header->Find("absent"), nullptr);
  EXPECT_EQ(header->Int("string").status().message(),
            "metadata 'string': must be an integer, got a string");
  EXPECT_EQ(header->Bool("u8").status().message(),
            "metadata 'u8': must be a boolean, got an integer");
  EXPECT_EQ(header->Int("u64").status().message(),
            "metadata 'u64': must fit 63 bits, got 9223372036854775808");
  EXPECT_FALSE(header->Int("bool").ok());
  EXPECT_FALSE(header->Number("strings").ok());
  EXPECT_FALSE(header->String("bool").ok());
}

TEST(Gguf, ReadsVersion2AndObeysItsOwnAlignment) {
  GgufWriter file;
  file.Preamble(2, 1, 2).Entry("general.alignment", 4, std::uint32_t{8});
  file.Tensor("a", {1}, 24, 0).Tensor("b", {1}, 24, 8).Data(9, 8);
  const Result<GgufHeader> header = GgufHeader::Parse(file.bytes());
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->version(), 2U);
  EXPECT_EQ(header->alignment(), 8U);
  EXPECT_EQ(header->tensors()[1].offset, file.text().size() - 1);
}

TEST(Gguf, KnowsEveryTensorTypeInUse) {
  for (const std::uint32_t number :
       {0,  1,  2,  3,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
        19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 34, 35, 39, 40}) {
    const GgufWriter file = GgufWriter().Preamble(1, 0).Tensor("t", {256}, number, 0).Data(2048);
    EXPECT_EQ(ErrorOf(file.bytes()), "ok") << number;
  }
  for (const std::uint32_t number : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 41U, 0xFFFFFFFFU}) {
    const GgufWriter file = GgufWriter().Preamble(1, 0).Tensor("t", {256}, number, 0).Data(2048);
    EXPECT_EQ(ErrorOf(file.bytes()),
              StrCat("tensor 't': element type ", number, " is unknown or no longer in use"));
  }
}

TEST(Gguf, ReadsAFileWithoutTensorsThatEndsUnaligned) {
  EXPECT_EQ(ErrorOf(GgufWriter().Preamble(0, 1).StringEntry("k", "v").bytes()), "ok");
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string text = SmallFile().text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    // A copy of its own, so that the address sanitizer sees a read past the end.
    const std::vector<char> cut(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(ErrorOf(ViewBytes({cut.data(), cut.size()})), "ok") << length;
  }
}

TEST(Gguf, SurvivesEveryChangedByte) {
  std::string text = SmallFile().text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      text[at] = static_cast<char>(text[at] ^ flip);
      const Result<GgufHeader> header = GgufHeader::Parse(ViewBytes(text));
      if (header.ok()) {
        for (const TensorInfo& tensor : header->tensors()) {
          EXPECT_LE(tensor.offset + tensor.num_bytes, text.size());
        }
      }
      text[at] = static_cast<char>(text[at] ^ flip);
    }
  }
}

struct Hostile {
  const char* what;
  GgufWriter file;
  const char* reason;  // a part of the message
};

std::vector<Hostile> HostileHeads() {
  std::vector<Hostile> cases;
  const auto add = [&](const char* what, const GgufWriter& file, const char* reason) {
    cases.push_back({what, file, reason});
  };
  add("no magic", GgufWriter().Put(std::uint32_t{7}), "does not begin with \"GGUF\"");
  add("version 1", GgufWriter().Preamble(0, 0, 1), "GGUF version 1 is not read");
  add("version 4", GgufWriter().Preamble(0, 0, 4), "GGUF version 4 is not read");
  add("big endian", GgufWriter().Preamble(0, 0, 0x03000000), "big-endian");
  add("2^63 tensors", GgufWriter().Preamble(std::uint64_t{1} << 63, 0), "9223372036854775808 ten");
  add("2^63 entries", GgufWriter().Preamble(0, std::uint64_t{1} << 63), "9223372036854775808 met");
  add("unknown value type", GgufWriter().Preamble(0, 1).Entry("k", 13, 0.0),
      "metadata 'k': value type 13 is unknown");
  add("boolean 2", GgufWriter().Preamble(0, 1).Entry("k", 7, std::uint8_t{2}),
      "metadata 'k': a boolean must be 0 or 1, got 2");
  add("boolean 2 in an array",
      GgufWriter().Preamble(0, 1).ArrayEntry("k", 7, 1).Put(std::uint8_t{2}), "0 or 1, got 2");
  add("empty key", GgufWriter().Preamble(0, 1).Entry("", 12, 0.0), "entry 0 is empty");
  add("key not UTF-8", GgufWriter().Preamble(0, 1).Entry("\xC3(", 12, 0.0), "\\xc3(");
  add("key of 70000 bytes", GgufWriter().Preamble(0, 1).Entry(std::string(70000, 'k'), 12, 0.0),
      "70000 bytes long");
  add("string of 2^64 - 1 bytes",
      GgufWriter().Preamble(0, 1).Text("k").Put(std::uint32_t{8}).Put(~std::uint64_t{0}),
      "metadata 'k': the file ends inside its value");
  add("array of 2^61 numbers",
      GgufWriter().Preamble(0, 1).ArrayEntry("k", 12, std::uint64_t{1} << 61).Put(0.0),
      "metadata 'k': its 2305843009213693952 elements pass the end");
  add("array of 2^63 strings",
      GgufWriter().Preamble(0, 1).ArrayEntry("k", 8, std::uint64_t{1} << 63).Put(0.0),
      "elements pass the end");
  add("array of too few strings", GgufWriter().Preamble(0, 1).ArrayEntry("k", 8, 1).Put(9.0),
      "element 0 of its 1 strings");
  GgufWriter deep;
  deep.Preamble(0, 1).ArrayEntry("k", 9, 1);
  for (int i = 0; i < 20000; ++i) deep.Put(std::uint32_t{9}).Put(std::uint64_t{1});
  add("20000 nested arrays", deep, "arrays nest deeper than 4 levels");
  add("two equal keys", GgufWriter().Preamble(0, 2).StringEntry("k", "1").StringEntry("k", "2"),
      "metadata 'k' stands twice");
  add("alignment 0", GgufWriter().Preamble(0, 1).Entry("general.alignment", 4, std::uint32_t{0}),
      "must be a power of two");
  add("alignment 24", GgufWriter().Preamble(0, 1).Entry("general.alignment", 4, std::uint32_t{24}),
      "got 24");
  add("alignment 2^31",
      GgufWriter().Preamble(0, 1).Entry("general.alignment", 4, std::uint32_t{1} << 31),
      "got 2147483648");
  add("alignment -32", GgufWriter().Preamble(0, 1).Entry("general.alignment", 5, std::int32_t{-32}),
      "got -32");
  add("alignment a string", GgufWriter().Preamble(0, 1).StringEntry("general.alignment", "32"),
      "must be an integer, got a string");
  return cases;
}

std::vector<Hostile> HostileTensors() {
  std::vector<Hostile> cases;
  const auto add = [&](const char* what, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                       std::uint64_t offset, const char* reason) {
    GgufWriter file;
    file.Preamble(1, 0).Tensor("t", dims, type, offset).Data(64);
    cases.push_back({what, file, reason});
  };
  add("five dimensions", {1, 1, 1, 1, 1}, 0, 0, "tensor 't': has 5 dimensions");
  add("dimension 0", {4, 0}, 0, 0, "tensor 't': a dimension must be positive");
  add("dimension 2^63", {std::uint64_t{1} << 63}, 0, 0, "got 9223372036854775808");
  add("product 2^64", {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0, "overflows 63 bits");
  add("bytes past 2^64", {std::uint64_t{1} << 62}, 0, 0, "tensor 't': its size in bytes");
  add("half a block", {16}, 2, 0, "tensor 't': its rows of 16 values");
  add("blocks across rows", {16, 2}, 2, 0, "its rows of 16 values");
  add("misaligned offset", {1}, 0, 4, "tensor 't': its offset 4 is no multiple");
  add("past the end", {17}, 0, 0, "tensor 't': its 68 bytes from offset 0 pass the end");
  add("offset past the end", {1}, 0, 96, "pass the end");
  add("offset near 2^64", {1}, 0, ~std::uint64_t{31}, "pass the end");
  const auto add_two = [&](const char* what, const char* second, std::uint64_t offset,
                           const char* reason) {
    GgufWriter file;
    file.Preamble(2, 0).Tensor("t", {9}, 0, 0).Tensor(second, {8}, 0, offset).Data(96);
    cases.push_back({what, file, reason});
  };
  add_two("same place", "u", 0, "overlap those of tensor");
  add_two("overlapping ends", "u", 32, "tensor 'u': its bytes overlap those of tensor 't'");
  add_two("two equal names", "t", 64, "tensor 't': stands twice");
  add_two("empty name", "", 64, "the name of tensor 1 is empty");
  return cases;
}

TEST(Gguf, RefusesHostileFilesWithTheReason) {
  for (const auto& cases : {HostileHeads(), HostileTensors()}) {
    for (const Hostile& hostile : cases) {
      const std::string error = ErrorOf(hostile.file.bytes());
      EXPECT_NE(error.find(hostile.reason), error.npos) << hostile.what << ": " << error;
    }
  }
}

TEST(Gguf, ReadsTheReferenceVocabularies) {
  const std::string folder = TestDataPath("tokenizers/gguf");
  if (folder.empty()) GTEST_SKIP() << "no tokenizers/gguf in the reference data";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    const std::string text = FileBytes(entry.path().string());
    const Result<GgufHeader> header = GgufHeader::Parse(ViewBytes(text));
    ASSERT_TRUE(header.ok()) << entry.path() << ": " << header.status().message();
    ASSERT_NE(header->Array("tokenizer.ggml.tokens"), nullptr) << entry.path();
    EXPECT_GT(header->Array("tokenizer.ggml.tokens")->Strings().size(), 20000U) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(Gguf, ReadsTheDefaultModel) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  const std::string path =
      StrCat(home == nullptr ? "" : home, "/.cache/quire/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::string text = FileBytes(path);
  if (text.empty()) GTEST_SKIP() << "the default model is not at " << path;
  const Result<GgufHeader> header = GgufHeader::Parse(ViewBytes(text));
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->String("general.architecture").value(), "llama");
  EXPECT_EQ(header->Int("llama.block_count").value(), 30);
  EXPECT_EQ(header->tensors().size(), 272U);
}

TEST(Gguf, TakesSplitNamesApartAndPutsThemTogether) {
  const auto name = ParseGgufSplitName("dir/model-Q4-00002-of-00015.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "dir/model-Q4");
  EXPECT_EQ(name->index, 2);
  EXPECT_EQ(name->count, 15);
  EXPECT_EQ(GgufSplitFileName(*name, 15), "dir/model-Q4-00015-of-00015.gguf");
  for (const char* other :
       {"model.gguf", "-0001-of-00002.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf",
        "m-0000a-of-00002.gguf", "m-+0001-of-00002.gguf", "m-00001-of-00002.bin", "",
        "m00001-of-00002.gguf", ".gguf"}) {
    EXPECT_FALSE(ParseGgufSplitName(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace quire
