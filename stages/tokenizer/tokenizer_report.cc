#include "stages/tokenizer/tokenizer_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/tokenizer_corpus.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kExamples = 5;
constexpr std::size_t kExampleBytes = 180;

double Ratio(std::uint64_t part, std::uint64_t whole) {
  // Six digits: enough to compare, and the same text on every machine.
  return whole == 0 ? 0 : std::round(1e6 * static_cast<double>(part) / static_cast<double>(whole)) / 1e6;
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

void HeldReport::Add(std::string_view line, std::span<const std::uint32_t> ids) {
  ++lines_;
  bytes_ += line.size();
  characters_ += CountCharacters(line);
  tokens_ += ids.size();
  unknown_ += static_cast<std::uint64_t>(std::count_if(ids.begin(), ids.end(), is_unknown_));
  if (examples_.AsArray().size() >= kExamples || ids.empty() || line.size() > kExampleBytes) return;
  Json example;
  example["text"] = line;
  example["pieces"] = Json::Array{};
  for (const std::uint32_t id : ids) example["pieces"].Append(piece_of_(id));
  examples_.Append(std::move(example));
}

Json HeldReport::Finish() const {
  Json report;
  report["lines"] = lines_;
  report["bytes"] = bytes_;
  report["characters"] = characters_;
  report["tokens"] = tokens_;
  report["characters_per_token"] = Ratio(characters_, tokens_);
  report["unknown_rate"] = Ratio(unknown_, tokens_);
  report["examples"] = examples_;
  return report;
}

Result<Json> MeasureTokenizer(const SentencePieceModel& model, const HeldLines& held) {
  ASSIGN_OR_RETURN(const auto encoder, SentencePieceEncoder::Load(model.Serialize()));
  const auto is = [&model](PieceType type) {
    return [&model, type](std::uint32_t id) { return model.pieces()[id].type == type; };
  };
  HeldReport measured([&](std::uint32_t id) -> std::string_view { return model.pieces()[id].text; },
                      is(PieceType::kUnknown));
  SentencePieceEncoder::Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  std::uint64_t bytes = 0, changed = 0, marks = 0;
  for (std::size_t row = 0; row < held.text.size(); ++row) {
    const std::string_view line = held.text[row];
    ids.clear(), ends.clear();
    RETURN_IF_ERROR(encoder->Encode(line, scratch, ids, ends));
    measured.Add(line, ids);
    bytes += static_cast<std::uint64_t>(std::count_if(ids.begin(), ids.end(), is(PieceType::kByte)));
    ASSIGN_OR_RETURN(const std::string back, encoder->Decode(ids));
    if (back != line) ++changed;
    if (line.find(kSpaceMark) != std::string_view::npos) ++marks;
  }
  Json report = measured.Finish();
  report["byte_rate"] = Ratio(bytes, measured.tokens());
  report["lines_not_restored"] = changed;
  report["lines_with_space_mark"] = marks;
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
  return Ratio(CountCharacters(held.text.joined()), ids.size());
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
