#include "apps/quire/key_reader.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "apps/quire/interrupt.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr int kForever = -1;
constexpr int kSequenceTimeoutMs = 50;          // between the bytes of one key
constexpr unsigned char kEndOfInputKey = 0x04;  // Ctrl-D
constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";

}  // namespace

// Reads one byte; false at the end of input, on Ctrl-C, or after the time is over.
bool KeyReader::Fetch(int timeout_ms) {
  for (;;) {
    if (IsInterrupted()) {
      was_interrupted_ = true;
      return false;
    }
    pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&wait, 1, is_typed_ahead_ ? 0 : timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && is_typed_ahead_) {
      is_typed_ahead_ = false;
      continue;
    }
    if (ready <= 0) return false;
    unsigned char byte = 0;
    const ssize_t n = read(fd_, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    pending_.push_back(byte == 0 && is_typed_ahead_ ? kEndOfInputKey : byte);
    return true;
  }
}

bool KeyReader::StartsWith(std::string_view mark) {
  for (std::size_t i = 0; i < mark.size(); ++i) {
    if (i == pending_.size() && !Fetch(i == 0 ? kForever : kSequenceTimeoutMs)) return false;
    if (pending_[i] != static_cast<unsigned char>(mark[i])) return false;
  }
  return true;
}

bool KeyReader::TakePasteMark() {
  const bool begins = StartsWith(kPasteBegin);
  if (!begins && (pending_.empty() || !StartsWith(kPasteEnd))) return false;
  is_pasting_ = begins;
  was_carriage_return_ = false;
  pending_.erase(pending_.begin(),
                 pending_.begin() + static_cast<std::ptrdiff_t>(kPasteBegin.size()));
  return true;
}

std::optional<wchar_t> KeyReader::Next() {
  for (;;) {
    if (TakePasteMark()) continue;
    if (pending_.empty()) return std::nullopt;
    const unsigned char byte = pending_.front();
    pending_.pop_front();
    if (!is_pasting_) return Finish(byte);
    if (const std::optional<wchar_t> pasted = Pasted(byte)) return pasted;
  }
}

// nullopt for control bytes, which a paste may not smuggle into the editor.
std::optional<wchar_t> KeyReader::Pasted(unsigned char byte) {
  const bool is_second_of_pair = byte == '\n' && was_carriage_return_;
  was_carriage_return_ = byte == '\r';
  if (is_second_of_pair) return std::nullopt;
  if (byte == '\r' || byte == '\n') return kPastedLineFeed;
  if (byte == '\t') return kPastedTab;
  if (byte < 0x20 || byte == 0x7F) return std::nullopt;
  return Finish(byte);
}

wchar_t KeyReader::Finish(unsigned char lead) {
  std::string sequence(1, static_cast<char>(lead));
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  while (sequence.size() < length) {
    if (pending_.empty() && !Fetch(kSequenceTimeoutMs)) break;
    if ((pending_.front() & 0xC0) != 0x80) break;
    sequence += static_cast<char>(pending_.front());
    pending_.pop_front();
  }
  if (Utf8SequenceLength(sequence) != static_cast<int>(length)) return L'\uFFFD';
  std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << 6) | (static_cast<unsigned char>(sequence[i]) & 0x3FU);
  }
  return static_cast<wchar_t>(code);
}

bool KeyReader::TakeInterrupt() { return std::exchange(was_interrupted_, false); }

}  // namespace quire
