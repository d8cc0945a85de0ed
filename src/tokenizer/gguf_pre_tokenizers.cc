// The splittings that tokenizer.ggml.pre names.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/scanners.h"

namespace quire {

namespace {

// Regular expressions after which a text is cut, one after the other, and GPT-2's at the end.
enum class Digits { kNone, kEach, kGroups };

struct Preset {
  std::vector<std::string_view> names = {};
  std::vector<std::string> splits = {};
  Digits digits_before = Digits::kNone;  // numbers are cut first
  Digits digits_after = Digits::kNone;   // … or after the splits
  bool has_gpt2 = false;                 // ends in GPT-2's own pattern
  bool has_nfc = false;
  bool ignores_merges = false;
  bool adds_bos = false;
};

std::string Known(std::string_view scanner) { return std::string(ScannerNamed(scanner).source); }

constexpr std::string_view kDeepseekLetters =
    "\\s?[A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf\\u01c4-\\u0293"
    "\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-"
    "\\u038a\\u038c"
    "\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-\\u10c5"
    "\\u13a0-\\u13f5\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77"
    "\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d\\u1f50-\\u1f57"
    "\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4"
    "\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc"
    "\\u2102\\u2107\\u210a-\\u2113\\u2115\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d"
    "\\u212f-\\u2134\\u2139\\u213c-\\u213f\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b"
    "\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f"
    "\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a"
    "\\uff41-\\uff5a\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}"
    "\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}]+";
constexpr std::string_view kDeepseekPunctuation =
    "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+";
constexpr std::string_view kDeepseekCjk = "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+";
constexpr std::string_view kBloom =
    " ?[^(\\s|[.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c])]+";
constexpr std::string_view kBailing =
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
    "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
constexpr std::string_view kSeedCoder =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| "
    "?[^\\s\\p{L}\\p{N}\\r\\n]+|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kExaoneMoe =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: "
    "\\p{L}\\p{M}*)*)+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
constexpr std::string_view kMiniCpm5 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kUfakzeka =
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

std::string KimiWord(std::string_view uppers, std::string_view lowers) {
  return StrCat("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]", uppers,
                "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]", lowers,
                "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|");
}

std::string Kimi() {
  return StrCat("[\\p{Han}]+|", KimiWord("*", "+"), KimiWord("+", "*"),
                "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
}

std::vector<std::string> Deepseek3() {
  return {Known("numbers3"), Known("cjk"), Known("deepseek3")};
}

std::vector<Preset> MakePresets() {
  const auto s = [](std::string_view text) { return std::string(text); };
  return {
      {.names = {"", "default", "mpt", "olmo", "modern-bert"}, .has_gpt2 = true, .has_nfc = true},
      {.names = {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en",
                 "jina-v2-code", "roberta-bpe", "gigachat", "a.x-4.0", "mellum", "jais", "exaone4",
                 "trillion", "granite-docling"},
       .has_gpt2 = true},
      {.names = {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
                 "mellum2"},
       .digits_before = Digits::kEach,
       .has_gpt2 = true},
      {.names = {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
                 "lfm2", "jina-v5-nano"},
       .splits = {Known("cl100k")},
       .ignores_merges = true,
       .adds_bos = true},
      {.names = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, .splits = {Known("cl100k")}},
      {.names = {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2"},
       .splits = {Known("qwen2")},
       .has_nfc = true},
      {.names = {"stablelm2", "megrez", "hunyuan", "solar-open", "grok-2"},
       .splits = {Known("qwen2")}},
      {.names = {"qwen35"}, .splits = {Known("qwen35")}, .has_nfc = true},
      {.names = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
       .splits = {Known("o200k")}},
      {.names = {"tekken"}, .splits = {Known("tekken")}, .ignores_merges = true, .adds_bos = true},
      {.names = {"deepseek-llm"},
       .splits = {s("[\\r\\n]"), s(kDeepseekLetters), s(kDeepseekPunctuation), s("\\s+$"),
                  s(kDeepseekCjk)},
       .digits_after = Digits::kEach},
      {.names = {"deepseek-coder"},
       .splits = {s("[\\r\\n]"), s("\\s?\\p{L}+"), s("\\s?\\p{P}+"), s(kDeepseekCjk)},
       .digits_after = Digits::kEach},
      {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, .splits = Deepseek3()},
      {.names = {"bloom", "gpt3-finnish", "poro-chat"}, .splits = {s(kBloom)}},
      {.names = {"viking"}, .splits = {s(kBloom)}, .digits_after = Digits::kEach},
      {.names = {"bailingmoe", "bailingmoe2", "llada-moe"}, .splits = {s(kBailing)}},
      {.names = {"seed-coder"}, .splits = {s(kSeedCoder)}},
      {.names = {"exaone-moe"}, .splits = {s(kExaoneMoe)}},
      {.names = {"minicpm5"}, .splits = {Known("numbers3"), s(kMiniCpm5)}, .ignores_merges = true},
      {.names = {"ufakzeka"}, .splits = {s(kUfakzeka)}},
      {.names = {"laguna"}, .splits = {s("[^\\n]+|[\\n]+"), Known("qwen2")}},
      {.names = {"tiny_aya", "cohere2moe"},
       .splits = {s("\\d{1,3}(?=(?:\\d{3})*\\b)"), Known("o200k")}},
      {.names = {"superbpe"}, .splits = {s("\\p{N}+"), s("(?=(\\d{3})+(?!\\d))")}},
      {.names = {"chameleon"},
       .splits = {s("<sentinel:[0-9]+>"), s("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
                  s("([\\t\\n]|    |  )"), s("\\p{N}"), s("[\\p{P}!-/:-@\\[-`{-~]")},
       .has_gpt2 = true,
       .adds_bos = true},
      {.names = {"kimi-k2"}, .splits = {Kimi()}},
  };
}

void AddDigits(Digits digits, std::vector<std::unique_ptr<const PreTokenizer>>& parts) {
  if (digits != Digits::kNone) parts.push_back(MakeDigits(digits == Digits::kEach));
}

// Falcon cuts once more after the bytes have become their stand-ins.
Result<std::unique_ptr<const PreTokenizer>> MakeFalcon() {
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.push_back(MakePunctuation(SplitBehavior::kContiguous));
  parts.push_back(MakeByteLevel(false, true));
  parts.push_back(MakeDigits(false));
  QUIRE_ASSIGN_OR_RETURN(auto pattern, MakeRegexPattern("[0-9][0-9][0-9]"));
  parts.push_back(MakeSplit(std::move(pattern), SplitBehavior::kIsolated));
  return MakePreTokenizerSequence(std::move(parts));
}

}  // namespace

Result<GgufPreTokenizer> MakeGgufPreTokenizer(std::string_view pre) {
  GgufPreTokenizer out;
  if (pre == "falcon") {
    QUIRE_ASSIGN_OR_RETURN(out.pre_tokenizer, MakeFalcon());
    return out;
  }
  for (const Preset& preset : MakePresets()) {
    if (std::find(preset.names.begin(), preset.names.end(), pre) == preset.names.end()) continue;
    std::vector<std::unique_ptr<const PreTokenizer>> parts;
    AddDigits(preset.digits_before, parts);
    for (const std::string& split : preset.splits) {
      QUIRE_ASSIGN_OR_RETURN(auto pattern, MakeRegexPattern(split));
      parts.push_back(MakeSplit(std::move(pattern), SplitBehavior::kIsolated));
    }
    AddDigits(preset.digits_after, parts);
    parts.push_back(MakeByteLevel(false, preset.has_gpt2));
    out.pre_tokenizer = MakePreTokenizerSequence(std::move(parts));
    out.has_nfc = preset.has_nfc;
    out.ignores_merges = preset.ignores_merges;
    out.adds_bos = preset.adds_bos;
    return out;
  }
  return Unimplemented(StrCat("tokenizer.ggml.pre: unknown \"", Printable(pre), "\""));
}

}  // namespace quire
