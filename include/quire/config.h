// Options of the engine and parameters of sampling, by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::api {

// Names and values. The engine's names are the flags of `quire serve` without dashes before them
// ("max-num-seqs"), those of sampling are vLLM's ("temperature", "top_p", "max_tokens", "stop"). A
// value is what a command line would say, JSON included; a name may stand several times where the
// parameter is a list. Unknown names and bad values are refused where the options are used.
//
// An answer can be constrained by one of "json_schema" (the schema's text), "json_object", "regex",
// "grammar" (EBNF or GBNF), "choice" (several times) and "structural_tag"; what cannot be enforced
// is refused.
class Options {
 public:
  Options() = default;
  Options& Set(std::string name, std::string value) {
    values_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  Options& Set(std::string name, const char* value) {
    return Set(std::move(name), std::string(value));
  }
  Options& Set(std::string name, std::string_view value) {
    return Set(std::move(name), std::string(value));
  }
  Options& Set(std::string name, bool value) {
    return Set(std::move(name), std::string(value ? "true" : "false"));
  }
  Options& Set(std::string name, int value) { return Set(std::move(name), std::to_string(value)); }
  Options& Set(std::string name, std::int64_t value) {
    return Set(std::move(name), std::to_string(value));
  }
  Options& Set(std::string name, double value);

  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace quire::api
