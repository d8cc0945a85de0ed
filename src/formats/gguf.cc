#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/strings.h"
#include "formats/gguf_values.h"

namespace quire {
namespace {

constexpr std::size_t kMaxNameBytes = 64 << 10;
constexpr std::uint32_t kMaxDims = 4;
constexpr std::uint64_t kMinAlignment = 8;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kDefaultAlignment = 32;

// GGML's numbers of tensor types; the gaps are types that GGML has removed.
struct TensorType {
  std::uint32_t number;
  DType type;
};
constexpr TensorType kTensorTypes[] = {
    {0, DType::kF32},      {1, DType::kF16},     {2, DType::kQ4_0},     {3, DType::kQ4_1},
    {6, DType::kQ5_0},     {7, DType::kQ5_1},    {8, DType::kQ8_0},     {9, DType::kQ8_1},
    {10, DType::kQ2_K},    {11, DType::kQ3_K},   {12, DType::kQ4_K},    {13, DType::kQ5_K},
    {14, DType::kQ6_K},    {15, DType::kQ8_K},   {16, DType::kIQ2_XXS}, {17, DType::kIQ2_XS},
    {18, DType::kIQ3_XXS}, {19, DType::kIQ1_S},  {20, DType::kIQ4_NL},  {21, DType::kIQ3_S},
    {22, DType::kIQ2_S},   {23, DType::kIQ4_XS}, {24, DType::kI8},      {25, DType::kI16},
    {26, DType::kI32},     {27, DType::kI64},    {28, DType::kF64},     {29, DType::kIQ1_M},
    {30, DType::kBF16},    {34, DType::kTQ1_0},  {35, DType::kTQ2_0},   {39, DType::kMXFP4},
    {40, DType::kNVFP4},
};

std::optional<DType> TensorTypeOf(std::uint32_t number) {
  for (const TensorType& row : kTensorTypes) {
    if (row.number == number) return row.type;
  }
  return std::nullopt;
}

// The name of a key or tensor, which stands in messages and look-ups and so must be decent.
Result<std::string_view> ReadName(GgufReader& reader, std::string_view what) {
  std::uint64_t length = 0;
  GgufReader ahead = reader;
  if (ahead.Read(length) && length > kMaxNameBytes) {
    return DataLoss(
        StrCat("the name of ", what, " is ", length, " bytes long; at most ", kMaxNameBytes));
  }
  std::string_view name;
  if (!reader.ReadString(name)) return GgufTruncated(StrCat("the name of ", what));
  if (name.empty()) return DataLoss(StrCat("the name of ", what, " is empty"));
  if (!IsValidUtf8(name)) {
    return DataLoss(StrCat("the name of ", what, " is not UTF-8: '", Printable(name), "'"));
  }
  return name;
}

struct Counts {
  std::uint64_t tensors = 0;
  std::uint64_t metadata = 0;
};

Status CheckVersion(std::uint32_t version) {
  if (version == 2 || version == 3) return Status();
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3) {
    return DataLoss(StrCat("is a big-endian GGUF file (version ", swapped,
                           "); only little-endian ones are read"));
  }
  return DataLoss(StrCat("GGUF version ", version, " is not read; 2 and 3 are"));
}

Result<Counts> ReadPreamble(GgufReader& reader, std::uint32_t& version) {
  char magic[4] = {};
  if (!reader.Read(magic) || std::memcmp(magic, "GGUF", 4) != 0) {
    return DataLoss(
        StrCat("does not begin with \"GGUF\" but with \"", Printable({magic, sizeof magic}), "\""));
  }
  if (!reader.Read(version)) return GgufTruncated("the version");
  QUIRE_RETURN_IF_ERROR(CheckVersion(version));
  Counts counts;
  if (!reader.Read(counts.tensors) || !reader.Read(counts.metadata)) {
    return GgufTruncated("the counts of tensors and metadata");
  }
  // Bytes that the shortest entry takes: a name of one byte with its length; then a value type and
  // a value of one byte, or a rank of zero, a type and an offset.
  constexpr std::uint64_t kMinMetadataBytes = 8 + 1 + 4 + 1;
  constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;
  if (counts.metadata > reader.remaining() / kMinMetadataBytes) {
    return DataLoss(StrCat("says that it has ", counts.metadata,
                           " metadata entries, more than its size can hold"));
  }
  if (counts.tensors > reader.remaining() / kMinTensorBytes) {
    return DataLoss(
        StrCat("says that it has ", counts.tensors, " tensors, more than its size can hold"));
  }
  return counts;
}

// The first of the names that stands twice, by value; nullopt when all differ.
std::optional<std::string_view> RepeatedName(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  if (repeated == names.end()) return std::nullopt;
  return *repeated;
}

std::string OfTensor(std::string_view name) { return StrCat("tensor '", Printable(name), "'"); }

// The dimensions, innermost first as they are written.
Result<std::vector<std::int64_t>> ReadDims(GgufReader& reader) {
  std::uint32_t num_dims = 0;
  if (!reader.Read(num_dims)) return GgufTruncated("its rank");
  if (num_dims > kMaxDims) {
    return DataLoss(StrCat("has ", num_dims, " dimensions; at most ", kMaxDims, " are allowed"));
  }
  std::vector<std::int64_t> dims(num_dims);
  std::int64_t product = 1;
  for (std::int64_t& dim : dims) {
    if (!reader.Read(dim)) return GgufTruncated("its shape");
    if (dim <= 0) {
      return DataLoss(StrCat("a dimension must be positive and fit 63 bits, got ",
                             static_cast<std::uint64_t>(dim)));
    }
    if (__builtin_mul_overflow(product, dim, &product)) {
      return DataLoss("the product of its dimensions overflows 63 bits");
    }
  }
  return dims;
}

// Rank, shape, type and offset of the tensor whose name has been read. The offset still counts
// from the start of the tensor data.
Status ReadTensor(GgufReader& reader, TensorInfo& tensor) {
  QUIRE_ASSIGN_OR_RETURN(tensor.shape, ReadDims(reader));
  std::uint32_t number = 0;
  if (!reader.Read(number)) return GgufTruncated("its type");
  const std::optional<DType> type = TensorTypeOf(number);
  if (!type.has_value()) {
    return DataLoss(StrCat("element type ", number, " is unknown or no longer in use"));
  }
  tensor.type = *type;
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.front();
  const int block = LayoutOf(*type).block_values;
  if (row % block != 0) {
    return DataLoss(StrCat("its rows of ", row, " values are no whole number of ", ToString(*type),
                           " blocks, which hold ", block));
  }
  std::int64_t values = 1;
  for (const std::int64_t dim : tensor.shape) values *= dim;
  const std::optional<std::uint64_t> num_bytes = BytesOf(*type, values);
  if (!num_bytes.has_value()) return DataLoss("its size in bytes overflows 64 bits");
  tensor.num_bytes = *num_bytes;
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  if (!reader.Read(tensor.offset)) return GgufTruncated("its offset");
  return Status();
}

// Turns the offset into one from the start of the file, after checking that the tensor lies there.
Status PlaceTensor(TensorInfo& tensor, std::uint64_t data_begin, std::uint64_t alignment,
                   std::uint64_t file_bytes) {
  if (tensor.offset % alignment != 0) {
    return DataLoss(
        StrCat("its offset ", tensor.offset, " is no multiple of the alignment ", alignment));
  }
  const std::uint64_t data_bytes = file_bytes > data_begin ? file_bytes - data_begin : 0;
  if (tensor.offset > data_bytes || tensor.num_bytes > data_bytes - tensor.offset) {
    return DataLoss(StrCat("its ", tensor.num_bytes, " bytes from offset ", tensor.offset,
                           " pass the end of the file, which holds ", data_bytes,
                           " bytes of tensors"));
  }
  tensor.offset += data_begin;
  return Status();
}

Status CheckNoOverlap(const std::vector<TensorInfo>& tensors) {
  std::vector<const TensorInfo*> order;
  order.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = *order[i - 1];
    if (before.offset + before.num_bytes > order[i]->offset) {
      return DataLoss(StrCat("its bytes overlap those of ", OfTensor(before.name)))
          .With(OfTensor(order[i]->name));
    }
  }
  return Status();
}

