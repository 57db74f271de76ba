#include "formats/sentencepiece_builder.h"

#include <map>
#include <utility>

#include "base/str.h"
#include "formats/proto_message.h"

namespace pipeline {

namespace {

std::string BytePiece(int byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return StrCat("<0x", kDigits.substr(static_cast<std::size_t>(byte >> 4), 1),
                kDigits.substr(static_cast<std::size_t>(byte & 15), 1), ">");
}

/// Returns the pieces by id.
std::vector<SentencePiece> AllPieces(const UnigramModelParts& parts) {
  std::map<std::int64_t, SentencePiece> fixed;
  const auto fix = [&fixed](std::int64_t id, std::string_view text, PieceType type) {
    if (id >= 0) fixed.insert_or_assign(id, SentencePiece{std::string(text), 0, type});
  };
  fix(parts.ids.pad, "<pad>", PieceType::kControl);
  fix(parts.ids.bos, "<s>", PieceType::kControl);
  fix(parts.ids.eos, "</s>", PieceType::kControl);
  fix(parts.ids.unk, "<unk>", PieceType::kUnknown);
  std::vector<SentencePiece> pieces;
  const auto add_fixed = [&] {
    for (auto found = fixed.begin();
         found != fixed.end() && found->first == static_cast<std::int64_t>(pieces.size());
         found = fixed.erase(found))
      pieces.push_back(found->second);
  };
  const auto add = [&](std::string text, float score, PieceType type) {
    add_fixed();
    pieces.push_back({std::move(text), score, type});
  };
  for (const std::string& text : parts.controls) add(text, 0, PieceType::kControl);
  for (const std::string& text : parts.symbols) add(text, 0, PieceType::kUserDefined);
  if (parts.byte_fallback)
    for (int byte = 0; byte < 256; ++byte) add(BytePiece(byte), 0, PieceType::kByte);
  for (const SentencePiece& piece : parts.pieces) add(piece.text, piece.score, piece.type);
  add_fixed();
  return pieces;
}

// The numbers of fields are those of sentencepiece_model.proto.
std::string TrainerSpec(const UnigramModelParts& parts, std::size_t pieces) {
  ProtoMessage spec;
  spec.SetVarint(3, 1);  // unigram
  spec.SetVarint(4, pieces);
  spec.SetFloat(10, static_cast<float>(parts.character_coverage));
  spec.SetVarint(20, static_cast<std::uint64_t>(parts.max_piece_length));
  for (const std::string& text : parts.controls) spec.AddBytes(30, text);
  for (const std::string& text : parts.symbols) spec.AddBytes(31, text);
  spec.SetVarint(35, parts.byte_fallback ? 1 : 0);
  const auto set_id = [&spec](std::uint32_t number, std::int64_t id) {
    spec.SetVarint(number,
                   static_cast<std::uint64_t>(id));  // -1 has the bits of a negative int32 in a varint
  };
  set_id(40, parts.ids.unk);
  set_id(41, parts.ids.bos);
  set_id(42, parts.ids.eos);
  set_id(43, parts.ids.pad);
  return spec.Serialize();
}

std::string NormalizerSpec(const UnigramModelParts& parts) {
  ProtoMessage spec;
  spec.SetBytes(1, parts.normalizer);
  if (!parts.charsmap.empty()) spec.SetBytes(2, parts.charsmap);
  spec.SetVarint(3, parts.spacing.adds_prefix ? 1 : 0);
  spec.SetVarint(4, parts.spacing.removes_extra ? 1 : 0);
  spec.SetVarint(5, parts.spacing.escapes ? 1 : 0);
  return spec.Serialize();
}

}  // namespace

Result<SentencePieceModel> BuildUnigramModel(const UnigramModelParts& parts) {
  const std::vector<SentencePiece> pieces = AllPieces(parts);
  // A message is its fields one after another; a single ProtoMessage would look for the place of each piece.
  std::string bytes;
  const auto append = [&bytes](std::uint32_t number, std::string_view value) {
    ProtoMessage field;
    field.AddBytes(number, value);
    bytes += field.Serialize();
  };
  for (const SentencePiece& piece : pieces) {
    ProtoMessage message;
    message.SetBytes(1, piece.text);
    message.SetFloat(2, piece.score);
    message.SetVarint(3, static_cast<std::uint64_t>(piece.type));
    append(1, message.Serialize());
  }
  append(2, TrainerSpec(parts, pieces.size()));
  append(3, NormalizerSpec(parts));
  Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return Status(Code::kInternal, StrCat("the new model is ", model.status().message()));
  return model;
}

}  // namespace pipeline
