#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/strings.h"

static_assert(std::endian::native == std::endian::little, "values are copied out of the file");

namespace quire {
namespace {

constexpr int kMaxArrayDepth = 4;
constexpr std::size_t kMaxNameBytes = 64 << 10;
constexpr std::uint32_t kMaxDims = 4;
constexpr std::uint64_t kMinAlignment = 8;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kDefaultAlignment = 32;

// The format's numbers of value types.
enum class ValueType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
constexpr std::uint32_t kNumValueTypes = 13;

struct ElementLayout {
  GgufArray::Kind kind;
  int bytes;
};

ElementLayout LayoutOf(ValueType type) {
  using Kind = GgufArray::Kind;
  switch (type) {
    case ValueType::kU8:
      return {Kind::kUnsigned, 1};
    case ValueType::kI8:
      return {Kind::kSigned, 1};
    case ValueType::kU16:
      return {Kind::kUnsigned, 2};
    case ValueType::kI16:
      return {Kind::kSigned, 2};
    case ValueType::kU32:
      return {Kind::kUnsigned, 4};
    case ValueType::kI32:
      return {Kind::kSigned, 4};
    case ValueType::kF32:
      return {Kind::kFloat, 4};
    case ValueType::kBool:
      return {Kind::kBool, 1};
    case ValueType::kString:
      return {Kind::kString, 0};
    case ValueType::kArray:
      return {Kind::kArray, 0};
    case ValueType::kU64:
      return {Kind::kUnsigned, 8};
    case ValueType::kI64:
      return {Kind::kSigned, 8};
    case ValueType::kF64:
      return {Kind::kFloat, 8};
  }
  return {Kind::kSigned, 0};
}

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

// Takes values from the front of the file; each Read says no when too few bytes are left.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : all_(bytes) {}

  std::size_t position() const { return at_; }
  std::size_t remaining() const { return all_.size() - at_; }
  std::span<const std::byte> Since(std::size_t begin) const {
    return all_.subspan(begin, at_ - begin);
  }

  template <typename T>
  bool Read(T& out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&out, all_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  bool Skip(std::uint64_t count) {
    if (remaining() < count) return false;
    at_ += count;
    return true;
  }

  bool ReadString(std::string_view& out) {
    std::uint64_t length = 0;
    if (!Read(length) || remaining() < length) return false;
    out = {reinterpret_cast<const char*>(all_.data() + at_), static_cast<std::size_t>(length)};
    at_ += length;
    return true;
  }

 private:
  std::span<const std::byte> all_;
  std::size_t at_ = 0;
};

Status Truncated(std::string_view what) { return DataLoss(StrCat("the file ends inside ", what)); }

// The name of a key or tensor, which stands in messages and look-ups and so must be decent.
Result<std::string_view> ReadName(Reader& reader, std::string_view what) {
  std::uint64_t length = 0;
  Reader ahead = reader;
  if (ahead.Read(length) && length > kMaxNameBytes) {
    return DataLoss(
        StrCat("the name of ", what, " is ", length, " bytes long; at most ", kMaxNameBytes));
  }
  std::string_view name;
  if (!reader.ReadString(name)) return Truncated(StrCat("the name of ", what));
  if (name.empty()) return DataLoss(StrCat("the name of ", what, " is empty"));
  if (!IsValidUtf8(name)) {
    return DataLoss(StrCat("the name of ", what, " is not UTF-8: '", Printable(name), "'"));
  }
  return name;
}

Result<ValueType> ReadValueType(Reader& reader) {
  std::uint32_t number = 0;
  if (!reader.Read(number)) return Truncated("its type");
  if (number >= kNumValueTypes) {
    return DataLoss(
        StrCat("value type ", number, " is unknown; 0 to ", kNumValueTypes - 1, " are known"));
  }
  return static_cast<ValueType>(number);
}

Result<bool> ReadBool(Reader& reader) {
  std::uint8_t value = 0;
  if (!reader.Read(value)) return Truncated("its value");
  if (value > 1) return DataLoss(StrCat("a boolean must be 0 or 1, got ", int{value}));
  return value == 1;
}

Result<GgufArray> ReadArray(Reader& reader, int depth);

Status SkipStrings(Reader& reader, std::uint64_t count) {
  std::string_view ignored;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!reader.ReadString(ignored)) {
      return Truncated(StrCat("element ", i, " of its ", count, " strings"));
    }
  }
  return Status();
}

Status SkipBools(Reader& reader, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_RETURN_IF_ERROR(ReadBool(reader).status());
  }
  return Status();
}

Status SkipArrays(Reader& reader, std::uint64_t count, int depth) {
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_RETURN_IF_ERROR(ReadArray(reader, depth).status());
  }
  return Status();
}

