#include "formats/gguf_values.h"

#include "base/strings.h"

namespace quire {

Status GgufTruncated(std::string_view what) {
  return DataLoss(StrCat("the file ends inside ", what));
}

namespace {

constexpr int kMaxArrayDepth = 4;

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

Result<ValueType> ReadValueType(GgufReader& reader) {
  std::uint32_t number = 0;
  if (!reader.Read(number)) return GgufTruncated("its type");
  if (number >= kNumValueTypes) {
    return DataLoss(
        StrCat("value type ", number, " is unknown; 0 to ", kNumValueTypes - 1, " are known"));
  }
  return static_cast<ValueType>(number);
}

Result<bool> ReadBool(GgufReader& reader) {
  std::uint8_t value = 0;
  if (!reader.Read(value)) return GgufTruncated("its value");
  if (value > 1) return DataLoss(StrCat("a boolean must be 0 or 1, got ", int{value}));
  return value == 1;
}

Result<GgufArray> ReadArray(GgufReader& reader, int depth);

Status SkipStrings(GgufReader& reader, std::uint64_t count) {
  std::string_view ignored;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!reader.ReadString(ignored)) {
      return GgufTruncated(StrCat("element ", i, " of its ", count, " strings"));
    }
  }
  return Status();
}

Status SkipBools(GgufReader& reader, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_RETURN_IF_ERROR(ReadBool(reader).status());
  }
  return Status();
}

Status SkipArrays(GgufReader& reader, std::uint64_t count, int depth) {
  for (std::uint64_t i = 0; i < count; ++i) {
    QUIRE_RETURN_IF_ERROR(ReadArray(reader, depth).status());
  }
  return Status();
}

// Walks over the elements.
Status SkipElements(GgufReader& reader, const GgufArray& array, int depth) {
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

Result<GgufArray> ReadArray(GgufReader& reader, int depth) {
  if (depth > kMaxArrayDepth) {
    return DataLoss(StrCat("arrays nest deeper than ", kMaxArrayDepth, " levels"));
  }
  QUIRE_ASSIGN_OR_RETURN(const ValueType type, ReadValueType(reader));
  const ElementLayout layout = LayoutOf(type);
  GgufArray array{layout.kind, layout.bytes, 0, {}};
  if (!reader.Read(array.count)) return GgufTruncated("its count");
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
Result<GgufValue> ReadNumber(GgufReader& reader) {
  T value{};
  if (!reader.Read(value)) return GgufTruncated("its value");
  return GgufValue(static_cast<Wide>(value));
}

}  // namespace

Result<GgufValue> ReadGgufValue(GgufReader& reader) {
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
      if (!reader.ReadString(text)) return GgufTruncated("its value");
      return GgufValue(text);
    }
    case ValueType::kArray: {
      QUIRE_ASSIGN_OR_RETURN(GgufArray array, ReadArray(reader, 1));
      return GgufValue(array);
    }
  }
  return Internal("a value type without a reader");
}

namespace {

template <typename T, typename Wide>
std::vector<Wide> Decode(const GgufArray& array) {
  std::vector<Wide> values(array.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<Wide>(value);  // NOLINT(bugprone-signed-char-misuse): it is a number
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
  GgufReader reader(bytes);
  for (std::string_view& text : strings) QUIRE_CHECK(reader.ReadString(text));
  return strings;
}

std::vector<GgufArray> GgufArray::Arrays() const {
  if (kind != Kind::kArray) return {};
  std::vector<GgufArray> arrays;
  GgufReader reader(bytes);
  for (std::uint64_t i = 0; i < count; ++i) arrays.push_back(ReadArray(reader, 1).value());
  return arrays;
}

}  // namespace quire
