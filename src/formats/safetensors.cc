#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/strings.h"
#include "formats/json.h"

static_assert(std::endian::native == std::endian::little, "values are copied from and to files");

namespace quire {
namespace {

constexpr std::uint64_t kLengthBytes = 8;  // the header's length comes first
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

std::string OfTensor(std::string_view name) { return StrCat("tensor '", Printable(name), "'"); }

// The JSON text of the header.
Result<std::string_view> HeaderText(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  if (file_bytes < kLengthBytes || bytes.size() < kLengthBytes) {
    return DataLoss(StrCat("is ", file_bytes, " bytes long, too short for a safetensors file"));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kMaxHeaderBytes) {
    return DataLoss(StrCat("says that its header is ", length, " bytes long; at most ",
                           kMaxHeaderBytes, " are allowed, so this is no safetensors file"));
  }
  if (length > file_bytes - kLengthBytes || length > bytes.size() - kLengthBytes) {
    return DataLoss(StrCat("is truncated: its header of ", length,
                           " bytes passes the end of the file of ", file_bytes, " bytes"));
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data() + kLengthBytes);
  if (length == 0 || *text != '{') return DataLoss("its header does not begin with '{'");
  return std::string_view(text, length);
}

Result<DType> ReadDType(const Json& tensor) {
  QUIRE_ASSIGN_OR_RETURN(const std::string name, RequireString(tensor, "dtype"));
  const std::optional<DType> type = ParseDType(name);
  // The types past BOOL are GGML's block types.
  if (!type.has_value() || *type > DType::kBool) {
    return DataLoss(StrCat("dtype: '", Printable(name), "' is unknown"));
  }
  return *type;
}

// A member that must be an array.
Result<const JsonArray*> RequireArray(const Json& tensor, std::string_view name) {
  const Json* member = tensor.Find(name);
  if (member == nullptr) return DataLoss(StrCat(name, ": is missing"));
  if (!member->is_array()) {
    return DataLoss(StrCat(name, ": must be an array, got ", member->kind()));
  }
  return &member->array();
}

Result<std::vector<std::int64_t>> ReadShape(const Json& tensor) {
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* dims, RequireArray(tensor, "shape"));
  std::vector<std::int64_t> shape;
  shape.reserve(dims->size());
  std::int64_t product = 1;  // without zeros, so that no stride of the tensor overflows either
  for (const Json& dim : *dims) {
    if (!dim.is_int() || dim.integer() < 0) {
      return DataLoss(StrCat("shape: a dimension must be an integer from 0 to 2^63 - 1, got ",
                             dim.is_number() ? dim.Dump() : std::string(dim.kind())));
    }
    const std::int64_t factor = std::max<std::int64_t>(dim.integer(), 1);
    if (__builtin_mul_overflow(product, factor, &product)) {
      return DataLoss("shape: the product of the dimensions overflows 63 bits");
    }
    shape.push_back(dim.integer());
  }
  return shape;
}

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<Range> ReadRange(const Json& tensor, std::uint64_t data_bytes) {
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* offsets, RequireArray(tensor, "data_offsets"));
  if (offsets->size() != 2) {
    return DataLoss(StrCat("data_offsets: must be two numbers, got ", offsets->size()));
  }
  for (const Json& offset : *offsets) {
    if (!offset.is_int() || offset.integer() < 0) {
      return DataLoss(StrCat("data_offsets: must be integers from 0 to 2^63 - 1, got ",
                             offset.is_number() ? offset.Dump() : std::string(offset.kind())));
    }
  }
  const Range range{static_cast<std::uint64_t>((*offsets)[0].integer()),
                    static_cast<std::uint64_t>((*offsets)[1].integer())};
  if (range.begin > range.end) {
    return DataLoss(
        StrCat("data_offsets: the begin ", range.begin, " is past the end ", range.end));
  }
  if (range.end > data_bytes) {
    return DataLoss(StrCat("data_offsets: the end ", range.end, " is past the end of the file, ",
                           "which holds ", data_bytes, " bytes of tensors"));
  }
  return range;
}

// One entry of the header. The offset still counts from the start of the tensor data.
Status ReadTensor(const Json& json, std::uint64_t data_bytes, TensorInfo& tensor) {
  if (!json.is_object()) return DataLoss(StrCat("must be an object, got ", json.kind()));
  QUIRE_ASSIGN_OR_RETURN(tensor.type, ReadDType(json));
  QUIRE_ASSIGN_OR_RETURN(tensor.shape, ReadShape(json));
  QUIRE_ASSIGN_OR_RETURN(const Range range, ReadRange(json, data_bytes));
  std::int64_t values = 1;
  for (const std::int64_t dim : tensor.shape) values *= dim;
  const std::optional<std::uint64_t> num_bytes = BytesOf(tensor.type, values);
  if (!num_bytes.has_value()) return DataLoss("its size in bytes overflows 64 bits");
  if (*num_bytes != range.end - range.begin) {
    return DataLoss(StrCat("data_offsets: hold ", range.end - range.begin, " bytes, but shape [",
                           Printable(Join(tensor.shape, ", ")), "] of ", ToString(tensor.type),
                           " takes ", *num_bytes));
  }
  tensor.offset = range.begin;
  tensor.num_bytes = *num_bytes;
  return Status();
}

