#include "apps/quire/batch_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {
namespace {

constexpr std::string_view kSound =
    R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"x": 1}})";

class BatchFile : public testing::Test {
 protected:
  BatchFile()
      : path_(std::filesystem::temp_directory_path() / StrCat("quire_batch_file_", getpid())) {
    std::filesystem::remove(path_);
  }
  ~BatchFile() override { std::filesystem::remove(path_); }

  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void Put(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  const std::filesystem::path path_;
};

std::string FaultOf(std::string_view text) { return ReadBatchLine(3, text).fault.message(); }

TEST(BatchLine, IsReadWithItsBody) {
  const BatchLine line = ReadBatchLine(3, kSound);
  EXPECT_TRUE(line.fault.ok()) << line.fault.message();
  EXPECT_EQ(line.custom_id, "a");
  EXPECT_EQ(line.url, "/v1/completions");
  EXPECT_EQ(line.body, "{\"x\":1}");
}

TEST(BatchLine, SaysWhatIsWrongAndInWhichLine) {
  EXPECT_TRUE(FaultOf("{\"a\": tru}").starts_with("line 3, column "));
  EXPECT_TRUE(FaultOf("[]").starts_with("line 3: must be an object"));
  EXPECT_EQ(FaultOf(R"({"custom_id": ""})"), "line 3: custom_id: must have 1 to 512 bytes");
  EXPECT_NE(FaultOf(R"({"custom_id": "a", "method": "GET"})").find("method: must be POST"),
            std::string::npos);
  EXPECT_NE(FaultOf(R"({"custom_id": "a", "method": "POST", "url": "/x", "body": {}})")
                .find("url: must be one of"),
            std::string::npos);
  EXPECT_NE(FaultOf(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": []})")
                .find("body: must be an object"),
            std::string::npos);
  EXPECT_NE(FaultOf(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions",
                        "body": {"stream": true}})")
                .find("stream"),
            std::string::npos);
}

TEST(BatchLine, KeepsItsIdWhereTheRestIsWrong) {
  EXPECT_EQ(ReadBatchLine(1, R"({"custom_id": "a", "method": "GET"})").custom_id, "a");
}

TEST(BatchLine, IsAnsweredInOpenAisShape) {
  const BatchLine line = ReadBatchLine(3, kSound);
  const std::string good = WriteBatchLine(line, {.status = 200, .body = "{\"ok\": true}"});
  EXPECT_EQ(good.back(), '\n');
  const Result<Json> json = ParseJson(good);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("custom_id")->string(), "a");
  EXPECT_EQ(json->Find("response")->Find("status_code")->integer(), 200);
  EXPECT_EQ(json->Find("response")->Find("body")->Dump(), "{\"ok\":true}");
  EXPECT_TRUE(json->Find("error")->is_null());
  const Result<Json> bad = ParseJson(
      WriteBatchLine(line, {.status = 404, .body = R"({"error": {"message": "no such model"}})"}));
  EXPECT_EQ(bad->Find("error")->Find("message")->string(), "no such model");
  EXPECT_EQ(bad->Find("response")->Find("status_code")->integer(), 404);
}

TEST_F(BatchFile, KeepsWholeLinesAndCutsTheRest) {
  const std::string whole = R"({"custom_id": "a"})"
                            "\n"
                            R"({"custom_id": null})"
                            "\n";
  Put(whole + R"({"custom_id": "b", "resp)");
  const auto output = BatchOutput::Open(path_);
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(Content(), whole);
  BatchLine a;
  a.custom_id = "a";
  BatchLine b;
  b.custom_id = "b";
  const BatchLine none;
  EXPECT_TRUE((*output)->TakeDone(a));
  EXPECT_FALSE((*output)->TakeDone(a));  // one answer counts once
  EXPECT_FALSE((*output)->TakeDone(b));
  EXPECT_TRUE((*output)->TakeDone(none));
  EXPECT_FALSE((*output)->TakeDone(none));
  ASSERT_TRUE((*output)->Append("{}\n").ok());
  EXPECT_EQ(Content(), whole + "{}\n");
}

TEST_F(BatchFile, CutsALastLineThatLacksOnlyItsEnd) {
  Put(R"({"custom_id": "a"})");
  const auto output = BatchOutput::Open(path_);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(Content(), "");
}

TEST_F(BatchFile, LeavesAFileThatIsNoBatchAlone) {
  Put("my notes\nmore\n");
  EXPECT_EQ(BatchOutput::Open(path_).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Content(), "my notes\nmore\n");
}

TEST_F(BatchFile, IsWrittenByOneProcessAtATime) {
  const auto output = BatchOutput::Open(path_);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(BatchOutput::Open(path_).status().code(), Code::kFailedPrecondition);
}

TEST_F(BatchFile, SaysWhatIsNoFile) {
  EXPECT_EQ(BatchOutput::Open("/dev/null").status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(BatchOutput::Open("/nonexistent/x").ok());
}

}  // namespace
}  // namespace quire