// Walks over the elements, so that whoever decodes them later need not check.
Status SkipElements(Reader& reader, const GgufArray& array, int depth) {
  switch (array.kind) {
    case GgufArray::Kind::kString:
      return SkipStrings(reader, array.count);
    case GgufArray::Kind::kArray:
      return SkipArrays(reader, array.count, depth + 1);
    case GgufArray::Kind::kBool:
      return SkipBools(reader, array.count);
    case GgufArray::Kind::kSigned:
    case GgufArray::Kind::kUnsigned:
    case GgufArray::Kind::kFloat:
      break;
  }
  // No overflow: the count was checked against the bytes that are left.
  reader.Skip(array.count * static_cast<std::uint64_t>(array.element_bytes));
  return Status();
}

// The least bytes that an element takes in the file.
std::uint64_t MinElementBytes(const ElementLayout& layout) {
  if (layout.kind == GgufArray::Kind::kString) return 8;  // its length
  if (layout.kind == GgufArray::Kind::kArray) return 12;  // its element type and count
  return static_cast<std::uint64_t>(layout.bytes);
}

Result<GgufArray> ReadArray(Reader& reader, int depth) {
  if (depth > kMaxArrayDepth) {
    return DataLoss(StrCat("arrays nest deeper than ", kMaxArrayDepth, " levels"));
  }
  QUIRE_ASSIGN_OR_RETURN(const ValueType type, ReadValueType(reader));
  const ElementLayout layout = LayoutOf(type);
  GgufArray array{layout.kind, layout.bytes, 0, {}};
  if (!reader.Read(array.count)) return Truncated("its count");
  if (array.count > reader.remaining() / MinElementBytes(layout)) {
    return DataLoss(StrCat("its ", array.count, " elements pass the end of the file, which has ",
                           reader.remaining(), " bytes left"));
  }
  const std::size_t begin = reader.position();
  QUIRE_RETURN_IF_ERROR(SkipElements(reader, array, depth));
  array.bytes = reader.Since(begin);
  return array;
}

template <typename T, typename Wide>
Result<GgufValue> ReadNumber(Reader& reader) {
  T value{};
  if (!reader.Read(value)) return Truncated("its value");
  return GgufValue(static_cast<Wide>(value));
}

