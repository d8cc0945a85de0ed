#include "apps/quire/io.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quire {
namespace {

// A descriptor that gives these bytes.
int PipeOf(std::string_view bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  return ends[0];
}

std::vector<std::string> LinesOf(std::string_view bytes) {
  const int fd = PipeOf(bytes);
  LineReader reader(fd);
  std::vector<std::string> lines;
  for (;;) {
    const Result<std::optional<std::string>> line = reader.Next();
    EXPECT_TRUE(line.ok());
    if (!line.ok() || !*line) break;
    lines.push_back(**line);
  }
  close(fd);
  return lines;
}

TEST(LineReader, GivesEachLineOnce) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(LinesOf("a\nbc\n\nd"), (Lines{"a", "bc", "", "d"}));
  EXPECT_EQ(LinesOf("a\n"), (Lines{"a"}));
  EXPECT_EQ(LinesOf(""), (Lines{}));
  EXPECT_EQ(LinesOf("\r\n"), (Lines{"\r"}));
}

TEST(LineReader, RefusesALineOverTheLimit) {
  const int fd = PipeOf(std::string(1000, 'x'));
  LineReader reader(fd, 100);
  EXPECT_EQ(reader.Next().status().code(), Code::kInvalidArgument);
  close(fd);
}

// In a process of its own: 0 where only `fd` of the standard files was closed, was held, and can be
// neither read nor written; else what went wrong.
int HeldWhereClosed(int fd) {
  close(fd);
  HoldStandardFiles();
  char byte = 'x';
  const ssize_t done = fd == STDIN_FILENO ? read(fd, &byte, 1) : write(fd, &byte, 1);
  if (done != -1 || errno != EBADF) return 1;
  const int next = open("/dev/null", O_RDONLY);
  return next <= STDERR_FILENO ? 2 : 0;
}

TEST(HoldStandardFiles, GivesNoOtherFileTheNumberOfOneThatIsClosed) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(HeldWhereClosed(fd));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << fd;
    EXPECT_EQ(WEXITSTATUS(status), 0) << fd;
  }
}

TEST(ReadInput, NamesWhatCannotBeRead) {
  EXPECT_EQ(ReadInput("/nonexistent/x").status().message(),
            "cannot open /nonexistent/x: No such file or directory");
  EXPECT_EQ(ReadInput("/tmp").status().message(), "/tmp is a folder, a file was wanted");
}

}  // namespace
}  // namespace quire