// How many entries to make room for at once: never more bytes than the file has.
template <typename Entry>
std::size_t Reserve(std::uint64_t count, const GgufReader& reader) {
  return std::min<std::uint64_t>(count, reader.remaining() / sizeof(Entry));
}

using Metadata = std::vector<std::pair<std::string_view, GgufValue>>;

Status ReadMetadata(GgufReader& reader, std::uint64_t count, Metadata& metadata) {
  metadata.reserve(Reserve<Metadata::value_type>(count, reader));
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_ASSIGN_OR_RETURN(const std::string_view key,
                           ReadName(reader, StrCat("metadata entry ", i)));
    Result<GgufValue> value = ReadGgufValue(reader);
    if (!value.ok()) return value.status().With(StrCat("metadata '", Printable(key), "'"));
    metadata.emplace_back(key, *std::move(value));
  }
  std::vector<std::string_view> keys;
  keys.reserve(metadata.size());
  for (const auto& [key, value] : metadata) keys.push_back(key);
  if (const auto repeated = RepeatedName(std::move(keys))) {
    return DataLoss(StrCat("metadata '", Printable(*repeated), "' stands twice"));
  }
  return Status();
}

Status ReadTensors(GgufReader& reader, std::uint64_t count, std::vector<TensorInfo>& tensors) {
  tensors.reserve(Reserve<TensorInfo>(count, reader));
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_ASSIGN_OR_RETURN(const std::string_view name, ReadName(reader, StrCat("tensor ", i)));
    TensorInfo tensor{std::string(name), DType::kF32, {}, 0, 0, 0};
    QUIRE_RETURN_IF_ERROR(ReadTensor(reader, tensor).With(OfTensor(name)));
    tensors.push_back(std::move(tensor));
  }
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  if (const auto repeated = RepeatedName(std::move(names))) {
    return DataLoss("stands twice").With(OfTensor(*repeated));
  }
  return Status();
}

