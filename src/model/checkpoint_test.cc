#include "model/checkpoint.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing.h"
#include "model/testing.h"

namespace quire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kSplitIndex =
    R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})";

std::string OpenError(const std::string& path) {
  const auto checkpoint = Checkpoint::Open(path, {});
  return checkpoint.ok() ? "opened" : checkpoint.status().message();
}

// A folder whose two shards hold tensors a and b.
void WriteShards(const TempFolder& folder) {
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors.index.json", kSplitIndex);
  folder.Write("model-1.safetensors", SafetensorsOf({{"a", {2, 3}, 1.0F}}));
  folder.Write("model-2.safetensors", SafetensorsOf({{"b", {4}, 2.0F}}));
}

// One part of a split GGUF with one f32 tensor of four values.
std::string GgufPart(std::uint16_t number, std::uint16_t count, std::string_view tensor) {
  GgufWriter writer;
  writer.Preamble(1, 3).StringEntry("general.architecture", "llama");
  writer.Entry("split.no", 2, number).Entry("split.count", 2, count);
  writer.Tensor(tensor, {4}, 0, 0).Data(16);
  return writer.text();
}

TEST(Checkpoint, ReadsTheTensorsOfASingleSafetensorsFile) {
  TempFolder folder;
  folder.Write("config.json", R"({"hidden_size": 8})");
  folder.Write("model.safetensors", SafetensorsOf({{"x", {2, 2}, 3.0F}}));
  const auto checkpoint = Checkpoint::Open(folder.Path(), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const TensorInfo* x = (*checkpoint)->Find("x");
  ASSERT_NE(x, nullptr);
  const auto view = (*checkpoint)->View(*x);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shape(), (Shape{2, 2}));
  EXPECT_EQ(view->f32()[3], 3.0F);
  EXPECT_EQ((*checkpoint)->config_json().Find("hidden_size")->integer(), 8);
  EXPECT_EQ((*checkpoint)->generation_config(), "");
  EXPECT_EQ((*checkpoint)->Find("y"), nullptr);
}

TEST(Checkpoint, ReadsFilesIntoMemoryWhereMappingIsNotWanted) {
  TempFolder folder;
  WriteShards(folder);
  const auto checkpoint = Checkpoint::Open(folder.Path(), {.use_mmap = false});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint)->View(*(*checkpoint)->Find("b"))->f32()[3], 2.0F);
}

TEST(Checkpoint, FindsEachTensorInItsShard) {
  TempFolder folder;
  WriteShards(folder);
  folder.Write("generation_config.json", R"({"top_k": 5})");
  folder.Write("consolidated.safetensors", "what the index does not name is not read");
  const auto checkpoint = Checkpoint::Open(folder.Path(), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_THAT((*checkpoint)->files(), SizeIs(2));
  EXPECT_EQ((*checkpoint)->View(*(*checkpoint)->Find("a"))->f32()[5], 1.0F);
  EXPECT_EQ((*checkpoint)->View(*(*checkpoint)->Find("b"))->f32()[0], 2.0F);
  EXPECT_EQ((*checkpoint)->generation_config(), R"({"top_k": 5})");
}

TEST(Checkpoint, NamesAShardThatIsAbsent) {
  TempFolder folder;
  WriteShards(folder);
  std::filesystem::remove(folder.Path("model-2.safetensors"));
  EXPECT_THAT(OpenError(folder.Path()),
              AllOf(HasSubstr("model-2.safetensors"), HasSubstr("absent")));
}

TEST(Checkpoint, NamesATensorThatTheIndexPutsIntoAShardWithoutIt) {
  TempFolder folder;
  WriteShards(folder);
  folder.Write("model.safetensors.index.json",
               R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors",
                                  "lost": "model-2.safetensors"}})");
  EXPECT_THAT(OpenError(folder.Path()),
              AllOf(HasSubstr("index.json"), HasSubstr("lost in model-2.safetensors")));
}

TEST(Checkpoint, NamesATensorThatTheIndexDoesNotKnow) {
  TempFolder folder;
  WriteShards(folder);
  folder.Write("model-2.safetensors", SafetensorsOf({{"b", {4}}, {"extra", {1}}}));
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("extra in model-2.safetensors"));
}

TEST(Checkpoint, RefusesATensorThatStandsInTwoShards) {
  TempFolder folder;
  WriteShards(folder);
  folder.Write("model-2.safetensors", SafetensorsOf({{"b", {4}}, {"a", {2, 3}}}));
  const std::string error = OpenError(folder.Path());
  EXPECT_THAT(error, AllOf(HasSubstr("a stands in"), HasSubstr("model-1.safetensors"),
                           HasSubstr("model-2.safetensors")));
}

TEST(Checkpoint, NamesTheFileThatIsCutOff) {
  TempFolder folder;
  WriteShards(folder);
  std::string shard = SafetensorsOf({{"b", {400}}});
  shard.resize(shard.size() - 100);
  folder.Write("model-2.safetensors", shard);
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("model-2.safetensors"));
}

