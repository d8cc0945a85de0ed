#include "step/wire.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

constexpr std::uint32_t kPlanMagic = 0x33505351;    // "QSP3"
constexpr std::uint32_t kMasksMagic = 0x314D5351;   // "QSM1"
constexpr std::uint32_t kResultMagic = 0x31525351;  // "QSR1"

template <typename T>
concept Number = (std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>;

template <typename T>
concept Struct = std::is_aggregate_v<T>;

// The fields of each struct in the order of the message. The bindings name every member, so a
// member that is added and not sent does not compile.
template <typename Archive, typename T>
void VisitFields(Archive& archive, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::same_as<Plain, StepPlan>) {
    auto& [step_id, new_requests, rows, finished, num_tokens] = value;
    archive(step_id, new_requests, rows, finished, num_tokens);
  } else if constexpr (std::same_as<Plain, StepMasks>) {
    auto& [step_id, words] = value;
    archive(step_id, words);
  } else if constexpr (std::same_as<Plain, NewRequestData>) {
    auto& [id, tokens, num_prompt_tokens, sampling, eos_token_ids, seed, blocks] = value;
    archive(id, tokens, num_prompt_tokens, sampling, eos_token_ids, seed, blocks);
  } else if constexpr (std::same_as<Plain, ScheduledRow>) {
    auto& [id, computed, num_new, drafts, new_blocks, samples, grammar_row, forced_token] = value;
    archive(id, computed, num_new, drafts, new_blocks, samples, grammar_row, forced_token);
  } else if constexpr (std::same_as<Plain, SamplingParams>) {
    auto& [n, temperature, top_p, top_k, min_p, typical_p, presence, frequency, repetition, seed,
           stop, stop_token_ids, ignore_eos, max_tokens, min_tokens, logprobs, prompt_logprobs,
           logprob_token_ids, detokenize, skip_special, spaces_between, include_stop, logit_bias,
           allowed, bad_words, bad_words_ids, truncate, repeats, budget, output_kind,
           structured_outputs] = value;
    // The constraint stays above the waist, as what it allows crosses as StepMasks; so does what
    // only the scheduler looks at.
    static_cast<void>(structured_outputs);
    static_cast<void>(repeats);
    static_cast<void>(budget);
    archive(n, temperature, top_p, top_k, min_p, typical_p, presence, frequency, repetition, seed,
            stop, stop_token_ids, ignore_eos, max_tokens, min_tokens, logprobs, prompt_logprobs,
            logprob_token_ids, detokenize, skip_special, spaces_between, include_stop, logit_bias,
            allowed, bad_words, bad_words_ids, truncate, output_kind);
  } else if constexpr (std::same_as<Plain, StepResult>) {
    auto& [step_id, rows] = value;
    archive(step_id, rows);
  } else if constexpr (std::same_as<Plain, RowResult>) {
    auto& [id, tokens, logprobs, prompt_logprobs, drafts, error] = value;
    archive(id, tokens, logprobs, prompt_logprobs, drafts, error);
  } else if constexpr (std::same_as<Plain, PositionLogprobs>) {
    auto& [entries] = value;
    archive(entries);
  } else {
    static_assert(std::same_as<Plain, TokenLogprob>);
    auto& [token, logprob, rank] = value;
    archive(token, logprob, rank);
  }
}

// Enumerators run from 0 to the last one named here.
constexpr std::uint8_t LastOf(OutputKind /*unused*/) {
  return static_cast<std::uint8_t>(OutputKind::kFinalOnly);
}
constexpr std::uint8_t LastOf(Code /*unused*/) {
  return static_cast<std::uint8_t>(Code::kInternal);
}

class Writer {
 public:
  explicit Writer(std::vector<std::uint8_t>& out) : out_(out) { out_.clear(); }

  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (Put(fields), ...);
  }

 private:
  void PutBytes(const void* data, std::size_t count) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    out_.insert(out_.end(), bytes, bytes + count);
  }
  void PutCount(std::size_t count) { Put(static_cast<std::uint32_t>(count)); }

  template <Number T>
  void Put(T value) {
    PutBytes(&value, sizeof value);
  }
  void Put(bool value) { out_.push_back(value ? 1 : 0); }
  template <typename E>
  requires std::is_enum_v<E>
  void Put(E value) { out_.push_back(static_cast<std::uint8_t>(value)); }
  template <typename Tag, typename Rep>
  void Put(Id<Tag, Rep> id) {
    Put(id.value());
  }
  void Put(const std::string& text) {
    PutCount(text.size());
    PutBytes(text.data(), text.size());
  }
  void Put(const Status& status) {
    Put(status.code());
    if (!status.ok()) Put(status.message());
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(value.has_value());
    if (value) Put(*value);
  }
  template <typename A, typename B>
  void Put(const std::pair<A, B>& value) {
    Put(value.first);
    Put(value.second);
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    PutCount(values.size());
    if constexpr (Number<T>) {
      PutBytes(values.data(), values.size() * sizeof(T));
    } else {
      for (const T& value : values) Put(value);
    }
  }
  template <Struct T>
  void Put(const T& value) {
    VisitFields(*this, value);
  }

  std::vector<std::uint8_t>& out_;
};

