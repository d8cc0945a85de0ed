// The split patterns of well-known tokenizers, written by hand.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace quire {

// The end of the match that begins at `at`; `at` itself where none does. `text` is valid UTF-8 and
// `at` lies before its end.
using Scanner = std::size_t (*)(std::string_view text, std::size_t at);

struct NamedScanner {
  std::string_view name;    // "gpt2", "llama3", …
  std::string_view source;  // the regular expression it stands for
  Scanner scan;
};

// The scanner for exactly this regular expression; null where there is none.
const NamedScanner* FindScanner(std::string_view source);

// The scanner called `name`; must be one of the table.
const NamedScanner& ScannerNamed(std::string_view name);

// The table, for tests: [0, count).
const NamedScanner* AllScanners(std::size_t* count);

}  // namespace quire
