// Texts and ids through tokenizers with every kind of component.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer_fuzz.h"

namespace {

using quire::Tokenizer;

std::shared_ptr<const Tokenizer> Make(std::string_view json) {
  const auto tokenizer = Tokenizer::FromJson({.tokenizer_json = json});
  QUIRE_CHECK(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

constexpr std::string_view kByteLevel = R"({"added_tokens":[
  {"content":"<s>","special":true},{"content":"ab","normalized":true,"single_word":true},
  {"content":"<m>","lstrip":true,"rstrip":true}],
  "normalizer":{"type":"NFKC"},
  "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":
  "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+"},
  "behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":true,
  "use_regex":true}]},"decoder":{"type":"ByteLevel"},
  "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"aa":3,"\u0120":4,"\u0120a":5},
  "merges":["a b","a a","\u0120 a"],"unk_token":"a","fuse_unk":true}})";
constexpr std::string_view kFallback = R"({"normalizer":{"type":"Sequence","normalizers":[
  {"type":"Prepend","prepend":"\u2581"},{"type":"Replace","pattern":{"String":" "},
  "content":"\u2581"}]},"decoder":{"type":"Sequence","decoders":[{"type":"Replace",
  "pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
  {"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE","byte_fallback":true,
  "vocab":{"<unk>":0,"\u2581":1,"a":2,"\u2581a":3,"<0xF0>":4,"<0x9F>":5,"<0x98>":6,"<0x80>":7},
  "merges":[["\u2581","a"]],"unk_token":"<unk>"}})";
constexpr std::string_view kWordPiece = R"({"normalizer":{"type":"BertNormalizer"},
  "pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece"},
  "post_processor":{"type":"BertProcessing","sep":["[SEP]",1],"cls":["[CLS]",0]},
  "model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[CLS]":0,"[SEP]":1,"[UNK]":2,"a":3,
  "##b":4,"##\u00e9":5}}})";
constexpr std::string_view kUnigram =
    R"({"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581",
  "prepend_scheme":"first","split":true},"decoder":{"type":"Metaspace","replacement":"\u2581"},
  "model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["\u2581",-1],["a",-2],["aa",-2.5],
  ["\u2581a",-1.5]]}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* tokenizers = new std::vector<std::shared_ptr<const Tokenizer>>{
      Make(kByteLevel), Make(kFallback), Make(kWordPiece), Make(kUnigram)};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<quire::TokenId> ids;
  for (std::size_t i = 0; i < size; ++i) {
    quire::TokenId id = data[i] % 12;
    if (data[i] > 250 && i + 4 <= size) std::memcpy(&id, data + i, 4);
    ids.push_back(id);
  }
  for (const auto& tokenizer : *tokenizers) {
    quire::Exercise(*tokenizer, text);
    QUIRE_CHECK(quire::IsValidUtf8(tokenizer->Decode(ids)));
    quire::IncrementalDetokenizer stream(*tokenizer);
    for (const quire::TokenId id : ids) QUIRE_CHECK(quire::IsValidUtf8(stream.Append(id)));
    QUIRE_CHECK(quire::IsValidUtf8(stream.Finish()));
  }
  return 0;
}