Status ReadMetadata(const Json& json, SafetensorsHeader& header) {
  if (!json.is_object()) return DataLoss(StrCat("must be an object, got ", json.kind()));
  for (const auto& [name, value] : json.object()) {
    if (!value.is_string()) {
      return DataLoss(StrCat("'", Printable(name), "': must be a string, got ", value.kind()));
    }
    header.metadata.emplace_back(name, value.string());
  }
  return Status();
}

// The tensors, in order of offset, must fill the data exactly.
Status CheckTiling(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  const TensorInfo* before = nullptr;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset < end) {
      return DataLoss(StrCat("data_offsets: begin at ", tensor.offset, " and overlap ",
                             OfTensor(before->name), ", which ends at ", end))
          .With(OfTensor(tensor.name));
    }
    if (tensor.offset > end) {
      return DataLoss(
                 StrCat("data_offsets: begin at ", tensor.offset, " and leave a gap from ", end))
          .With(OfTensor(tensor.name));
    }
    end = tensor.offset + tensor.num_bytes;
    before = &tensor;
  }
  if (end == data_bytes) return Status();
  return DataLoss(
      StrCat("the tensors end at byte ", end, " of the data, the file at ", data_bytes));
}

// JSON that a file holds: what is wrong with it is the file's damage.
Result<Json> ParseFileJson(std::string_view text, std::string_view what) {
  constexpr int kMaxDepth = 16;  // the formats need three
  Result<Json> json = ParseJson(text, {.max_depth = kMaxDepth, .unique_names = true});
  if (json.ok()) return json;
  return DataLoss(json.status().message()).With(what);
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensors(std::span<const std::byte> bytes,
                                           std::uint64_t file_bytes) {
  QUIRE_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(bytes, file_bytes));
  QUIRE_ASSIGN_OR_RETURN(const Json json, ParseFileJson(text, "header"));
  const std::uint64_t data_begin = kLengthBytes + text.size();
  const std::uint64_t data_bytes = file_bytes - data_begin;
  SafetensorsHeader header;
  for (const auto& [name, entry] : json.object()) {
    if (name == kMetadata) {
      QUIRE_RETURN_IF_ERROR(ReadMetadata(entry, header).With(kMetadata));
      continue;
    }
    TensorInfo tensor{name, DType::kF32, {}, 0, 0, 0};
    if (Status status = ReadTensor(entry, data_bytes, tensor); !status.ok()) {
      return DataLoss(status.message()).With(OfTensor(name));
    }
    header.tensors.push_back(std::move(tensor));
  }
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::pair(a.offset, a.num_bytes) < std::pair(b.offset, b.num_bytes);
            });
  QUIRE_RETURN_IF_ERROR(CheckTiling(header.tensors, data_bytes));
  for (TensorInfo& tensor : header.tensors) tensor.offset += data_begin;
  return header;
}

namespace {

bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\\') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json) {
  QUIRE_ASSIGN_OR_RETURN(const Json index, ParseFileJson(json, "index"));
  const Json* weights = index.Find("weight_map");
  if (weights == nullptr) return DataLoss("weight_map: is missing");
  if (!weights->is_object()) {
    return DataLoss(StrCat("weight_map: must be an object, got ", weights->kind()));
  }
  if (weights->object().empty()) return DataLoss("weight_map: is empty");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : weights->object()) {
    if (!file.is_string()) {
      return DataLoss(StrCat("weight_map: must be a file name, got ", file.kind()))
          .With(OfTensor(tensor));
    }
    if (!IsPlainFileName(file.string())) {
      return DataLoss(StrCat("weight_map: must be a plain file name, got '",
                             Printable(file.string()), "'"))
          .With(OfTensor(tensor));
    }
    files.emplace(tensor, file.string());
  }
  return files;
}

std::vector<std::byte> SerializeSafetensors(std::span<const NamedArray> arrays) {
  JsonObject entries;
  std::uint64_t end = 0;
  for (const NamedArray& array : arrays) {
    JsonArray shape(array.shape.begin(), array.shape.end());
    std::uint64_t values = 1;
    for (const std::int64_t dim : array.shape) values *= static_cast<std::uint64_t>(dim);
    QUIRE_CHECK(values == array.values.size()) << array.name;
    const std::uint64_t begin = end;
    end += array.values.size_bytes();
    entries.emplace_back(array.name, JsonObject{{"dtype", "F32"},
                                                {"shape", std::move(shape)},
                                                {"data_offsets", JsonArray{begin, end}}});
  }
  std::string header = Json(std::move(entries)).Dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  std::vector<std::byte> file(sizeof length + header.size() + end);
  std::byte* out = file.data();
  std::memcpy(out, &length, sizeof length);
  out += sizeof length;
  std::memcpy(out, header.data(), header.size());
  out += header.size();
  for (const NamedArray& array : arrays) {
    if (array.values.empty()) continue;
    std::memcpy(out, array.values.data(), array.values.size_bytes());
    out += array.values.size_bytes();
  }
  return file;
}

}  // namespace quire
