#include "formats/safetensors.h"

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_data.h"
#include "formats/testing.h"

namespace quire {
namespace {

Result<SafetensorsHeader> Parse(std::string_view file) {
  return ParseSafetensors(ViewBytes(file), file.size());
}

std::string ErrorOf(std::string_view file) {
  const Result<SafetensorsHeader> header = Parse(file);
  if (header.ok()) return "ok";
  EXPECT_EQ(header.status().code(), Code::kDataLoss);
  EXPECT_TRUE(IsValidUtf8(header.status().message()));
  return header.status().message();
}

constexpr std::string_view kSmall =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
    R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
    R"("empty":{"dtype":"I64","shape":[0,7],"data_offsets":[4,4]}}  )";

TEST(Safetensors, ReadsTensorsInOrderOfOffset) {
  const std::string file = SafetensorsFile(kSmall, 16);
  const Result<SafetensorsHeader> header = Parse(file);
  ASSERT_TRUE(header.ok()) << header.status().message();
  ASSERT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].type, DType::kF32);
  EXPECT_TRUE(header->tensors[0].shape.empty());
  EXPECT_EQ(header->tensors[0].offset, file.size() - 16);
  EXPECT_EQ(header->tensors[1].name, "empty");
  EXPECT_EQ(header->tensors[1].num_bytes, 0U);
  EXPECT_EQ(header->tensors[2].name, "b");
  EXPECT_EQ(header->tensors[2].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header->tensors[2].num_bytes, 12U);
  const std::vector<std::pair<std::string, std::string>> metadata = {{"format", "pt"}};
  EXPECT_EQ(header->metadata, metadata);
}

TEST(Safetensors, NeedsOnlyTheHeadersBytes) {
  const std::string file = SafetensorsFile(kSmall, 0);
  EXPECT_TRUE(ParseSafetensors(ViewBytes(file), file.size() + 16).ok());
}

TEST(Safetensors, ReadsEveryDtype) {
  for (const char* name : {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "I32", "I16",
                           "I8", "U64", "U32", "U16", "U8", "BOOL"}) {
    const std::uint64_t bytes = *BytesOf(*ParseDType(name), 3);
    const std::string header =
        StrCat("{\"t\":{\"dtype\":\"", name, "\",\"shape\":[3],\"data_offsets\":[0,", bytes, "]}}");
    EXPECT_EQ(ErrorOf(SafetensorsFile(header, bytes)), "ok") << name;
  }
}

TEST(Safetensors, ReadsWhatItSerializes) {
  const std::vector<float> first = {1.5F, -2.0F, 3.25F, 0.0F, 1e-40F, 6.0F};
  const std::vector<float> second = {7.0F};
  const std::vector<NamedArray> arrays = {
      {"logits.0", {2, 3}, first}, {"none", {0, 5}, {}}, {"scal\"ar é", {}, second}};
  const std::vector<std::byte> file = SerializeSafetensors(arrays);
  const Result<SafetensorsHeader> header = ParseSafetensors(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status().message();
  ASSERT_EQ(header->tensors.size(), arrays.size());
  EXPECT_EQ(header->tensors[0].offset % 8, 0U);
  for (const NamedArray& array : arrays) {
    const auto found = std::find_if(header->tensors.begin(), header->tensors.end(),
                                    [&](const TensorInfo& t) { return t.name == array.name; });
    ASSERT_NE(found, header->tensors.end()) << array.name;
    EXPECT_EQ(found->shape, array.shape);
    ASSERT_EQ(found->num_bytes, array.values.size_bytes());
    EXPECT_TRUE(std::equal(file.begin() + static_cast<std::ptrdiff_t>(found->offset),
                           file.begin() + static_cast<std::ptrdiff_t>(found->offset) +
                               static_cast<std::ptrdiff_t>(found->num_bytes),
                           std::as_bytes(array.values).begin()));
  }
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string file = SafetensorsFile(kSmall, 16);
  for (std::size_t length = 0; length < file.size(); ++length) {
    const std::vector<char> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(ErrorOf({cut.data(), cut.size()}), "ok") << length;
  }
}

TEST(Safetensors, SurvivesEveryChangedByte) {
  std::string file = SafetensorsFile(kSmall, 16);
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {0x01, 0x10, 0x80}) {
      file[at] = static_cast<char>(file[at] ^ flip);
      const Result<SafetensorsHeader> header = Parse(file);
      if (header.ok()) {
        for (const TensorInfo& tensor : header->tensors) {
          EXPECT_LE(tensor.offset + tensor.num_bytes, file.size());
        }
      }
      file[at] = static_cast<char>(file[at] ^ flip);
    }
  }
}

TEST(Safetensors, RefusesHostileHeaderLengths) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7},
                                     std::uint64_t{1} << 60, std::uint64_t{100'000'001}}) {
    std::string file = SafetensorsFile(kSmall, 16);
    std::memcpy(file.data(), &length, sizeof length);
    EXPECT_NE(ErrorOf(file).find(StrCat("its header is ", length, " bytes")), std::string::npos);
  }
  std::string file = SafetensorsFile(kSmall, 16);
  const std::uint64_t length = file.size() - 7;
  std::memcpy(file.data(), &length, sizeof length);
  EXPECT_NE(ErrorOf(file).find("is truncated"), std::string::npos);
}

