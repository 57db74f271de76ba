#include "formats/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/str.h"
#include "base/words.h"
#include "formats/coding.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

using Field = ProtoMessage::Field;
using Wire = ProtoMessage::Wire;

constexpr std::uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3;                      // of the model
constexpr std::uint32_t kText = 1, kScore = 2, kType = 3;                                // of a piece
constexpr std::uint32_t kModelType = 3, kSpaceAsSuffix = 24;                             // of the trainer
constexpr std::uint32_t kUnkPiece = 45, kBosPiece = 46, kEosPiece = 47, kPadPiece = 48;  // of the trainer
constexpr std::uint32_t kCharsmap = 2, kDummyPrefix = 3, kRemoveExtra = 4, kEscape = 5;  // of the normaliser

Status DamagedModel(std::string why) {
  return Status(Code::kDataLoss, StrCat("not a SentencePiece model: ", why));
}

/// A field and the wire type that it must have.
struct Kind {
  std::uint32_t number;
  Wire wire;
};
Status CheckKinds(const ProtoMessage& message, std::string_view what, std::initializer_list<Kind> known) {
  for (const Field& field : message.fields())
    for (const Kind& kind : known)
      if (kind.number == field.number && kind.wire != field.wire)
        return DamagedModel(StrCat("field ", field.number, " of ", what, " is of another kind"));
  return {};
}

Result<SentencePiece> ParsePiece(std::string_view bytes, std::size_t id) {
  const std::string what = StrCat("piece ", id);
  Result<ProtoMessage> message = ProtoMessage::Parse(bytes);
  if (!message.ok()) return DamagedModel(StrCat(what, ": ", message.status().message()));
  RETURN_IF_ERROR(
      CheckKinds(*message, what, {{kText, Wire::kBytes}, {kScore, Wire::kFixed32}, {kType, Wire::kVarint}}));
  SentencePiece piece;
  piece.text = message->Bytes(kText).value_or("");
  piece.score = message->Float(kScore).value_or(0);
  const std::uint64_t type = message->Varint(kType).value_or(1);
  if (piece.text.empty()) return DamagedModel(StrCat(what, " has no text"));
  if (!IsCleanUtf8(piece.text)) return DamagedModel(StrCat(what, " is not UTF-8"));
  if (std::isnan(piece.score)) return DamagedModel(StrCat(what, " has a score that is no number"));
  if (type < 1 || type > 6) return DamagedModel(StrCat(what, " is of type ", type, "; there are 1 to 6"));
  piece.type = static_cast<PieceType>(type);
  if (piece.type == PieceType::kByte && ByteOfPiece(piece.text) < 0)
    return DamagedModel(StrCat(what, " stands for a byte and is not written as one"));
  return piece;
}

/// Checks that the library reads nothing outside of `charsmap`, because the library does not check.
Status CheckCharsmap(std::string_view charsmap) {
  if (charsmap.empty()) return {};
  Decoder in(charsmap);
  const std::uint32_t trie_bytes = in.U32();
  const std::string_view trie = in.Bytes(trie_bytes);
  const std::string_view replacements = in.Bytes(in.left());
  if (!in.ok() || trie.empty() || trie.size() % 1024 != 0 || replacements.empty() || replacements.back() != 0)
    return DamagedModel("the normaliser's charsmap is cut off");
  // A unit is a leaf (top bit) with the offset of a replacement, or leads to the block at its own place xor
  // its offset; the library may read any unit of that block. If it ends a rule (bit 8), the first unit of the
  // block is the leaf.
  std::vector<std::uint32_t> units(trie.size() / 4);
  Decoder trie_units(trie);
  for (std::uint32_t& unit : units) unit = trie_units.U32();
  constexpr std::uint32_t kLeaf = 1U << 31, kEndsRule = 1U << 8;
  for (std::size_t place = 0; place < units.size(); ++place) {
    const std::uint32_t unit = units[place];
    if ((unit & kLeaf) != 0) {
      if ((unit & ~kLeaf) < replacements.size()) continue;
    } else {
      const std::size_t block = place ^ ((unit >> 10) << ((unit & (1U << 9)) >> 6));
      if ((block | 0xff) < units.size()) {
        if ((unit & kEndsRule) == 0 || (units[block] & kLeaf) != 0) continue;
        return DamagedModel(
            StrCat("unit ", place, " of the normaliser's charsmap ends a rule that has no replacement"));
      }
    }
    return DamagedModel(StrCat("unit ", place, " of the normaliser's charsmap points outside of it"));
  }
  return {};
}