Result<std::uint64_t> AlignmentOf(const GgufHeader& header) {
  QUIRE_ASSIGN_OR_RETURN(const std::optional<std::int64_t> value, header.Int("general.alignment"));
  if (!value.has_value()) return kDefaultAlignment;
  const auto alignment = static_cast<std::uint64_t>(*value);
  if (*value < 0 || !std::has_single_bit(alignment) || alignment < kMinAlignment ||
      alignment > kMaxAlignment) {
    return DataLoss(StrCat("metadata 'general.alignment': must be a power of two from ",
                           kMinAlignment, " to ", kMaxAlignment, ", got ", *value));
  }
  return alignment;
}

}  // namespace

Result<GgufHeader> GgufHeader::Parse(std::span<const std::byte> file) {
  GgufReader reader(file);
  GgufHeader header;
  QUIRE_ASSIGN_OR_RETURN(const Counts counts, ReadPreamble(reader, header.version_));
  QUIRE_RETURN_IF_ERROR(ReadMetadata(reader, counts.metadata, header.metadata_));
  QUIRE_ASSIGN_OR_RETURN(header.alignment_, AlignmentOf(header));
  QUIRE_RETURN_IF_ERROR(ReadTensors(reader, counts.tensors, header.tensors_));
  const std::uint64_t mask = header.alignment_ - 1;
  const std::uint64_t data_begin = (reader.position() + mask) & ~mask;
  for (TensorInfo& tensor : header.tensors_) {
    QUIRE_RETURN_IF_ERROR(PlaceTensor(tensor, data_begin, header.alignment_, file.size())
                              .With(OfTensor(tensor.name)));
  }
  QUIRE_RETURN_IF_ERROR(CheckNoOverlap(header.tensors_));
  return header;
}

const GgufValue* GgufHeader::Find(std::string_view key) const {
  for (const auto& [name, value] : metadata_) {
    if (name == key) return &value;
  }
  return nullptr;
}

namespace {

std::string_view KindOf(const GgufValue& value) {
  if (std::holds_alternative<bool>(value)) return "a boolean";
  if (std::holds_alternative<double>(value)) return "a floating-point number";
  if (std::holds_alternative<std::string_view>(value)) return "a string";
  return std::holds_alternative<GgufArray>(value) ? "an array" : "an integer";
}

Status WrongKind(std::string_view key, std::string_view wanted, const GgufValue& value) {
  return DataLoss(
      StrCat("metadata '", Printable(key), "': must be ", wanted, ", got ", KindOf(value)));
}

}  // namespace

Result<std::optional<std::int64_t>> GgufHeader::Int(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (const auto* number = std::get_if<std::int64_t>(value)) return std::optional(*number);
  const auto* number = std::get_if<std::uint64_t>(value);
  if (number == nullptr) return WrongKind(key, "an integer", *value);
  if (*number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return DataLoss(StrCat("metadata '", Printable(key), "': must fit 63 bits, got ", *number));
  }
  return std::optional(static_cast<std::int64_t>(*number));
}

Result<std::optional<double>> GgufHeader::Number(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::optional<double>();
  if (const auto* number = std::get_if<double>(value)) return std::optional(*number);
  if (const auto* number = std::get_if<std::int64_t>(value)) {
    return std::optional(static_cast<double>(*number));
  }
  if (const auto* number = std::get_if<std::uint64_t>(value)) {
    return std::optional(static_cast<double>(*number));
  }
  return WrongKind(key, "a number", *value);
}

Result<std::optional<bool>> GgufHeader::Bool(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::optional<bool>();
  if (const auto* boolean = std::get_if<bool>(value)) return std::optional(*boolean);
  return WrongKind(key, "a boolean", *value);
}

Result<std::optional<std::string_view>> GgufHeader::String(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (const auto* text = std::get_if<std::string_view>(value)) return std::optional(*text);
  return WrongKind(key, "a string", *value);
}

const GgufArray* GgufHeader::Array(std::string_view key) const {
  const GgufValue* value = Find(key);
  return value == nullptr ? nullptr : std::get_if<GgufArray>(value);
}

std::optional<GgufSplitName> ParseGgufSplitName(std::string_view file_name) {
  constexpr std::string_view kExtension = ".gguf";
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kDigits = 5;
  constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits;
  if (!file_name.ends_with(kExtension)) return std::nullopt;
  file_name.remove_suffix(kExtension.size());
  if (file_name.size() < kTail) return std::nullopt;
  const std::string_view tail = file_name.substr(file_name.size() - kTail);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto index = ParseNumber<unsigned>(tail.substr(1, kDigits));
  const auto count = ParseNumber<unsigned>(tail.substr(kTail - kDigits));
  if (!index.has_value() || !count.has_value() || *index < 1 || *index > *count) {
    return std::nullopt;
  }
  return GgufSplitName{std::string(file_name.substr(0, file_name.size() - kTail)),
                       static_cast<int>(*index), static_cast<int>(*count)};
}

std::string GgufSplitFileName(const GgufSplitName& name, int index) {
  char tail[48];
  std::snprintf(tail, sizeof tail, "-%05d-of-%05d.gguf", index, name.count);
  return name.prefix + tail;
}

}  // namespace quire
