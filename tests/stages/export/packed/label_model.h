// A tokenizer for tests of labels: a SentencePiece model of 512 pieces with few of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "stages/export/packed/packed_labels.h"
#include "tests/stages/export/packed/packed_corpus.h"

namespace pipeline {

/// The ids of PipeTokenizer, then one id for each of these characters from kFirstCharacter on.
inline constexpr std::uint32_t kFirstCharacter = 10;
inline constexpr std::string_view kLabelCharacters = "abcdefghijklmnopqrstuvwxyz";
/// Those of NumberModel.
inline constexpr std::string_view kWithNumbers = "abcdefghijklmnopqrstuvwxyz0123456789.-";

inline std::uint32_t IdOfCharacter(char character) {
  return kFirstCharacter + static_cast<std::uint32_t>(kWithNumbers.find(character));
}

inline std::string LabelModel(std::string_view characters = kLabelCharacters) {
  constexpr std::string_view kSpecial =
      "\x0a\x09\x0a\x05<pad>\x18\x03\x0a\x07\x0a\x03<s>\x18\x03\x0a\x08\x0a\x04</s>\x18\x03"
      "\x0a\x09\x0a\x05<unk>\x18\x02";
  SentencePieceModel model = *SentencePieceModel::Parse(kSpecial);
  model.AppendPiece({"\n", 0, PieceType::kUserDefined});
  for (std::uint32_t id = 5; id < 512; ++id) {
    const bool character = id >= kFirstCharacter && id - kFirstCharacter < characters.size();
    model.AppendPiece({character ? std::string(1, characters[id - kFirstCharacter]) : StrCat("#", id),
                       character ? -1.0F : -20.0F, PieceType::kNormal});
  }
  model.SetSpacing(false, false);
  return model.Serialize();
}

/// A tokenizer for labels that are numbers.
inline std::string NumberModel() { return LabelModel(kWithNumbers); }

/// A label with the ids of these.
inline PackedLabel LabelOf(std::string_view name) {
  PackedLabel label{std::string(name), {}};
  for (const char character : name) label.ids.push_back(IdOfCharacter(character));
  return label;
}

/// Gives each document of `corpus` one of `names`, in turns.
inline PackedCorpus Labelled(PackedCorpus corpus, const std::vector<std::string>& names) {
  for (auto& [id, lines] : corpus)
    for (PackedLine& line : lines) line.label = names[line.document % names.size()];
  return corpus;
}

}  // namespace pipeline
