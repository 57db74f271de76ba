// The file of a SentencePiece tokenizer, read and changed without the library. Rules:
// formats/sentencepiece_model.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/proto_message.h"

namespace pipeline {

enum class PieceType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
  bool operator==(const SentencePiece&) const = default;
};

/// What the pieces with a role are; -1 where the model has none.
struct SpecialIds {
  std::int64_t pad = -1, bos = -1, eos = -1, unk = -1;
};

class SentencePieceModel {
 public:
  /// kDataLoss where `bytes` are no model, or none that the library reads safely.
  static Result<SentencePieceModel> Parse(std::string_view bytes);
  /// The bytes that were parsed, but for what was changed since.
  std::string Serialize() const;

  /// By id.
  const std::vector<SentencePiece>& pieces() const { return pieces_; }
  SpecialIds special_ids() const;
  /// "unigram", "bpe", "word" or "char".
  std::string_view model_type() const;
  bool byte_fallback() const { return trainer_.Varint(35).value_or(0) != 0; }
  /// Whether what is encoded is the text itself, as formats/sentencepiece_model.md says.
  bool keeps_text() const;
  /// Name of the normaliser's rule, e.g. "nmt_nfkc"; may be empty.
  std::string_view normalizer() const { return normalizer_.Bytes(1).value_or(""); }
  bool adds_dummy_prefix() const { return normalizer_.Varint(3).value_or(1) != 0; }

  /// The next id.
  void AppendPiece(const SentencePiece& piece);
  /// Removes from the trainer's settings what says something about a machine and nothing about the model.
  void ScrubTrainer();
  /// Whether a space is put in front of each line, and white space removed at its ends and where it follows
  /// white space.
  void SetSpacing(bool dummy_prefix, bool remove_extra);
  /// The normaliser is removed: what is encoded is the text itself, with the spacing as it was.
  void RemoveCharsmap();

  /// A line per piece, as the library writes .vocab files: the text, a tab, the score; line ends and tabs in
  /// a text as \n and \t, so that a line is a piece.
  std::string Vocabulary() const;

 private:
  ProtoMessage message_;
  ProtoMessage trainer_;
  ProtoMessage normalizer_;
  std::vector<SentencePiece> pieces_;
};

/// "<0xE3>" as the byte that it stands for; -1 for another text.
int ByteOfPiece(std::string_view text);

}  // namespace pipeline
