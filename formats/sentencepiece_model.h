// Reads and changes the model file of a SentencePiece tokenizer without the library. Rules:
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

/// Ids of the pieces with a role; -1: the model has none.
struct SpecialIds {
  std::int64_t pad = -1, bos = -1, eos = -1, unk = -1;
};

/// Rules of a normaliser about spaces.
struct SpacingRules {
  bool adds_prefix = true;    // a space in front of each line
  bool removes_extra = true;  // white space at both ends of a line, and after other white space
  bool escapes = true;        // a space becomes U+2581
  bool is_suffix = false;     // the prefix goes to the end of the line
};

class SentencePieceModel {
 public:
  /// kDataLoss: `bytes` are not a model, or the library cannot read them safely.
  static Result<SentencePieceModel> Parse(std::string_view bytes);
  /// Returns the parsed bytes with all later changes.
  std::string Serialize() const;

  /// Pieces by id.
  const std::vector<SentencePiece>& pieces() const { return pieces_; }
  SpecialIds special_ids() const;
  /// "unigram", "bpe", "word" or "char".
  std::string_view model_type() const;
  bool byte_fallback() const { return trainer_.Varint(35).value_or(0) != 0; }
  /// True if the encoded text is the original text, as formats/sentencepiece_model.md says.
  bool keeps_text() const;
  /// Name of the normalisation rule, e.g. "nmt_nfkc"; may be empty.
  std::string_view normalizer() const { return normalizer_.Bytes(1).value_or(""); }
  bool adds_dummy_prefix() const { return normalizer_.Varint(3).value_or(1) != 0; }
  SpacingRules spacing() const;
  /// The replacements of the normaliser; empty: none. Valid as long as this object is not changed.
  std::string_view charsmap() const { return normalizer_.Bytes(2).value_or(""); }

  /// Adds a piece with the next id.
  void AppendPiece(const SentencePiece& piece);
  /// Removes trainer settings that describe the machine and not the model.
  void ScrubTrainer();
  /// `dummy_prefix`: put a space in front of each line. `remove_extra`: remove white space at both ends of
  /// a line and after other white space.
  void SetSpacing(bool dummy_prefix, bool remove_extra);
  /// Removes the normaliser: the model then encodes the original text. The spacing rules stay.
  void RemoveCharsmap();

  /// Returns the vocabulary in the library's .vocab form, a line per piece: text, tab, score. Line ends and
  /// tabs in a text are written as \n and \t, so that each piece has one line.
  std::string Vocabulary() const;

 private:
  ProtoMessage message_;
  ProtoMessage trainer_;
  ProtoMessage normalizer_;
  std::vector<SentencePiece> pieces_;
};

/// Returns the byte that a piece like "<0xE3>" represents; -1: another text.
int ByteOfPiece(std::string_view text);

}  // namespace pipeline