Result<ProtoMessage> ParseSpec(const ProtoMessage& model, std::uint32_t number, std::string_view what) {
  std::optional<std::string_view> bytes;
  for (const Field& field : model.fields()) {
    if (field.number != number) continue;
    if (bytes) return DamagedModel(StrCat(what, " comes twice"));
    bytes = field.bytes();
  }
  Result<ProtoMessage> spec = ProtoMessage::Parse(bytes.value_or(""));
  if (!spec.ok()) return DamagedModel(StrCat(what, ": ", spec.status().message()));
  return spec;
}

}  // namespace

int ByteOfPiece(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  return ParseNumber<int>(text.substr(3, 2), 16).value_or(-1);
}

Result<SentencePieceModel> SentencePieceModel::Parse(std::string_view bytes) {
  SentencePieceModel model;
  Result<ProtoMessage> message = ProtoMessage::Parse(bytes);
  if (!message.ok()) return DamagedModel(std::string(message.status().message()));
  model.message_ = std::move(message).value();
  RETURN_IF_ERROR(
      CheckKinds(model.message_, "the model",
                 {{kPieces, Wire::kBytes}, {kTrainer, Wire::kBytes}, {kNormalizer, Wire::kBytes}}));
  std::unordered_set<std::string_view> texts;
  std::size_t unknown = 0;
  for (const Field& field : model.message_.fields()) {
    if (field.number != kPieces) continue;
    ASSIGN_OR_RETURN(SentencePiece piece, ParsePiece(field.bytes(), model.pieces_.size()));
    if (piece.type == PieceType::kUnknown) ++unknown;
    model.pieces_.push_back(std::move(piece));
  }
  if (model.pieces_.empty()) return DamagedModel("it has no pieces");
  for (const SentencePiece& piece : model.pieces_)
    if (!texts.insert(piece.text).second)
      return DamagedModel(StrCat("the piece '", piece.text, "' comes twice"));
  if (unknown != 1)
    return DamagedModel(StrCat(unknown, " pieces stand for unknown text, and there must be one"));

  ASSIGN_OR_RETURN(model.trainer_, ParseSpec(model.message_, kTrainer, "trainer_spec"));
  RETURN_IF_ERROR(CheckKinds(model.trainer_, "trainer_spec",
                             {{kModelType, Wire::kVarint},
                              {35, Wire::kVarint},
                              {kUnkPiece, Wire::kBytes},
                              {kBosPiece, Wire::kBytes},
                              {kEosPiece, Wire::kBytes},
                              {kPadPiece, Wire::kBytes}}));
  const std::uint64_t type = model.trainer_.Varint(kModelType).value_or(1);
  if (type < 1 || type > 4)
    return DamagedModel(StrCat("trainer_spec has model type ", type, "; there are 1 to 4"));
  ASSIGN_OR_RETURN(model.normalizer_, ParseSpec(model.message_, kNormalizer, "normalizer_spec"));
  RETURN_IF_ERROR(CheckKinds(model.normalizer_, "normalizer_spec",
                             {{1, Wire::kBytes},
                              {kCharsmap, Wire::kBytes},
                              {kDummyPrefix, Wire::kVarint},
                              {kRemoveExtra, Wire::kVarint},
                              {kEscape, Wire::kVarint}}));
  RETURN_IF_ERROR(CheckCharsmap(model.normalizer_.Bytes(kCharsmap).value_or("")));
  return model;
}

