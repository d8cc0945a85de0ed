#include "apps/quire/tensor_file.h"

#include <array>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

class TensorFile : public ::testing::Test {
 protected:
  TensorFile()
      : folder_(fs::temp_directory_path() / ("quire_tensor_file_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~TensorFile() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(TensorFile, HoldsTheRowsUnderTheirNames) {
  const std::string path = folder_ / "out.safetensors";
  auto writer = TensorFileWriter::Create(path, {{.name = "logits.0", .rows = 2, .columns = 3},
                                                {.name = "logits.1", .rows = 1, .columns = 3}});
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::size_t i = 0; i < rows.size(); i += 3) {
    ASSERT_TRUE((*writer)->WriteRow(std::span(rows).subspan(i, 3)).ok());
  }
  ASSERT_TRUE((*writer)->Commit().ok());
  const auto text = ReadFile(path);
  ASSERT_TRUE(text.ok());
  const auto header = ParseSafetensors(std::as_bytes(std::span(*text)), text->size());
  ASSERT_TRUE(header.ok()) << header.status().message();
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].name, "logits.0");
  EXPECT_EQ(header->tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header->tensors[0].offset % 8, 0U);
  float last = 0;
  std::memcpy(&last, text->data() + header->tensors[1].offset + 2 * sizeof(float), sizeof last);
  EXPECT_EQ(last, 9.0F);
}

TEST_F(TensorFile, IsNotThereBeforeItIsWhole) {
  const std::string path = folder_ / "out.safetensors";
  {
    auto writer = TensorFileWriter::Create(path, {{.name = "logits.0", .rows = 1, .columns = 1}});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TensorFile, CannotBeMadeWhereThereIsNoFolder) {
  const auto writer = TensorFileWriter::Create(folder_ / "none" / "x", {});
  EXPECT_EQ(writer.status().code(), Code::kNotFound);
}

TEST_F(TensorFile, SaysWhenTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  Writer out(::open("/dev/full", O_WRONLY), "the file");
  EXPECT_EQ(out.WriteNow("x").message(), "cannot write to the file: No space left on device");
  EXPECT_EQ(out.Write("x").code(), Code::kUnavailable);
}

TEST_F(TensorFile, WritesToAPipeInsteadOfReplacingIt) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto writer = TensorFileWriter::Create(path, {{.name = "logits.0", .rows = 1, .columns = 1}});
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE((*writer)->WriteRow(std::vector<float>{1.0F}).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_TRUE(fs::is_fifo(path));
  std::array<char, 4096> heard{};
  EXPECT_GT(read(reader, heard.data(), heard.size()), 0);
  close(reader);
}

TEST_F(TensorFile, RefusesAFolderBeforeAnyRow) {
  EXPECT_FALSE(TensorFileWriter::Create(folder_, {}).ok());
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace quire
