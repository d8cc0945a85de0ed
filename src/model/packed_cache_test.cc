#include "model/packed_cache.h"

#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "formats/testing.h"
#include "model/testing.h"
#include "model/weight_map.h"
#include "ops/testing.h"

namespace quire {
namespace {

constexpr std::int64_t kOut = 70, kIn = 96;
constexpr std::uint32_t kGgufQ41 = 3, kGgufQ80 = 8;

// A model of two matrices, and a cache in a folder beside it.
class PackedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ops::LinearWeight probe = Matrix(DType::kQ4_1, 1);
    if (!probe.owns_copy()) GTEST_SKIP() << "these kernels want no other layout";
    options_ = {.folder = folder_.Path("cache/packed"), .min_image_bytes = 0};
    WriteModel(1);
  }

  ops::LinearWeight Matrix(DType type, std::uint64_t seed) {
    const auto bytes = ops::RandomWeights(type, kOut * kIn, seed);
    return *ops::LinearWeight::Create(ops_.ctx, {bytes.data(), type, {kOut, kIn}},
                                      ops::MatmulPrecision::kFast);
  }

  // `seed` makes the bytes of the second matrix.
  void WriteModel(std::uint64_t seed) {
    const auto a = ops::RandomWeights(DType::kQ4_1, kOut * kIn, 7);
    const auto b = ops::RandomWeights(DType::kQ8_0, kOut * kIn, seed);
    GgufWriter file;
    file.Preamble(2, 0).Tensor("a", {kIn, kOut}, kGgufQ41, 0);
    const std::size_t padded = (a.size() + 31) / 32 * 32;
    file.Tensor("b", {kIn, kOut}, kGgufQ80, padded).Data(0);
    std::string text = file.text();
    text.append(reinterpret_cast<const char*>(a.data()), a.size())
        .resize(text.size() - a.size() + padded);
    text.append(reinterpret_cast<const char*>(b.data()), b.size());
    model_ = folder_.Write("model.gguf", text);
  }

  // Loads the model and gives back what both matrices make of one row.
  std::vector<float> LoadAndMultiply() {
    const auto checkpoint = Checkpoint::Open(model_, {}).value();
    ops::LinearWeight a, b;
    WeightMap weights(*checkpoint);
    weights.Matrix("a", kOut, kIn, &a);
    weights.Matrix("b", kOut, kIn, &b);
    const auto loaded = weights.Load(ops_.ctx, {ops::MatmulPrecision::kFast, nullptr, &options_});
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    was_written_ = loaded->write != nullptr;
    const auto x = kernels::RandomFloats(kIn, 3);
    std::vector<float> out(2 * kOut);
    const ops::LinearJob jobs[] = {{&a, F32View(out.data(), {1, kOut})},
                                   {&b, F32View(out.data() + kOut, {1, kOut})}};
    ops::Linear(ops_.ctx, F32View(x.data(), {1, kIn}), jobs);
    return out;
  }

  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::is_directory(options_.folder)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
      files.push_back(entry.path());
    }
    return files;
  }
  // The only file of the cache.
  std::string File() const {
    const auto files = Files();
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? "" : files[0].string();
  }

  // Which stamp a file has depends on how long ago the model was written.
  static std::string WithoutStamp(const std::string& file) {
    return file.substr(0, 64) + file.substr(88);
  }

  TempFolder folder_;
  ops::TestContext ops_{2};
  PackedCacheOptions options_;
  std::string model_;
  bool was_written_ = false;
};

TEST_F(PackedCacheTest, GivesTheBitsThatPackingGives) {
  options_.folder.clear();
  const auto without = LoadAndMultiply();
  EXPECT_FALSE(was_written_);
  options_.folder = folder_.Path("cache/packed");
  EXPECT_TRUE(kernels::SameBits(LoadAndMultiply(), without));
  EXPECT_TRUE(was_written_);
  EXPECT_TRUE(kernels::SameBits(LoadAndMultiply(), without));
  EXPECT_FALSE(was_written_);
  EXPECT_NE(File(), "");
}

TEST_F(PackedCacheTest, PassesOverAndReplacesADamagedFile) {
  const auto want = LoadAndMultiply();
  const std::string file = File();
  const std::string good = FileBytes(file);
  std::string flipped = good;
  flipped[5000] = static_cast<char>(flipped[5000] ^ 1);
  for (const std::string& bad : {flipped, good.substr(0, 5000), std::string(), good + "more"}) {
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_TRUE(kernels::SameBits(LoadAndMultiply(), want));
    EXPECT_TRUE(was_written_);
    EXPECT_TRUE(WithoutStamp(FileBytes(file)) == WithoutStamp(good));
  }
}

