// Regular expressions by PCRE2, the only file that sees its header.
#include <memory>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/strings.h"
#include "tokenizer/pattern.h"
#include "tokenizer/regex_syntax.h"

namespace quire {

namespace {

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct ContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};
struct StackDeleter {
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

// Of one FindAll: patterns of tokenizers take a few steps a byte.
constexpr std::uint32_t kMatchLimit = 2'000'000;
constexpr std::uint32_t kHeapLimitKib = 64 * 1024;
constexpr std::size_t kMaxJitStack = 8u << 20;
constexpr std::size_t kMaxPatternBytes = 256u << 10;

class PcrePattern final : public Pattern {
 public:
  explicit PcrePattern(pcre2_code* code) : code_(code) {}

  Status FindAll(std::string_view text, std::vector<TextRange>& out) const override {
    const std::unique_ptr<pcre2_match_data, MatchDeleter> match(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const std::unique_ptr<pcre2_match_context, ContextDeleter> context(
        pcre2_match_context_create(nullptr));
    const std::unique_ptr<pcre2_jit_stack, StackDeleter> stack(
        pcre2_jit_stack_create(64 * 1024, kMaxJitStack, nullptr));
    if (match == nullptr || context == nullptr) return ResourceExhausted("regex: out of memory");
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    if (stack != nullptr) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    return Walk(text, match.get(), context.get(), out);
  }

 private:
  // All matches from left to right. After an empty match the next one is looked for a code point
  // on; an empty match right behind another match does not count.
  Status Walk(std::string_view text, pcre2_match_data* match, pcre2_match_context* context,
              std::vector<TextRange>& out) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() ? text.data() : "");
    std::size_t at = 0;
    bool has_last = false;
    std::size_t last_end = 0;
    while (at <= text.size()) {
      const int count =
          pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, match, context);
      if (count == PCRE2_ERROR_NOMATCH) break;
      if (count < 0) {
        return ResourceExhausted(StrCat("regex: a match of ", text.size(),
                                        " bytes of text passes the limit (PCRE2 error ", count,
                                        ")"));
      }
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(match);
      const std::size_t begin = found[0], end = found[1];
      if (end < begin) return InvalidArgument("regex: \\K in a look-around is not supported");
      if (end > begin) {
        out.push_back({begin, end});
        at = end;
      } else {
        if (!has_last || begin != last_end) out.push_back({begin, end});
        at = NextStart(text, end);
      }
      has_last = true;
      last_end = end;
    }
    return {};
  }

  static std::size_t NextStart(std::string_view text, std::size_t at) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  }

  std::unique_ptr<pcre2_code, CodeDeleter> code_;
};

}  // namespace

Result<std::unique_ptr<const Pattern>> MakePcrePattern(std::string_view source) {
  if (source.size() > kMaxPatternBytes) {
    return InvalidArgument(StrCat("regex: longer than ", kMaxPatternBytes, " bytes"));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string translated, TranslateRegex(source));
  const std::unique_ptr<pcre2_compile_context, ContextDeleter> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) return ResourceExhausted("regex: out of memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_UTF_CHECK,
      &error, &offset, context.get());
  if (code == nullptr) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof message);
    return InvalidArgument(
        StrCat("regex \"", Printable(source), "\": ", reinterpret_cast<const char*>(message)));
  }
  auto pattern = std::make_unique<PcrePattern>(code);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter does the same
  return std::unique_ptr<const Pattern>(std::move(pattern));
}

}  // namespace quire
