#include "model/locate.h"

#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/testing.h"

namespace quire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The path found, or the message.
std::string Locate(const std::string& model, const ModelPlaces& places) {
  const auto path = LocateModel(model, places);
  return path.ok() ? *path : path.status().message();
}

TEST(LocateModel, TakesAFolderWithConfigAndWeightsAsItIs) {
  TempFolder folder;
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors", "");
  folder.Write("extra.gguf", "");
  EXPECT_EQ(Locate(folder.Path(), {}), folder.Path());
}

TEST(LocateModel, TakesTheOnlyGgufOfAFolder) {
  TempFolder folder;
  const std::string path = folder.Write("m-00001-of-00002.gguf", "");
  folder.Write("m-00002-of-00002.gguf", "");
  folder.Write("config.json", "{}");  // some repositories of GGUF files keep one
  EXPECT_EQ(Locate(folder.Path(), {}), path);
  folder.Write("another.gguf", "");
  EXPECT_THAT(Locate(folder.Path(), {}), AllOf(HasSubstr("2 GGUF files"), HasSubstr("another")));
}

TEST(LocateModel, RefusesAFolderWithoutAModelAndOneFileOfAFolder) {
  TempFolder folder;
  EXPECT_THAT(Locate(folder.Path(), {}), HasSubstr("neither config.json nor a GGUF file"));
  EXPECT_THAT(Locate(folder.Write("model.safetensors", ""), {}), HasSubstr("name the folder"));
}

TEST(LocateModel, FindsANameInTheModelCacheWithoutAndWithItsSuffix) {
  TempFolder home;
  const std::string path = home.Write(".cache/quire/models/Tiny.Q4_1.gguf", "");
  EXPECT_EQ(Locate("Tiny.Q4_1", {.home = home.Path()}), path);
  EXPECT_EQ(Locate("Tiny.Q4_1.gguf", {.home = home.Path()}), path);
  const std::string other = home.Write("elsewhere/models/Other.gguf", "");
  EXPECT_EQ(Locate("Other", {.home = home.Path(), .quire_cache = home.Path("elsewhere")}), other);
}

TEST(LocateModel, FindsAFolderOfTheModelCache) {
  TempFolder home;
  home.Write(".cache/quire/models/org/tiny/config.json", "{}");
  home.Write(".cache/quire/models/org/tiny/model.safetensors", "");
  EXPECT_EQ(Locate("org/tiny", {.home = home.Path()}), home.Path(".cache/quire/models/org/tiny"));
}

TEST(LocateModel, FindsTheDefaultModelForAnEmptyName) {
  TempFolder home;
  EXPECT_THAT(Locate("", {.home = home.Path()}),
              AllOf(HasSubstr(std::string(kDefaultModelFile)), HasSubstr("make model")));
  const std::string path = home.Write(".cache/quire/models/" + std::string(kDefaultModelFile), "");
  EXPECT_EQ(Locate("", {.home = home.Path()}), path);
}

TEST(LocateModel, TakesTheRevisionThatRefsMainNames) {
  TempFolder home;
  const std::string repo = "hub/models--org--tiny-model/";
  for (const std::string revision : {"aaa", "bbb"}) {
    home.Write(repo + "snapshots/" + revision + "/config.json", "{}");
    home.Write(repo + "snapshots/" + revision + "/model.safetensors", "");
  }
  home.Write(repo + "refs/main", "aaa\n");
  EXPECT_EQ(Locate("org/tiny-model", {.hf_home = home.Path()}), home.Path(repo + "snapshots/aaa"));
  EXPECT_EQ(Locate("org/tiny-model", {.hf_home = "/none", .hf_hub_cache = home.Path("hub")}),
            home.Path(repo + "snapshots/aaa"));
}

TEST(LocateModel, TakesTheNewestRevisionWithoutRefsMain) {
  TempFolder home;
  const std::string repo = ".cache/huggingface/hub/models--org--tiny/";
  for (const std::string revision : {"aaa", "bbb", "ccc"}) {
    home.Write(repo + "snapshots/" + revision + "/config.json", "{}");
    home.Write(repo + "snapshots/" + revision + "/model.safetensors", "");
  }
  home.Write(repo + "refs/main", "../../../../etc");  // no revision, so not followed
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(home.Path(repo + "snapshots/bbb"), now + std::chrono::hours(1));
  EXPECT_EQ(Locate("org/tiny", {.home = home.Path()}), home.Path(repo + "snapshots/bbb"));
}

