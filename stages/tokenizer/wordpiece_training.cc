#include "stages/tokenizer/wordpiece_training.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kBase = std::uint64_t{32} << 20;

}  // namespace

// The factors were measured on Japanese prose; each is a little above the measured value.
std::uint64_t WordPieceMemory(const TrainingSettings& settings, std::uint64_t text_bytes) {
  if (settings.boundaries != Boundaries::kCuts) return kBase + text_bytes * 8;
  return kBase + static_cast<std::uint64_t>(600 * 36 * std::sqrt(static_cast<double>(text_bytes)));
}

Status WordPieceTraining::Add(std::string_view line, std::span<const std::uint32_t> cuts) {
  ++counts_.lines;
  counts_.bytes += line.size();
  finder_.Start(line, kind(), cuts);
  // A longer word is unknown, even if pieces of it are known.
  while (finder_.Next())
    if (finder_.characters() <= kMaxWordCharacters) words_.Add(finder_.word());
  counts_.sentences = words_.distinct();
  if (kind() == BertWordKind::kMorphemes) counts_.morphemes = words_.total();
  const std::uint64_t needed = kBase + words_.training_memory();
  if (memory_ == 0 || needed <= memory_) return {};
  return Status(
      Code::kResourceExhausted,
      StrCat("the ", words_.distinct(), " distinct words of the text so far (", HumanBytes(counts_.bytes),
             ") need ", HumanBytes(needed), " of memory to train on, of ", HumanBytes(memory_),
             "; raise limits.memory, or train on a smaller sample"));
}

Result<WordPieceVocabulary> WordPieceTraining::Finish(std::stop_token stop) const {
  if (words_.total() == 0)
    return Status(Code::kFailedPrecondition, "there is no text to train on; is the split `train` empty?");
  WordPieceRules rules;
  rules.pieces = static_cast<std::size_t>(settings_.vocab_size) - kSpecialPieces.size();
  rules.other_pieces = kSpecialPieces.size();
  rules.fewer_will_do = settings_.is_auto;
  rules.character_coverage = settings_.character_coverage;
  rules.max_characters = static_cast<std::size_t>(settings_.max_piece_length);
  ASSIGN_OR_RETURN(const std::vector<std::string> pieces, TrainWordPieces(words_, rules, std::move(stop)));
  std::string text;
  for (const std::string_view piece : kSpecialPieces) text += StrCat(piece, "\n");
  for (const std::string& piece : pieces) text += StrCat(piece, "\n");
  if (text.size() > kMaxWordPieceBytes)
    return Status(Code::kFailedPrecondition,
                  StrCat("vocab_size: ", settings_.vocab_size, " pieces of this text take ",
                         HumanBytes(text.size()), ", and a vocab.txt at most ",
                         HumanBytes(kMaxWordPieceBytes), "; take fewer, or a lower max_piece_length"));
  return WordPieceVocabulary::Parse(text);
}

Json MeasureWordPieces(const WordPieceVocabulary& vocabulary, BertWordKind kind, const HeldLines& held) {
  const WordPieceEncoder encoder(vocabulary, kind);
  HeldReport report([&](std::uint32_t id) -> std::string_view { return vocabulary[id]; },
                    [&](std::uint32_t id) { return id == vocabulary.unk(); });
  BertWords words;
  std::vector<std::uint32_t> ids, ends;
  for (std::size_t row = 0; row < held.text.size(); ++row) {
    ids.clear(), ends.clear();
    encoder.Encode(held.text[row], held.cuts.empty() ? std::span<const std::uint32_t>() : held.cuts[row],
                   words, ids, ends);
    report.Add(held.text[row], ids);
  }
  return report.Finish();
}

}  // namespace pipeline