TEST(Checkpoint, RecognisesALargeFilePointer) {
  TempFolder folder;
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("Git LFS pointer"));
}

TEST(Checkpoint, SaysWhatAFolderLacks) {
  TempFolder folder;
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("no config.json"));
  folder.Write("config.json", "{}");
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("no *.safetensors"));
  folder.Write("pytorch_model.bin", "pickle");
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("*.bin"));
  folder.Write("one.safetensors", SafetensorsOf({{"x", {1}}}));
  EXPECT_EQ(OpenError(folder.Path()), "opened");
  folder.Write("two.safetensors", SafetensorsOf({{"y", {1}}}));
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("one.safetensors, two.safetensors"));
}

TEST(Checkpoint, TakesNoOtherFileWhereTheWeightsAreALinkToNothing) {
  TempFolder folder;
  folder.Write("config.json", "{}");
  folder.Write("other.safetensors", "");
  std::filesystem::create_symlink("../../blobs/absent", folder.Path("model.safetensors"));
  EXPECT_EQ(Checkpoint::Open(folder.Path(), {}).status().message(),
            folder.Path("model.safetensors") + ": is a link to a file that is not there");
}

TEST(Checkpoint, NamesTheConfigThatIsNoJson) {
  TempFolder folder;
  folder.Write("config.json", "{\"hidden_size\": }");
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("config.json: "));
  folder.Write("config.json", "[]");
  EXPECT_THAT(OpenError(folder.Path()), HasSubstr("must be an object"));
}

TEST(Checkpoint, OpensAllPartsOfASplitGgufFromAnyOfThem) {
  TempFolder folder;
  folder.Write("m-00001-of-00002.gguf", GgufPart(0, 2, "a"));
  const std::string second = folder.Write("m-00002-of-00002.gguf", GgufPart(1, 2, "b"));
  const auto checkpoint = Checkpoint::Open(second, {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint)->format(), CheckpointFormat::kGguf);
  EXPECT_EQ((*checkpoint)->Find("a")->file_idx, 0);
  EXPECT_EQ((*checkpoint)->Find("b")->file_idx, 1);
  EXPECT_TRUE((*checkpoint)->View(*(*checkpoint)->Find("b")).ok());
  ASSERT_NE((*checkpoint)->gguf(), nullptr);
  EXPECT_EQ(*(*checkpoint)->gguf()->Int("split.no").value(), 0);
}

TEST(Checkpoint, NamesWhatIsWrongWithASplitGguf) {
  TempFolder folder;
  const std::string first = folder.Write("m-00001-of-00002.gguf", GgufPart(0, 2, "a"));
  EXPECT_THAT(OpenError(first), AllOf(HasSubstr("m-00002-of-00002.gguf"), HasSubstr("absent")));
  folder.Write("m-00002-of-00002.gguf", GgufPart(0, 2, "b"));
  EXPECT_THAT(OpenError(first), HasSubstr("split.no is 0, the file name says 1"));
  folder.Write("m-00002-of-00002.gguf", GgufPart(1, 3, "b"));
  EXPECT_THAT(OpenError(first), HasSubstr("split.count is 3, the file name says 2"));
  folder.Write("m-00002-of-00002.gguf", GgufPart(1, 2, "a"));
  EXPECT_THAT(OpenError(first), HasSubstr("a stands in m-00001-of-00002.gguf and in m-00002"));
}

TEST(Checkpoint, RefusesAPartOfASplitThatWasRenamed) {
  TempFolder folder;
  EXPECT_THAT(OpenError(folder.Write("renamed.gguf", GgufPart(1, 2, "b"))),
              HasSubstr("part 2 of 2"));
  EXPECT_EQ(OpenError(folder.Write("whole.gguf", GgufPart(0, 1, "b"))), "opened");
}

TEST(Checkpoint, NamesAPathThatIsNotThere) {
  EXPECT_THAT(OpenError("/nowhere/at/all.gguf"), HasSubstr("/nowhere/at/all.gguf: no such file"));
}

TEST(Checkpoint, ViewsScalarsAsOneValueAndRefusesFiveDimensions) {
  TempFolder folder;
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors",
               SafetensorsOf({{"scalar", {}, 7.0F}, {"deep", {1, 1, 1, 1, 1}}}));
  const auto checkpoint = Checkpoint::Open(folder.Path(), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const auto scalar = (*checkpoint)->View(*(*checkpoint)->Find("scalar"));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->shape(), Shape{1});
  const auto deep = (*checkpoint)->View(*(*checkpoint)->Find("deep"));
  ASSERT_FALSE(deep.ok());
  EXPECT_THAT(deep.status().message(),
              AllOf(HasSubstr("model.safetensors"), HasSubstr("deep"), HasSubstr("5 dimensions")));
}

}  // namespace
}  // namespace quire
