#include "model/packed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "formats/testing.h"
#include "model/testing.h"

namespace quire {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kDataBytes = (std::size_t{3} << 20) + 777;
const PackedOrigin kOrigin = {{1, 2}, {3, 4}, {5, 6}};

bool Always() { return true; }

class PackedFileTest : public ::testing::Test {
 protected:
  PackedFileTest() : data_(kDataBytes), path_(folder_.Path("file")) {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      data_[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    }
  }
  void Write() { ASSERT_TRUE(WritePackedFile(path_, kOrigin, data_, Always).ok()); }
  // Opens and reads all; an error of either.
  Status Read(const Digest& key = kOrigin.key, std::size_t num_bytes = kDataBytes) {
    QUIRE_ASSIGN_OR_RETURN(const PackedFile file, PackedFile::Open(path_, key, num_bytes));
    read_.assign(num_bytes, std::byte{});
    return file.Read(pool_, read_);
  }
  // Puts other bytes in the file's place, as private as it was.
  void Replace(const std::string& text) {
    folder_.Write("file", text);
    ::chmod(path_.c_str(), 0600);
  }

  TempFolder folder_;
  ThreadPool pool_{{.num_threads = 2, .pin = false}};
  std::vector<std::byte> data_, read_;
  std::string path_;
};

TEST_F(PackedFileTest, GivesBackWhatWasWritten) {
  Write();
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(read_, data_);
  const auto file = PackedFile::Open(path_, kOrigin.key, kDataBytes);
  EXPECT_EQ(file->origin().source, kOrigin.source);
  EXPECT_EQ(file->origin().stamp, kOrigin.stamp);
  struct stat status = {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), PackedFileBytes(kDataBytes));
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(PackedFileTest, IsNotFoundWhereThereIsNone) { EXPECT_EQ(Read().code(), Code::kNotFound); }

TEST_F(PackedFileTest, RefusesAFileWithAnyByteOfItChanged) {
  Write();
  const std::string good = FileBytes(path_);
  // All of the header and the table, and some of the data.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 64; ++i) places.push_back(i);
  for (std::size_t i = 128; i < 160; ++i) places.push_back(i);
  for (std::size_t i = 4096; i < good.size(); i += 300'007) places.push_back(i);
  places.push_back(good.size() - 1);
  for (const std::size_t place : places) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 0x10);
    Replace(bad);
    EXPECT_EQ(Read().code(), Code::kDataLoss) << place;
  }
  Replace(good);
  EXPECT_TRUE(Read().ok());
}

TEST_F(PackedFileTest, ForgetsAStampThatIsDamagedAndKeepsTheRest) {
  Write();
  std::string text = FileBytes(path_);
  text[70] = static_cast<char>(text[70] ^ 1);
  Replace(text);
  const auto file = PackedFile::Open(path_, kOrigin.key, kDataBytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->origin().stamp, Digest());
  EXPECT_EQ(file->origin().source, kOrigin.source);
}

TEST_F(PackedFileTest, RemembersAnotherStamp) {
  Write();
  PackedFile::Open(path_, kOrigin.key, kDataBytes)->SetStamp({8, 9});
  const auto file = PackedFile::Open(path_, kOrigin.key, kDataBytes);
  EXPECT_EQ(file->origin().stamp, (Digest{8, 9}));
  EXPECT_TRUE(Read().ok());
}

TEST_F(PackedFileTest, RefusesAnotherLengthAnotherKeyAndAnotherSize) {
  Write();
  const std::string good = FileBytes(path_);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{4096}, good.size() - 1}) {
    Replace(good.substr(0, length));
    EXPECT_THAT(Read().message(), HasSubstr("bytes, must have")) << length;
  }
  Replace(good + "x");
  EXPECT_EQ(Read().code(), Code::kDataLoss);
  Replace(good);
  EXPECT_THAT(Read({1, 3}).message(), HasSubstr("of another model"));
  EXPECT_EQ(Read(kOrigin.key, kDataBytes - 1).code(), Code::kDataLoss);
}

TEST_F(PackedFileTest, RefusesWhatOthersMayWriteAndWhatIsNoFile) {
  Write();
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  EXPECT_THAT(Read().message(), HasSubstr("may be written by others"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Read().message(), HasSubstr("is not a file"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/zero", path_.c_str()), 0);
  EXPECT_FALSE(Read().ok());
}

TEST_F(PackedFileTest, TakesThePlaceOfAPipeAndOfALink) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  Write();
  EXPECT_TRUE(Read().ok());
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const std::string other = folder_.Write("other", "untouched");
  ASSERT_EQ(::symlink(other.c_str(), path_.c_str()), 0);
  Write();
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(FileBytes(other), "untouched");
}

TEST_F(PackedFileTest, LeavesNothingWhenItIsCutOff) {
  int calls = 0;
  const Status status = WritePackedFile(path_, kOrigin, data_, [&] { return ++calls <= 2; });
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path()));
}

}  // namespace
}  // namespace quire
