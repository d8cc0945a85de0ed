// What the tests of this folder share: a small byte-level tokenizer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"
#include "tokenizer/tokenizer.h"

namespace quire {

inline constexpr TokenId kTestEos = 256;         // "<|end|>", special
inline constexpr TokenId kFirstWordToken = 257;  // of the words given to MakeTestTokenizer

// The character by which a byte-level vocabulary spells `byte`, as UTF-8.
inline std::string ByteChar(int byte) {
  static const std::vector<int> code_points = [] {
    std::vector<int> points(256);
    int next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool is_shown = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      points[static_cast<std::size_t>(b)] = is_shown ? b : next++;
    }
    return points;
  }();
  const int point = code_points[static_cast<std::size_t>(byte)];
  if (point < 0x80) return {static_cast<char>(point)};
  return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

// Ids 0 to 255 are the bytes, kTestEos ends an answer. Each of `words` adds the tokens of its
// prefixes of two bytes and more, in this order; ids count up from kFirstWordToken.
inline std::string TestTokenizerJson(const std::vector<std::string>& words = {}) {
  Json vocab;
  Json merges = JsonArray{};
  for (int byte = 0; byte < 256; ++byte) vocab[ByteChar(byte)] = Json(byte);
  vocab["<|end|>"] = Json(kTestEos);
  int next = kFirstWordToken;
  for (const std::string& word : words) {
    std::string prefix;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const std::string last = ByteChar(static_cast<unsigned char>(word[i]));
      if (i > 0) {
        merges.array().push_back(Json(JsonArray{Json(prefix), Json(last)}));
        vocab[prefix + last] = Json(next++);
      }
      prefix += last;
    }
  }
  Json end;
  end["id"] = Json(kTestEos);
  end["content"] = Json("<|end|>");
  for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"})
    end[flag] = Json(false);
  end["special"] = Json(true);
  Json model;
  model["type"] = Json("BPE");
  model["vocab"] = vocab;
  model["merges"] = merges;
  Json byte_level;
  byte_level["type"] = Json("ByteLevel");
  byte_level["add_prefix_space"] = Json(false);
  byte_level["trim_offsets"] = Json(true);
  byte_level["use_regex"] = Json(false);
  Json file;
  file["version"] = Json("1.0");
  file["added_tokens"] = Json(JsonArray{end});
  file["pre_tokenizer"] = byte_level;
  file["decoder"] = byte_level;
  file["model"] = model;
  return file.Dump();
}

inline std::shared_ptr<const Tokenizer> MakeTestTokenizer(
    const std::vector<std::string>& words = {}) {
  const std::string text = TestTokenizerJson(words);
  const std::string config = R"({"eos_token": "<|end|>"})";
  HfTokenizerFiles files;
  files.tokenizer_json = text;
  files.tokenizer_config_json = config;
  return *Tokenizer::FromJson(files);
}

}  // namespace quire