// Reads until something does not fit, from then on nothing.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (Get(fields), ...);
  }

  // What went wrong, if anything; bytes that are left over are wrong too.
  Status Finish() const {
    if (fault_ != nullptr) return DataLoss(StrCat("step message: ", fault_, " at byte ", at_));
    if (at_ == bytes_.size()) return Status();
    return DataLoss(StrCat("step message: ", bytes_.size() - at_, " bytes after its end"));
  }

  void Refuse(const char* fault) {
    if (fault_ == nullptr) fault_ = fault;
  }

 private:
  std::size_t left() const { return bytes_.size() - at_; }

  bool GetBytes(void* data, std::size_t count) {
    if (count > left()) Refuse("a value runs over the end");
    if (fault_ != nullptr) return false;
    if (count > 0) std::memcpy(data, bytes_.data() + at_, count);
    at_ += count;
    return true;
  }

  // How many elements of at least `element_bytes` follow; no more than there are bytes for.
  std::size_t GetCount(std::size_t element_bytes) {
    std::uint32_t count = 0;
    Get(count);
    if (count > left() / element_bytes) Refuse("a list runs over the end");
    return fault_ == nullptr ? count : 0;
  }

  template <Number T>
  void Get(T& value) {
    if (!GetBytes(&value, sizeof value)) value = T();
  }
  void Get(bool& value) {
    std::uint8_t byte = 0;
    Get(byte);
    if (byte > 1) Refuse("a flag is neither 0 nor 1");
    value = byte == 1;
  }
  template <typename E>
  requires std::is_enum_v<E>
  void Get(E& value) {
    std::uint8_t byte = 0;
    Get(byte);
    if (byte > LastOf(E())) Refuse("a kind is not known");
    value = fault_ == nullptr ? static_cast<E>(byte) : E();
  }
  template <typename Tag, typename Rep>
  void Get(Id<Tag, Rep>& id) {
    Rep value = 0;
    Get(value);
    id = Id<Tag, Rep>(value);
  }
  void Get(std::string& text) {
    text.resize(GetCount(1));
    GetBytes(text.data(), text.size());
  }
  void Get(Status& status) {
    Code code = Code::kOk;
    Get(code);
    status = Status();
    if (code == Code::kOk) return;
    std::string message;
    Get(message);
    status = Status(code, std::move(message));
  }
  template <typename T>
  void Get(std::optional<T>& value) {
    bool has_value = false;
    Get(has_value);
    value.reset();
    if (has_value && fault_ == nullptr) Get(value.emplace());
  }
  template <typename A, typename B>
  void Get(std::pair<A, B>& value) {
    Get(value.first);
    Get(value.second);
  }
  template <typename T>
  void Get(std::vector<T>& values) {
    if constexpr (Number<T>) {
      values.resize(GetCount(sizeof(T)));
      GetBytes(values.data(), values.size() * sizeof(T));
    } else {
      // No element is empty on the wire, and memory grows with what is really read.
      const std::size_t count = GetCount(1);
      if (values.size() > count) values.resize(count);
      for (std::size_t i = 0; i < count && fault_ == nullptr; ++i) {
        if (i == values.size()) values.emplace_back();
        Get(values[i]);
      }
    }
  }
  template <Struct T>
  void Get(T& value) {
    VisitFields(*this, value);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  const char* fault_ = nullptr;
};

template <typename T>
void Encode(std::uint32_t magic, const T& value, std::vector<std::uint8_t>& out) {
  Writer writer(out);
  writer(magic, value);
}

template <typename T>
Status Decode(std::uint32_t magic, std::span<const std::uint8_t> bytes, T& out) {
  Reader reader(bytes);
  std::uint32_t found = 0;
  reader(found);
  if (found != magic) reader.Refuse("the first four bytes name another kind or version");
  reader(out);
  return reader.Finish();
}

}  // namespace

void EncodePlan(const StepPlan& plan, std::vector<std::uint8_t>& out) {
  Encode(kPlanMagic, plan, out);
}

void EncodeMasks(const StepMasks& masks, std::vector<std::uint8_t>& out) {
  Encode(kMasksMagic, masks, out);
}

void EncodeResult(const StepResult& result, std::vector<std::uint8_t>& out) {
  Encode(kResultMagic, result, out);
}

Status DecodePlan(std::span<const std::uint8_t> bytes, StepPlan& out) {
  return Decode(kPlanMagic, bytes, out);
}

Status DecodeMasks(std::span<const std::uint8_t> bytes, StepMasks& out) {
  return Decode(kMasksMagic, bytes, out);
}

Status DecodeResult(std::span<const std::uint8_t> bytes, StepResult& out) {
  return Decode(kResultMagic, bytes, out);
}

}  // namespace quire