std::string SentencePieceModel::Serialize() const { return message_.Serialize(); }

SpecialIds SentencePieceModel::special_ids() const {
  const auto find = [this](std::uint32_t field, std::string_view usual, PieceType type) -> std::int64_t {
    const std::string_view text = trainer_.Bytes(field).value_or(usual);
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      if (pieces_[id].type == type && pieces_[id].text == text) return static_cast<std::int64_t>(id);
    return -1;
  };
  SpecialIds ids;
  ids.pad = find(kPadPiece, "<pad>", PieceType::kControl);
  ids.bos = find(kBosPiece, "<s>", PieceType::kControl);
  ids.eos = find(kEosPiece, "</s>", PieceType::kControl);
  const auto unk = std::find_if(pieces_.begin(), pieces_.end(),
                                [](const SentencePiece& piece) { return piece.type == PieceType::kUnknown; });
  ids.unk = unk - pieces_.begin();
  return ids;
}

std::string_view SentencePieceModel::model_type() const {
  constexpr std::array<std::string_view, 4> kNames = {"unigram", "bpe", "word", "char"};
  return kNames[trainer_.Varint(kModelType).value_or(1) - 1];
}

bool SentencePieceModel::keeps_text() const {
  return normalizer_.Bytes(kCharsmap).value_or("").empty() && !adds_dummy_prefix() &&
         normalizer_.Varint(kRemoveExtra).value_or(1) == 0 && normalizer_.Varint(kEscape).value_or(1) != 0;
}

void SentencePieceModel::AppendPiece(const SentencePiece& piece) {
  ProtoMessage message;
  message.SetBytes(kText, piece.text);
  message.SetFloat(kScore, piece.score);
  message.SetVarint(kType, static_cast<std::uint64_t>(piece.type));
  message_.AddBytes(kPieces, message.Serialize());
  pieces_.push_back(piece);
}

void SentencePieceModel::ScrubTrainer() {
  for (const std::uint32_t number : {1U, 2U, 16U, 18U, 49U}) trainer_.Erase(number);
  message_.SetBytes(kTrainer, trainer_.Serialize());
}

SpacingRules SentencePieceModel::spacing() const {
  return {.adds_prefix = adds_dummy_prefix(),
          .removes_extra = normalizer_.Varint(kRemoveExtra).value_or(1) != 0,
          .escapes = normalizer_.Varint(kEscape).value_or(1) != 0,
          .is_suffix = trainer_.Varint(kSpaceAsSuffix).value_or(0) != 0};
}

void SentencePieceModel::SetSpacing(bool dummy_prefix, bool remove_extra) {
  normalizer_.SetVarint(kDummyPrefix, dummy_prefix ? 1 : 0);
  normalizer_.SetVarint(kRemoveExtra, remove_extra ? 1 : 0);
  message_.SetBytes(kNormalizer, normalizer_.Serialize());
}

void SentencePieceModel::RemoveCharsmap() {
  normalizer_.SetBytes(1, "identity");
  normalizer_.Erase(kCharsmap);
  message_.SetBytes(kNormalizer, normalizer_.Serialize());
}

std::string SentencePieceModel::Vocabulary() const {
  std::string out;
  std::array<char, 32> number{};
  for (const SentencePiece& piece : pieces_) {
    for (const char byte : piece.text) {
      if (byte == '\n') {
        out += "\\n";
      } else if (byte == '\t') {
        out += "\\t";
      } else {
        out += byte;
      }
    }
    out += '\t';
    const auto end = std::to_chars(number.data(), number.data() + number.size(), piece.score).ptr;
    out.append(number.data(), end);
    out += '\n';
  }
  return out;
}

}  // namespace pipeline
