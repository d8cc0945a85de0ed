// The part of protobuf's wire format that a ModelProto needs.
#include <cstring>
#include <optional>

#include "base/strings.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/vocabulary.h"

namespace quire {

namespace {

// A field of a message: its number and its value, which of the two by wire type.
struct Field {
  std::uint64_t number = 0;
  int wire_type = 0;
  std::uint64_t value = 0;  // varint, or the bits of a fixed-size field
  std::string_view bytes;   // of a length-delimited field
};

// Walks the fields of one message; every length is checked against what is left.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}

  // The next field; nullopt at the end. kDataLoss for a cut or unknown field.
  Result<std::optional<Field>> Next() {
    if (rest_.empty()) return std::optional<Field>();
    Field field;
    QUIRE_ASSIGN_OR_RETURN(const std::uint64_t key, ReadVarint());
    field.number = key >> 3;
    field.wire_type = static_cast<int>(key & 7);
    switch (field.wire_type) {
      case 0: {
        QUIRE_ASSIGN_OR_RETURN(field.value, ReadVarint());
        break;
      }
      case 1:
      case 5:
        QUIRE_RETURN_IF_ERROR(ReadFixed(field.wire_type == 1 ? 8 : 4, field.value));
        break;
      case 2: {
        QUIRE_ASSIGN_OR_RETURN(const std::uint64_t size, ReadVarint());
        if (size > rest_.size()) return Cut();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      default:
        return DataLoss(StrCat("unknown wire type ", field.wire_type));
    }
    return std::optional(field);
  }

 private:
  static Status Cut() { return DataLoss("a field passes the end of its message"); }

  Result<std::uint64_t> ReadVarint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Cut();
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    return DataLoss("a number is longer than 64 bits");
  }

  Status ReadFixed(std::size_t size, std::uint64_t& out) {
    if (rest_.size() < size) return Cut();
    std::memcpy(&out, rest_.data(), size);
    rest_.remove_prefix(size);
    return {};
  }

  std::string_view rest_;
};

// Calls visit(field) for each field of a message.
template <typename Visit>
Status VisitFields(std::string_view message, const Visit& visit) {
  FieldReader reader(message);
  while (true) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<Field> field, reader.Next());
    if (!field) return {};
    QUIRE_RETURN_IF_ERROR(visit(*field));
  }
}

Status ReadPiece(std::string_view message, SentencePieceModel& out) {
  SentencePieceModel::Entry piece;
  QUIRE_RETURN_IF_ERROR(VisitFields(message, [&](const Field& field) -> Status {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) {
      const auto bits = static_cast<std::uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, sizeof bits);
    }
    if (field.number == 3) {
      if (field.value < 1 || field.value > 6) {
        return DataLoss(
            StrCat("pieces: number ", out.pieces.size(), " has unknown type ", field.value));
      }
      piece.type = static_cast<PieceType>(field.value);
    }
    return {};
  }));
  if (out.pieces.size() > static_cast<std::size_t>(kMaxTokenId)) {
    return DataLoss(StrCat("pieces: more than ", kMaxTokenId));
  }
  out.pieces.push_back(piece);
  return {};
}

std::optional<TokenId> IdOf(std::uint64_t value) {
  const auto id = static_cast<std::int64_t>(value);
  if (id < 0 || id > kMaxTokenId) return std::nullopt;
  return static_cast<TokenId>(id);
}

Status ReadTrainerSpec(std::string_view message, SentencePieceModel& out) {
  return VisitFields(message, [&](const Field& field) -> Status {
    switch (field.number) {
      case 3:
        if (field.value < 1 || field.value > 4) {
          return DataLoss(StrCat("trainer_spec.model_type: unknown value ", field.value));
        }
        out.algorithm = static_cast<SentencePieceModel::Algorithm>(field.value);
        break;
      case 24:
        out.treat_whitespace_as_suffix = field.value != 0;
        break;
      case 35:
        out.byte_fallback = field.value != 0;
        break;
      case 40:
        out.unk_id = IdOf(field.value);
        break;
      case 41:
        out.bos_id = IdOf(field.value);
        break;
      case 42:
        out.eos_id = IdOf(field.value);
        break;
      case 43:
        out.pad_id = IdOf(field.value);
        break;
      case 44:
        out.unk_surface = field.bytes;
        break;
      default:
        break;
    }
    return {};
  });
}

Status ReadNormalizerSpec(std::string_view message, SentencePieceModel& out) {
  return VisitFields(message, [&](const Field& field) -> Status {
    if (field.number == 2) out.charsmap = field.bytes;
    if (field.number == 3) out.add_dummy_prefix = field.value != 0;
    if (field.number == 4) out.remove_extra_whitespaces = field.value != 0;
    if (field.number == 5) out.escape_whitespaces = field.value != 0;
    return {};
  });
}

Status ReadDenormalizerSpec(std::string_view message, SentencePieceModel& out) {
  return VisitFields(message, [&](const Field& field) -> Status {
    if (field.number == 2) out.has_denormalizer = !field.bytes.empty();
    return {};
  });
}

}  // namespace

Result<SentencePieceModel> ParseSentencePiece(std::string_view bytes) {
  SentencePieceModel model;
  model.unk_id = 0;
  model.bos_id = 1;
  model.eos_id = 2;
  QUIRE_RETURN_IF_ERROR(VisitFields(bytes, [&](const Field& field) -> Status {
    if (field.wire_type != 2) return {};
    if (field.number == 1) return ReadPiece(field.bytes, model);
    if (field.number == 2) return ReadTrainerSpec(field.bytes, model);
    if (field.number == 3) return ReadNormalizerSpec(field.bytes, model);
    if (field.number == 5) return ReadDenormalizerSpec(field.bytes, model);
    return {};
  }));
  if (model.pieces.empty()) return DataLoss("pieces: there are none");
  return model;
}

}  // namespace quire