struct Hostile {
  std::string_view header;
  std::size_t data_bytes;
  std::string_view reason;  // a part of the message
};

constexpr Hostile kHostile[] = {
    {"", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {"{", 0, "header: line 1, column"},
    {"{}x", 0, "header: line 1, column 3"},
    {"{}", 4, "the tensors end at byte 0 of the data, the file at 4"},
    {R"({"t":3})", 0, "tensor 't': must be an object, got an integer"},
    {R"({"t":{}})", 0, "tensor 't': dtype: is missing"},
    {R"({"t":{"dtype":7}})", 0, "tensor 't': dtype: must be a string"},
    {R"({"t":{"dtype":"F33","shape":[],"data_offsets":[0,4]}})", 4, "dtype: 'F33' is unknown"},
    {R"({"t":{"dtype":"Q4_0","shape":[32],"data_offsets":[0,18]}})", 18, "'Q4_0' is unknown"},
    {R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor 't': shape: is missing"},
    {R"({"t":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "must be an array"},
    {R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "got -1"},
    {R"({"t":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "got 1.0"},
    {R"({"t":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4, "got a string"},
    {R"({"t":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4,
     "got 9223372036854775808"},
    {R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
     "tensor 't': shape: the product of the dimensions overflows"},
    {R"({"t":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0,
     "overflows 63 bits"},
    {R"({"t":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
     "its size in bytes overflows"},
    {R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
     "tensor 't': data_offsets: hold 8 bytes, but shape [3] of F32 takes 12"},
    {R"({"t":{"dtype":"F32","shape":[1]}})", 4, "data_offsets: is missing"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "must be two numbers, got 1"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,"4"]}})", 4, "got a string"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "got -4"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "begin 4 is past the end 0"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4,
     "tensor 't': data_offsets: the end 8 is past the end of the file"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "leave a gap from 0"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("u":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
     4, "overlap tensor"},
    {R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
     R"("u":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     8, "tensor 'u': data_offsets: begin at 4 and overlap tensor 't'"},
    {R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
     R"("u":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
     2, "tensor 't': data_offsets: begin at 1 and overlap tensor 'u'"},
    {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     8, "the name \"t\" stands twice"},
    {R"({"__metadata__":[]})", 0, "__metadata__: must be an object, got an array"},
    {R"({"__metadata__":{"a":1}})", 0, "__metadata__: 'a': must be a string, got an integer"},
    {"{\"\xff\":1}", 0, "header: line 1, column"},
};

TEST(Safetensors, RefusesHostileHeadersWithTheReason) {
  for (const Hostile& hostile : kHostile) {
    const std::string error = ErrorOf(SafetensorsFile(hostile.header, hostile.data_bytes));
    EXPECT_NE(error.find(hostile.reason), error.npos) << hostile.header << ": " << error;
  }
  const std::string deep = StrCat("{\"t\":", std::string(20000, '['), "}");
  EXPECT_NE(ErrorOf(SafetensorsFile(deep, 0)).find("nest deeper"), std::string::npos);
}

TEST(SafetensorsIndex, ReadsTheWeightMap) {
  const auto files = ParseSafetensorsIndex(
      R"({"metadata":{"total_size":8},"weight_map":{"a":"model-1.safetensors","b":"x"}})");
  ASSERT_TRUE(files.ok()) << files.status().message();
  const std::map<std::string, std::string> wanted = {{"a", "model-1.safetensors"}, {"b", "x"}};
  EXPECT_EQ(*files, wanted);
}

TEST(SafetensorsIndex, RefusesWhatLeadsOutOfTheFolder) {
  for (const char* name : {"../x", "/etc/passwd", "a/b", "", ".", "..", "a\\\\b", "a\\u0000b"}) {
    const auto files = ParseSafetensorsIndex(StrCat("{\"weight_map\":{\"t\":\"", name, "\"}}"));
    ASSERT_FALSE(files.ok()) << name;
    EXPECT_EQ(files.status().code(), Code::kDataLoss);
    EXPECT_NE(files.status().message().find("tensor 't': weight_map: must be a plain file name"),
              std::string::npos)
        << files.status().message();
  }
}

TEST(SafetensorsIndex, RefusesWhatIsNoIndex) {
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"t":1}})",
        R"({"weight_map":{"t":"a","t":"b"}})", "version https://git-lfs.github.com/spec/v1"}) {
    const auto files = ParseSafetensorsIndex(text);
    ASSERT_FALSE(files.ok()) << text;
    EXPECT_EQ(files.status().code(), Code::kDataLoss) << text;
  }
}

TEST(Safetensors, ReadsTheReferenceModels) {
  const std::string folder = TestDataPath("models-tiny");
  if (folder.empty()) GTEST_SKIP() << "no models-tiny in the reference data";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".safetensors") && name != "model.safetensors.index.json") continue;
    const std::string text = FileBytes(entry.path().string());
    if (name.ends_with(".json")) {
      const auto index = ParseSafetensorsIndex(text);
      EXPECT_TRUE(index.ok()) << entry.path() << ": " << index.status().message();
    } else {
      EXPECT_EQ(ErrorOf(text), "ok") << entry.path();
    }
    ++files;
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace quire