TEST(LocateModel, PrefersARevisionThatHoldsAModelToANewerOneThatDoesNot) {
  TempFolder home;
  const std::string repo = ".cache/huggingface/hub/models--org--tiny";
  home.Write(repo + "/snapshots/whole/config.json", "{}");
  home.Write(repo + "/snapshots/part/tokenizer.json", "{}");
  std::filesystem::last_write_time(
      home.Path(repo + "/snapshots/whole"),
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(Locate("org/tiny", {.home = home.Path()}), home.Path(repo + "/snapshots/whole"));
}

TEST(LocateModel, TakesTheFolderOfTheHuggingFaceCacheByItsPathAndItsName) {
  TempFolder home;
  const std::string repo = ".cache/huggingface/hub/models--org--tiny";
  home.Write(repo + "/snapshots/abc/config.json", "{}");
  const std::string wanted = home.Path(repo + "/snapshots/abc");
  EXPECT_EQ(Locate(home.Path(repo), {}), wanted);
  EXPECT_EQ(Locate(home.Path(repo) + "/", {}), wanted);
  EXPECT_EQ(Locate("models--org--tiny", {.home = home.Path()}), wanted);
}

TEST(LocateModel, NamesTheConfigWhoseDownloadIsNotThere) {
  TempFolder folder;
  std::filesystem::create_symlink("../../blobs/absent", folder.Path("config.json"));
  EXPECT_EQ(Locate(folder.Path(), {}),
            folder.Path("config.json") + ": is a link to a file that is not there");
}

TEST(LocateModel, SaysWhereItLookedAndWhatIsNearest) {
  TempFolder home;
  home.Write(".cache/quire/models/SmolLM2-135M.gguf", "");
  home.Write(".cache/huggingface/hub/models--org--tiny-llama/refs/main", "x");
  const ModelPlaces places{.home = home.Path()};
  EXPECT_THAT(Locate("SmolLM2-153M", places), HasSubstr("did you mean SmolLM2-135M?"));
  EXPECT_THAT(Locate("org/tiny-lama", places), HasSubstr("did you mean org/tiny-llama?"));
  EXPECT_THAT(Locate("org/tiny-llama", places), HasSubstr("has no snapshot"));
  EXPECT_THAT(Locate("nothing-like-it", places),
              AllOf(HasSubstr("no such file"), HasSubstr(".cache/quire/models")));
}

TEST(LocateModel, SuggestsTheModelThatAShortFormMeans) {
  TempFolder home;
  home.Write(".cache/quire/models/SmolLM2-135M-Instruct.Q4_1.gguf", "");
  home.Write(".cache/quire/models/SmolLM2-135M-Instruct.Q4_1.copy.gguf", "");
  const ModelPlaces places{.home = home.Path()};
  EXPECT_THAT(Locate("smollm2", places), HasSubstr("did you mean SmolLM2-135M-Instruct.Q4_1?"));
  EXPECT_THAT(Locate("q4", places), Not(HasSubstr("did you mean")));
}

TEST(LocateModel, SaysThatThereIsNoHomeFolder) {
  EXPECT_THAT(Locate("", {}), HasSubstr("set HOME or QUIRE_CACHE"));
  EXPECT_THAT(Locate("some-model", {}),
              AllOf(HasSubstr("no such file"), HasSubstr("set HOME or QUIRE_CACHE"),
                    Not(HasSubstr(".cache"))));
}

TEST(LocateModel, SuggestsAFileBesideAMistypedPath) {
  TempFolder folder;
  folder.Write("model-q4.gguf", "");
  EXPECT_THAT(Locate(folder.Path("model-q5.gguf"), {}),
              AllOf(HasSubstr("no such file or folder"), HasSubstr("model-q4.gguf?")));
}

TEST(LocateModel, SaysOfADeviceThatItIsNoFileInsteadOfSuggestingIt) {
  EXPECT_THAT(Locate("/dev/null", {}),
              AllOf(HasSubstr("is neither a file nor a folder"), Not(HasSubstr("did you mean"))));
}

TEST(LocateModel, LooksNowhereOutsideTheCaches) {
  TempFolder home;
  home.Write("secret/config.json", "{}");
  home.Write("secret/model.safetensors", "");
  home.Write(".cache/quire/models/x", "");
  EXPECT_THAT(Locate("../../../secret", {.home = home.Path()}), HasSubstr("no such file"));
  EXPECT_THAT(Locate(std::string(100'000, 'a'), {.home = home.Path()}), HasSubstr("no such file"));
  EXPECT_THAT(Locate(std::string("a\0b", 3), {.home = home.Path()}), HasSubstr("no such file"));
}

}  // namespace
}  // namespace quire
