#include "apps/quire/batch_run.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {
namespace {

// A route that answers with what it was sent, on a thread of its own.
class BatchRunTest : public testing::Test {
 protected:
  BatchRunTest()
      : folder_(std::filesystem::temp_directory_path() / StrCat("quire_batch_run_", getpid())) {
    std::filesystem::create_directories(folder_);
    Route route;
    route.method = "POST";
    route.path = "/v1/completions";
    route.handler = [this](const std::shared_ptr<const HttpRequest>& request,
                           const std::shared_ptr<HttpReply>& reply) { Answer(request, reply); };
    routes_.push_back(route);
  }
  ~BatchRunTest() override {
    for (std::thread& thread : threads_) thread.join();
    std::filesystem::remove_all(folder_);
  }

  void Answer(const std::shared_ptr<const HttpRequest>& request,
              const std::shared_ptr<HttpReply>& reply) {
    ++num_asked_;
    if (request->body.find("drop") != std::string::npos) return;
    int status = request->body.find("bad") == std::string::npos ? 200 : 400;
    if (request->body.find("busy") != std::string::npos && !was_busy_.exchange(true)) status = 429;
    threads_.emplace_back(
        [status, request, reply] { reply->Send({.status = status, .body = request->body}); });
  }

  static std::string Line(std::string_view id, std::string_view word) {
    return StrCat(R"({"custom_id": ")", id,
                  R"(", "method": "POST", "url": "/v1/completions", "body": {"prompt": ")", word,
                  "\"}}\n");
  }

  // Runs the lines into the output file and gives the answers by id.
  std::vector<std::string> Run(const std::string& lines) {
    std::ofstream(folder_ / "in") << lines;
    {
      const auto output = BatchOutput::Open(folder_ / "out");
      EXPECT_TRUE(output.ok()) << output.status().message();
      BatchRun run(routes_, **output, {.max_live = 4, .num_lines = {}, .quiet = true, .speed = [] {
                                         return BatchSpeed();
                                       }});
      const auto file = InputFile::Open(folder_ / "in");
      LineReader reader(file->fd());
      const Status status = run.Run(reader);
      EXPECT_TRUE(status.ok()) << status.message();
      num_failed_ = run.num_failed();
    }
    return Answers();
  }

  // "ID STATUS BODY", sorted.
  std::vector<std::string> Answers() const {
    std::vector<std::string> answers;
    std::ifstream file(folder_ / "out");
    for (std::string line; std::getline(file, line);) {
      const Result<Json> json = ParseJson(line);
      const Json* id = json->Find("custom_id");
      const Json* response = json->Find("response");
      const bool has_response = response != nullptr && response->is_object();
      answers.push_back(StrCat(id->is_string() ? id->string() : "?", " ",
                               has_response ? StrCat(response->Find("status_code")->integer(), " ",
                                                     response->Find("body")->Dump())
                                            : json->Find("error")->Find("code")->string()));
    }
    std::sort(answers.begin(), answers.end());
    return answers;
  }

  std::filesystem::path folder_;
  std::vector<Route> routes_;
  std::vector<std::thread> threads_;
  std::atomic<int> num_asked_ = 0;
  std::atomic<bool> was_busy_ = false;
  std::int64_t num_failed_ = 0;
};

TEST_F(BatchRunTest, AnswersEachLineWhateverBecomesOfTheOthers) {
  const auto answers = Run(Line("a", "x") + "\nno json\n" + Line("b", "bad") + Line("c", "drop"));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0], "? invalid_line");
  EXPECT_EQ(answers[1], R"(a 200 {"prompt":"x"})");
  EXPECT_EQ(answers[2], R"(b 400 {"prompt":"bad"})");
  EXPECT_TRUE(answers[3].starts_with("c 500 ")) << answers[3];
  EXPECT_EQ(num_failed_, 3);
}

TEST_F(BatchRunTest, DoesNotAskAgainWhatIsAnswered) {
  const std::string first = Line("a", "x") + "no json\n" + Line("b", "y");
  EXPECT_EQ(Run(first).size(), 3U);
  EXPECT_EQ(num_asked_, 2);
  EXPECT_EQ(Run(first + Line("c", "z")).size(), 4U);
  EXPECT_EQ(num_asked_, 3);
  EXPECT_EQ(Run(first + Line("c", "z")).size(), 4U);
  EXPECT_EQ(num_asked_, 3);
}

TEST_F(BatchRunTest, AsksAgainWhatWasRefusedForTheMoment) {
  std::string lines = Line("a", "busy");
  for (int i = 0; i < 20; ++i) lines += Line(StrCat("x", i), "x");
  const auto answers = Run(lines);
  ASSERT_EQ(answers.size(), 21U);
  for (const std::string& answer : answers) {
    EXPECT_NE(answer.find(" 200 "), std::string::npos) << answer;
  }
  EXPECT_EQ(num_asked_, 22);
}

TEST_F(BatchRunTest, AnswersMoreLinesThanAreUnderWayAtOnce) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += Line(StrCat(i), "x");
  EXPECT_EQ(Run(lines).size(), 100U);
}

}  // namespace
}  // namespace quire
