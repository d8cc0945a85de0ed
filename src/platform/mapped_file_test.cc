#include "platform/mapped_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quire {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A folder of its own for each test.
class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quire-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  std::size_t FilesInFolder() const {
    const std::filesystem::directory_iterator begin(folder_);
    return static_cast<std::size_t>(std::distance(begin, {}));
  }

  std::string folder_;
};

TEST_F(MappedFileTest, HoldsTheFilesBytesMappedOrRead) {
  const std::string text(3'000'001, 'q');
  const std::string path = Write("file", text);
  for (const MapOptions options : {MapOptions{}, MapOptions{.use_mmap = false}}) {
    const Result<MappedFile> file = MappedFile::Open(path, options);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(TextOf(file->bytes()), text);
  }
}

TEST_F(MappedFileTest, MovingLeavesTheSourceEmpty) {
  MappedFile first = MappedFile::Open(Write("a", "first")).value();
  MappedFile second = MappedFile::Open(Write("b", "second")).value();
  MappedFile third = std::move(first);
  EXPECT_TRUE(first.bytes().empty());  // NOLINT(bugprone-use-after-move): what is tested
  third = std::move(second);
  EXPECT_EQ(TextOf(third.bytes()), "second");
  EXPECT_TRUE(second.bytes().empty());  // NOLINT(bugprone-use-after-move): what is tested
}

TEST_F(MappedFileTest, ReleasedBytesStayReadable) {
  const std::string text(1'000'000, 'q');
  const std::string path = Write("file", text);
  for (const bool use_mmap : {true, false}) {
    const MappedFile file = MappedFile::Open(path, {.use_mmap = use_mmap}).value();
    file.Release(1, 999'000);
    file.Release(0, ~std::size_t{0});
    file.Release(~std::size_t{0}, 5);
    EXPECT_EQ(TextOf(file.bytes()), text);
  }
}

TEST_F(MappedFileTest, NamesThePathOfWhatIsNoFile) {
  const Result<MappedFile> absent = MappedFile::Open(Path("absent"));
  EXPECT_EQ(absent.status().code(), Code::kNotFound);
  EXPECT_EQ(absent.status().message(), Path("absent") + ": cannot open: No such file or directory");
  const Result<MappedFile> folder = MappedFile::Open(folder_);
  EXPECT_EQ(folder.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(folder.status().message(), folder_ + ": is a folder, not a file");
  EXPECT_EQ(MappedFile::Open("/dev/null").status().message(), "/dev/null: is a device, not a file");
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(Path("pipe")).status().message(),
            Path("pipe") + ": is a pipe, not a file");
  const std::string empty = Write("empty", "");
  EXPECT_EQ(MappedFile::Open(empty).status().message(), empty + ": is empty");
}

TEST_F(MappedFileTest, LocksOrNamesTheLimit) {
  const std::string path = Write("file", std::string(100'000, 'q'));
  const Result<MappedFile> file = MappedFile::Open(path, {.lock = true});
  if (!file.ok()) {
    EXPECT_NE(file.status().message().find("the limit on locked memory is"), std::string::npos);
  }
  // A child without the privilege and with a limit of one page must hear of the limit.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit = {4096, 4096};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) ::_exit(3);
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
    // The sanitizers put an mlock in place that does nothing and never fails.
    static char probe[1 << 20];
    if (::mlock(probe, sizeof probe) == 0) ::_exit(3);
    const Result<MappedFile> locked = MappedFile::Open("/proc/self/exe", {.lock = true});
    if (locked.ok()) ::_exit(1);
    const std::string& message = locked.status().message();
    ::_exit(message.find("the limit on locked memory is 4.1 kB") != message.npos ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "no limit on locked memory holds here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(MappedFileTest, ReadFileGivesTheWholeUpToItsBound) {
  const std::string path = Write("file", std::string(200'000, 'q'));
  EXPECT_EQ(ReadFile(path).value(), std::string(200'000, 'q'));
  EXPECT_TRUE(ReadFile(path, 200'000).ok());
  EXPECT_EQ(ReadFile(path, 199'999).status().message(),
            path + ": is longer than the 199999 bytes allowed");
  EXPECT_EQ(ReadFile(Write("empty", "")).value(), "");
  EXPECT_FALSE(ReadFile("/proc/self/status").value().empty());
  EXPECT_EQ(ReadFile(Path("absent")).status().code(), Code::kNotFound);
  EXPECT_EQ(ReadFile(folder_).status().message(), folder_ + ": is a folder, not a file");
  EXPECT_FALSE(ReadFile("/dev/zero", 1000).ok());
}

TEST_F(MappedFileTest, WriteFileReplacesTheFileAndLeavesNothingBeside) {
  const std::string path = Write("file", "old");
  ::chmod(path.c_str(), 0640);
  ASSERT_TRUE(WriteFile(path, BytesOf("new")).ok());
  EXPECT_EQ(ReadFile(path).value(), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0640));
  ASSERT_TRUE(WriteFile(Path("other"), {}).ok());
  EXPECT_EQ(FilesInFolder(), 2U);
}

TEST_F(MappedFileTest, WriteFileThatFailsLeavesTheOldFile) {
  EXPECT_EQ(WriteFile(Path("no/such/folder"), BytesOf("x")).code(), Code::kNotFound);
  EXPECT_FALSE(WriteFile(folder_, BytesOf("x")).ok());
  EXPECT_EQ(FilesInFolder(), 0U);
}

TEST_F(MappedFileTest, WriteFileWritesThroughAPipe) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string heard;
  std::thread reader([&] { heard = ReadFile(Path("pipe")).value(); });
  EXPECT_TRUE(WriteFile(Path("pipe"), BytesOf("through")).ok());
  reader.join();
  EXPECT_EQ(heard, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(Path("pipe")));
}

TEST_F(MappedFileTest, NewFileIsNotSeenBesideItsNameUntilItIsCommitted) {
  Result<NewFile> file = NewFile::Create(Path("file"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(::write(file->fd(), "whole", 5), 5);
  EXPECT_EQ(FilesInFolder(), 0U);
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadFile(Path("file")).value(), "whole");
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(MappedFileTest, NewFileThatIsNotCommittedLeavesTheOldOne) {
  const std::string path = Write("file", "old");
  {
    const Result<NewFile> file = NewFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(::write(file->fd(), "half", 4), 4);
  }
  EXPECT_EQ(ReadFile(path).value(), "old");
  EXPECT_EQ(FilesInFolder(), 1U);
}

}  // namespace
}  // namespace quire
