#include "apps/quire/terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {

namespace {

constexpr auto kRewriteInterval = std::chrono::milliseconds(100);
constexpr int kDefaultWidth = 80;

// An environment variable; the program starts no thread that could change one meanwhile.
const char* Environment(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

void WriteToError(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The longest prefix of at most `columns` characters; wide ones count as one, which at worst lets a
// line wrap.
std::string_view CutToWidth(std::string_view text, int columns) {
  std::size_t end = 0;
  while (end < text.size() && columns > 0) {
    end += static_cast<std::size_t>(std::max(1, Utf8SequenceLength(text.substr(end))));
    --columns;
  }
  return text.substr(0, end);
}

}  // namespace

bool IsTerminal(int fd) { return isatty(fd) == 1; }

int TerminalWidth(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return size.ws_col;
}

bool WantsColor(int fd) {
  const char* no_color = Environment("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = Environment("TERM");
  return IsTerminal(fd) && term != nullptr && std::string_view(term) != "dumb";
}

std::string ForTerminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int length = Utf8SequenceLength(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    const bool is_c1 = lead == 0xC2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || is_c1 || lead == 0x7F || (lead < 0x20 && lead != '\n' && lead != '\t')) {
      // Byte by byte: one alone is never valid UTF-8, so that it is escaped.
      for (int i = 0; i < std::max(1, length); ++i) {
        out += Printable(text.substr(0, 1));
        text.remove_prefix(1);
      }
      continue;
    }
    out += text.substr(0, static_cast<std::size_t>(length));
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return out;
}

ProgressLine::ProgressLine(std::chrono::milliseconds delay)
    : is_terminal_(IsTerminal(STDERR_FILENO)), next_(std::chrono::steady_clock::now() + delay) {}

ProgressLine::~ProgressLine() { Clear(); }

bool ProgressLine::is_due() const {
  return is_terminal_ && std::chrono::steady_clock::now() >= next_;
}

void ProgressLine::Show(std::string_view text) {
  if (!is_due()) return;
  next_ = std::chrono::steady_clock::now() + kRewriteInterval;
  is_shown_ = true;
  WriteToError(StrCat("\r", CutToWidth(text, TerminalWidth(STDERR_FILENO) - 1), "\x1b[K"));
}

void ProgressLine::Clear() {
  if (is_shown_) WriteToError("\r\x1b[K");
  is_shown_ = false;
}

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string Plural(std::int64_t count, std::string_view thing) {
  return StrCat(count, " ", thing, count == 1 ? "" : "s");
}

std::string ProgressBar(std::string_view label, double fraction, std::string_view detail) {
  constexpr int kCells = 30;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(fraction * kCells);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(fraction * 100.0));
  return StrCat(label, " [", std::string(static_cast<std::size_t>(filled), '#'),
                std::string(static_cast<std::size_t>(kCells - filled), '.'), "] ", percent, "  ",
                detail);
}

}  // namespace quire
