#include "apps/quire/key_reader.h"

#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace quire {
namespace {

// All characters that a terminal's bytes give.
std::wstring Read(std::string_view bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  KeyReader keys(ends[0]);
  std::wstring out;
  while (const std::optional<wchar_t> next = keys.Next()) out += *next;
  close(ends[0]);
  return out;
}

TEST(KeyReader, GivesCharactersOfEveryLength) { EXPECT_EQ(Read("aé€🧪"), L"aé€🧪"); }

TEST(KeyReader, LeavesKeysAlone) {
  EXPECT_EQ(Read("\x1b[A\x1b[2x\r\t\x1b"), L"\x1b[A\x1b[2x\r\t\x1b");
}

TEST(KeyReader, KeepsLineEndsOfAPasteInTheLine) {
  EXPECT_EQ(Read("x\x1b[200~a\nb\r\nc\rd\te\x1b[201~\r"), L"xa\u2424b\u2424c\u2424d\u2409e\r");
}

TEST(KeyReader, KeepsControlBytesOutOfAPaste) {
  EXPECT_EQ(Read("\x1b[200~a\x03\x1b[Ab\x7f\x1b[201~"), L"a[Ab");
}

TEST(KeyReader, TakesTheNulOfATypedAheadCtrlDForIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  KeyReader keys(ends[0]);
  keys.BeginLine();
  ASSERT_EQ(write(ends[1], "a\0", 2), 2);
  EXPECT_EQ(keys.Next(), L'a');
  EXPECT_EQ(keys.Next(), L'\x04');
  // Nothing follows an Escape: from here on keys come from a terminal in raw mode.
  ASSERT_EQ(write(ends[1], "\x1b", 1), 1);
  EXPECT_EQ(keys.Next(), L'\x1b');
  ASSERT_EQ(write(ends[1], "\0", 1), 1);
  EXPECT_EQ(keys.Next(), L'\0');
  close(ends[1]);
  close(ends[0]);
}

TEST(KeyReader, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Read("a\xff\x62"), L"a\uFFFDb");
  EXPECT_EQ(Read("\xe2\x82x"), L"\uFFFDx");
  EXPECT_EQ(Read("\xe2\x82"), L"\uFFFD");
}

}  // namespace
}  // namespace quire
