#include "stages/tokenizer_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "text/sentencepiece_handle.h"
#include "text/tokenizer_corpus.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kExamples = 5;
constexpr std::size_t kExampleBytes = 180;

std::uint64_t Characters(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsUtf8Tail(byte); }));
}

double Ratio(std::uint64_t part, std::uint64_t whole) {
  // Six digits: enough to compare, and the same text on every machine.
  return whole == 0 ? 0 : std::round(1e6 * static_cast<double>(part) / static_cast<double>(whole)) / 1e6;
}

Json PiecesOf(const SentencePieceModel& model, const std::vector<std::uint32_t>& ids) {
  Json pieces = Json::Array{};
  for (const std::uint32_t id : ids) pieces.Append(model.pieces()[id].text);
  return pieces;
}

Result<std::uint64_t> LinesThatDiffer(const SentencePieceModel& model, const SentencePieceEncoder& with,
                                      const HeldLines& held) {
  SentencePieceModel plain = model;
  plain.RemoveCharsmap();
  ASSIGN_OR_RETURN(const auto without, SentencePieceEncoder::Load(plain.Serialize()));
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, other, ends;
  std::uint64_t differ = 0;
  for (std::size_t row = 0; row < held.text.size(); ++row) {
    ids.clear(), other.clear(), ends.clear();
    RETURN_IF_ERROR(with.Encode(held.text[row], scratch, ids, ends));
    RETURN_IF_ERROR(without->Encode(held.text[row], scratch, other, ends));
    if (ids != other) ++differ;
  }
  return differ;
}

}  // namespace

Result<Json> MeasureTokenizer(const SentencePieceModel& model, const HeldLines& held) {
  ASSIGN_OR_RETURN(const auto encoder, SentencePieceEncoder::Load(model.Serialize()));
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  std::uint64_t tokens = 0, unknown = 0, bytes = 0, changed = 0, marks = 0;
  Json examples = Json::Array{};
  for (std::size_t row = 0; row < held.text.size(); ++row) {
    const std::string_view line = held.text[row];
    ids.clear(), ends.clear();
    RETURN_IF_ERROR(encoder->Encode(line, scratch, ids, ends));
    tokens += ids.size();
    for (const std::uint32_t id : ids) {
      if (model.pieces()[id].type == PieceType::kUnknown) ++unknown;
      if (model.pieces()[id].type == PieceType::kByte) ++bytes;
    }
    ASSIGN_OR_RETURN(const std::string back, encoder->Decode(ids));
    if (back != line) ++changed;
    if (line.find(kSpaceMark) != std::string_view::npos) ++marks;
    if (examples.AsArray().size() < kExamples && !ids.empty() && line.size() <= kExampleBytes) {
      Json example;
      example["text"] = line;
      example["pieces"] = PiecesOf(model, ids);
      examples.Append(std::move(example));
    }
  }
  const std::uint64_t characters = Characters(held.text.joined());
  Json report;
  report["lines"] = held.text.size();
  report["bytes"] = held.text.bytes();
  report["characters"] = characters;
  report["tokens"] = tokens;
  report["characters_per_token"] = Ratio(characters, tokens);
  report["unknown_rate"] = Ratio(unknown, tokens);
  report["byte_rate"] = Ratio(bytes, tokens);
  report["lines_not_restored"] = changed;
  report["lines_with_space_mark"] = marks;
  report["examples"] = std::move(examples);
  if (!model.keeps_text()) {
    ASSIGN_OR_RETURN(const std::uint64_t differ, LinesThatDiffer(model, *encoder, held));
    report["normalizer"]["name"] = model.normalizer();
    report["normalizer"]["lines_that_differ"] = differ;
  }
  return report;
}

Result<double> CharactersPerToken(const SentencePieceModel& model, const HeldLines& held) {
  ASSIGN_OR_RETURN(const auto encoder, SentencePieceEncoder::Load(model.Serialize()));
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  for (std::size_t row = 0; row < held.text.size(); ++row)
    RETURN_IF_ERROR(encoder->Encode(held.text[row], scratch, ids, ends));
  return Ratio(Characters(held.text.joined()), ids.size());
}

double ShareOfWordInitialPieces(const SentencePieceModel& model) {
  std::uint64_t normal = 0, initial = 0;
  for (const SentencePiece& piece : model.pieces()) {
    if (piece.type != PieceType::kNormal) continue;
    ++normal;
    if (piece.text.starts_with(kSpaceMark)) ++initial;
  }
  return Ratio(initial, normal);
}

}  // namespace pipeline