Result<GgufValue> ReadValue(Reader& reader) {
  QUIRE_ASSIGN_OR_RETURN(const ValueType type, ReadValueType(reader));
  switch (type) {
    case ValueType::kU8:
      return ReadNumber<std::uint8_t, std::uint64_t>(reader);
    case ValueType::kI8:
      return ReadNumber<std::int8_t, std::int64_t>(reader);
    case ValueType::kU16:
      return ReadNumber<std::uint16_t, std::uint64_t>(reader);
    case ValueType::kI16:
      return ReadNumber<std::int16_t, std::int64_t>(reader);
    case ValueType::kU32:
      return ReadNumber<std::uint32_t, std::uint64_t>(reader);
    case ValueType::kI32:
      return ReadNumber<std::int32_t, std::int64_t>(reader);
    case ValueType::kU64:
      return ReadNumber<std::uint64_t, std::uint64_t>(reader);
    case ValueType::kI64:
      return ReadNumber<std::int64_t, std::int64_t>(reader);
    case ValueType::kF32:
      return ReadNumber<float, double>(reader);
    case ValueType::kF64:
      return ReadNumber<double, double>(reader);
    case ValueType::kBool: {
      QUIRE_ASSIGN_OR_RETURN(const bool value, ReadBool(reader));
      return GgufValue(value);
    }
    case ValueType::kString: {
      std::string_view text;
      if (!reader.ReadString(text)) return Truncated("its value");
      return GgufValue(text);
    }
    case ValueType::kArray: {
      QUIRE_ASSIGN_OR_RETURN(GgufArray array, ReadArray(reader, 1));
      return GgufValue(array);
    }
  }
  return Internal("a value type without a reader");
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

Result<Counts> ReadPreamble(Reader& reader, std::uint32_t& version) {
  char magic[4] = {};
  if (!reader.Read(magic) || std::memcmp(magic, "GGUF", 4) != 0) {
    return DataLoss(
        StrCat("does not begin with \"GGUF\" but with \"", Printable({magic, sizeof magic}), "\""));
  }
  if (!reader.Read(version)) return Truncated("the version");
  QUIRE_RETURN_IF_ERROR(CheckVersion(version));
  Counts counts;
  if (!reader.Read(counts.tensors) || !reader.Read(counts.metadata)) {
    return Truncated("the counts of tensors and metadata");
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
Result<std::vector<std::int64_t>> ReadDims(Reader& reader) {
  std::uint32_t num_dims = 0;
  if (!reader.Read(num_dims)) return Truncated("its rank");
  if (num_dims > kMaxDims) {
    return DataLoss(StrCat("has ", num_dims, " dimensions; at most ", kMaxDims, " are allowed"));
  }
  std::vector<std::int64_t> dims(num_dims);
  std::int64_t product = 1;
  for (std::int64_t& dim : dims) {
    if (!reader.Read(dim)) return Truncated("its shape");
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
Status ReadTensor(Reader& reader, TensorInfo& tensor) {
  QUIRE_ASSIGN_OR_RETURN(tensor.shape, ReadDims(reader));
  std::uint32_t number = 0;
  if (!reader.Read(number)) return Truncated("its type");
  const std::optional<DType> type = TensorTypeOf(number);
  if (!type.has_value()) {
    return DataLoss(StrCat("element type ", number, " is unknown or no longer in use"));
  }
  tensor.type = *type;
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.front();
  const int block = quire::LayoutOf(*type).block_values;
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
  if (!reader.Read(tensor.offset)) return Truncated("its offset");
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
std::size_t Reserve(std::uint64_t count, const Reader& reader) {
  return std::min<std::uint64_t>(count, reader.remaining() / sizeof(Entry));
}

using Metadata = std::vector<std::pair<std::string_view, GgufValue>>;

Status ReadMetadata(Reader& reader, std::uint64_t count, Metadata& metadata) {
  metadata.reserve(Reserve<Metadata::value_type>(count, reader));
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_ASSIGN_OR_RETURN(const std::string_view key,
                           ReadName(reader, StrCat("metadata entry ", i)));
    Result<GgufValue> value = ReadValue(reader);
    if (!value.ok()) return value.status().With(StrCat("metadata '", Printable(key), "'"));
    metadata.emplace_back(key, *std::move(value));
  }
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : metadata) keys.push_back(key);
  if (const auto repeated = RepeatedName(std::move(keys))) {
    return DataLoss(StrCat("metadata '", Printable(*repeated), "' stands twice"));
  }
  return Status();
}

Status ReadTensors(Reader& reader, std::uint64_t count, std::vector<TensorInfo>& tensors) {
  tensors.reserve(Reserve<TensorInfo>(count, reader));
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_ASSIGN_OR_RETURN(const std::string_view name, ReadName(reader, StrCat("tensor ", i)));
    TensorInfo tensor{std::string(name), DType::kF32, {}, 0, 0, 0};
    QUIRE_RETURN_IF_ERROR(ReadTensor(reader, tensor).With(OfTensor(name)));
    tensors.push_back(std::move(tensor));
  }
  std::vector<std::string_view> names;
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
  Reader reader(file);
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

namespace {

template <typename T, typename Wide>
std::vector<Wide> Decode(const GgufArray& array) {
  std::vector<Wide> values(array.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<Wide>(value);
  }
  return values;
}

template <typename Wide>
std::vector<Wide> DecodeSigned(const GgufArray& array) {
  switch (array.element_bytes) {
    case 1:
      return Decode<std::int8_t, Wide>(array);
    case 2:
      return Decode<std::int16_t, Wide>(array);
    case 4:
      return Decode<std::int32_t, Wide>(array);
    default:
      return Decode<std::int64_t, Wide>(array);
  }
}

template <typename Wide>
std::vector<Wide> DecodeUnsigned(const GgufArray& array) {
  switch (array.element_bytes) {
    case 1:
      return Decode<std::uint8_t, Wide>(array);
    case 2:
      return Decode<std::uint16_t, Wide>(array);
    case 4:
      return Decode<std::uint32_t, Wide>(array);
    default:
      return Decode<std::uint64_t, Wide>(array);
  }
}

}  // namespace

std::vector<std::int64_t> GgufArray::Integers() const {
  if (kind == Kind::kSigned) return DecodeSigned<std::int64_t>(*this);
  if (kind == Kind::kUnsigned || kind == Kind::kBool) return DecodeUnsigned<std::int64_t>(*this);
  return {};
}

std::vector<float> GgufArray::Floats() const {
  if (kind == Kind::kSigned) return DecodeSigned<float>(*this);
  if (kind == Kind::kUnsigned) return DecodeUnsigned<float>(*this);
  if (kind != Kind::kFloat) return {};
  return element_bytes == 4 ? Decode<float, float>(*this) : Decode<double, float>(*this);
}

std::vector<std::string_view> GgufArray::Strings() const {
  if (kind != Kind::kString) return {};
  std::vector<std::string_view> strings(count);
  Reader reader(bytes);
  for (std::string_view& text : strings) QUIRE_CHECK(reader.ReadString(text));
  return strings;
}

std::vector<GgufArray> GgufArray::Arrays() const {
  if (kind != Kind::kArray) return {};
  std::vector<GgufArray> arrays;
  Reader reader(bytes);
  for (std::uint64_t i = 0; i < count; ++i) arrays.push_back(ReadArray(reader, 1).value());
  return arrays;
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