TEST_F(PackedCacheTest, NoticesOtherWeightsOfTheSameNamesAndSizes) {
  LoadAndMultiply();
  WriteModel(2);
  const auto other = LoadAndMultiply();
  EXPECT_TRUE(was_written_);
  options_.folder.clear();
  EXPECT_TRUE(kernels::SameBits(other, LoadAndMultiply()));
}

// One byte far from where the key looks, with the time of change that the file had.
TEST_F(PackedCacheTest, NoticesOneChangedByte) {
  LoadAndMultiply();
  const auto time = std::filesystem::last_write_time(model_);
  std::string text = FileBytes(model_);
  text[text.size() - 1] = static_cast<char>(text[text.size() - 1] ^ 1);
  folder_.Write("model.gguf", text);
  std::filesystem::last_write_time(model_, time);
  const auto changed = LoadAndMultiply();
  EXPECT_TRUE(was_written_);
  options_.folder.clear();
  EXPECT_TRUE(kernels::SameBits(changed, LoadAndMultiply()));
}

TEST_F(PackedCacheTest, KnowsTheSameWeightsInAnotherPlace) {
  LoadAndMultiply();
  const std::string text = FileBytes(model_);
  model_ = folder_.Write("elsewhere/other.gguf", text);
  LoadAndMultiply();
  EXPECT_FALSE(was_written_);
  EXPECT_EQ(Files().size(), 1U);
}

TEST_F(PackedCacheTest, RunsWithoutAFolderThatCannotBeMade) {
  options_.folder = folder_.Write("file", "") + "/packed";
  const auto out = LoadAndMultiply();
  options_.folder = "/proc/quire";
  EXPECT_TRUE(kernels::SameBits(LoadAndMultiply(), out));
  options_.folder.clear();
  EXPECT_TRUE(kernels::SameBits(LoadAndMultiply(), out));
}

TEST_F(PackedCacheTest, KeepsNothingThatIsLargerThanItsBound) {
  options_.max_bytes = 100;
  LoadAndMultiply();
  EXPECT_TRUE(Files().empty());
}

TEST_F(PackedCacheTest, LeavesSmallModelsAlone) {
  options_.min_image_bytes = 1 << 20;
  LoadAndMultiply();
  EXPECT_FALSE(was_written_);
  EXPECT_TRUE(Files().empty());
}

TEST_F(PackedCacheTest, RemovesWhatWasNotUsedForLongestAndNothingOfOthers) {
  LoadAndMultiply();
  const std::uint64_t size = std::filesystem::file_size(File());
  // Two files of the cache's own kind, a leftover of a writer, and two files of somebody else.
  const auto put = [&](const std::string& name, int age_hours) {
    const std::string path = folder_.Write("cache/packed/" + name, std::string(size, 'x'));
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(age_hours));
  };
  const std::string key(32, 'a');
  put(key + "-avx2.packed", 50);
  put(key + "-old.packed", 60);
  put(key + "-avx2.packed.123-0.tmp", 50);
  put(key + "-new.packed.123-0.tmp", 0);
  put("notes.packed", 90);
  put("0123-avx2.packed", 90);
  WriteModel(3);
  options_.max_bytes = 3 * size;
  LoadAndMultiply();
  ASSERT_TRUE(was_written_);
  std::set<std::string> names;
  for (const auto& path : Files()) names.insert(path.filename().string());
  EXPECT_EQ(names.count(key + "-avx2.packed"), 1U);
  EXPECT_EQ(names.count(key + "-old.packed"), 0U);
  EXPECT_EQ(names.count(key + "-avx2.packed.123-0.tmp"), 0U);
  EXPECT_EQ(names.count(key + "-new.packed.123-0.tmp"), 1U);
  EXPECT_EQ(names.count("notes.packed") + names.count("0123-avx2.packed"), 2U);
}

TEST_F(PackedCacheTest, TakesSeveralStartsAtOnce) {
  options_.folder.clear();
  const auto want = LoadAndMultiply();
  options_.folder = folder_.Path("cache/packed");
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ops::TestContext own(1);
      for (int turn = 0; turn < 5; ++turn) {
        const auto checkpoint = Checkpoint::Open(model_, {}).value();
        ops::LinearWeight a;
        WeightMap weights(*checkpoint);
        weights.Matrix("a", kOut, kIn, &a);
        weights.Ignore("b");
        const auto loaded =
            weights.Load(own.ctx, {ops::MatmulPrecision::kFast, nullptr, &options_});
        EXPECT_TRUE(loaded.ok());
        const auto x = kernels::RandomFloats(kIn, 3);
        std::vector<float> out(kOut);
        const ops::LinearJob job = {&a, F32View(out.data(), {1, kOut})};
        ops::Linear(own.ctx, F32View(x.data(), {1, kIn}), {&job, 1});
        EXPECT_TRUE(std::equal(out.begin(), out.end(), want.begin()));
      }
    });
  }
  threads.clear();
  EXPECT_NE(File(), "");
}

}  // namespace
}  // namespace quire
