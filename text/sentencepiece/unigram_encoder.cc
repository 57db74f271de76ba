#include "text/sentencepiece/unigram_encoder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "text/sentencepiece/charsmap.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::int32_t kNotReached = -2, kUnknown = -1;  // in the place of an id
constexpr std::int32_t kOwn = 1 << 30;  // added to the id of a user-defined piece in the trie
constexpr float kUnknownCosts = 10;     // nats below the worst piece

}  // namespace

std::unique_ptr<const UnigramEncoder> UnigramEncoder::Make(const SentencePieceModel& model,
                                                           SpaceMarks marks) {
  if (model.model_type() != "unigram" || !Charsmap(model.charsmap()).keeps_characters()) return nullptr;
  return std::unique_ptr<const UnigramEncoder>(new UnigramEncoder(model, marks));
}

UnigramEncoder::UnigramEncoder(const SentencePieceModel& model, SpaceMarks marks)
    : normalizer_(model, marks), falls_back_(model.byte_fallback()) {
  const std::vector<SentencePiece>& pieces = model.pieces();
  // The least and the largest score begin as in the library, which matters for models without normal pieces.
  float least = std::numeric_limits<float>::max(), largest = std::numeric_limits<float>::min();
  for (const SentencePiece& piece : pieces)
    if (piece.type == PieceType::kNormal)
      least = std::min(least, piece.score), largest = std::max(largest, piece.score);
  unknown_score_ = least - kUnknownCosts;

  std::vector<PieceTrie::Key> keys;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const SentencePiece& piece = pieces[id];
    if (piece.type == PieceType::kUnknown) unknown_ = static_cast<std::uint32_t>(id);
    if (piece.type == PieceType::kByte)
      byte_ids_[static_cast<std::size_t>(ByteOfPiece(piece.text))] = static_cast<std::uint32_t>(id);
    const bool is_own = piece.type == PieceType::kUserDefined;
    if (!is_own && piece.type != PieceType::kNormal) continue;
    PieceTrie::Key key{{}, static_cast<std::int32_t>(id), piece.score};
    for (std::size_t at = 0; at < piece.text.size();) {
      const Utf8Character one = CharacterAt(piece.text.data() + at);
      key.labels.push_back(normalizer_.LabelOf(one.code));
      at += one.bytes;
    }
    if (is_own) {
      key.value += kOwn;
      own_scores_.resize(pieces.size());
      own_scores_[id] = static_cast<float>(piece.text.size()) * largest - 0.1;
    }
    keys.push_back(std::move(key));
  }
  trie_.Build(std::move(keys), normalizer_.labels());
}

/// Goes through the line once. Ties and rounding are those of the library: a sum of double precision is
/// compared with the float that was kept, and the first of equal ways stays.
void UnigramEncoder::FindBest(Scratch& scratch) const {
  using Best = Scratch::Best;
  const std::uint32_t count = scratch.line_.count;
  if (scratch.best_.size() < count + 1) scratch.best_.resize(count + count / 2 + 1);
  Best* const best = scratch.best_.data();
  best[0] = {0, 0, kUnknown};
  for (std::uint32_t at = 1; at <= count; ++at) best[at].id = kNotReached;
  const std::uint32_t* const symbols = scratch.line_.symbols.data();
  const PieceTrie::Unit* const units = trie_.units();
  const std::int32_t root = trie_.root();
  for (std::uint32_t begin = 0; begin < count; ++begin) {
    const float here = best[begin].score;
    bool is_single = false;
    std::int32_t state = root;
    for (std::uint32_t end = begin; end < count;) {
      const std::uint32_t symbol = symbols[end];
      if ((symbol & LineSymbols::kOutside) != 0) break;
      const std::int32_t next = units[state].base + static_cast<std::int32_t>(symbol);
      if (units[next].check != state) break;
      state = next;
      ++end;
      std::int32_t id = units[state].value;
      if (id < 0) continue;
      double score = units[state].score;
      if (id >= kOwn) score = own_scores_[static_cast<std::size_t>(id -= kOwn)];
      score += here;
      if (best[end].id == kNotReached || score > best[end].score)
        best[end] = {static_cast<float>(score), begin, id};
      is_single |= end == begin + 1;
    }
    if (is_single) continue;
    const float score = unknown_score_ + here;
    Best& next = best[begin + 1];
    if (next.id == kNotReached || score > next.score) next = {score, begin, kUnknown};
  }
}

void UnigramEncoder::Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                            std::vector<std::uint32_t>& ends) const {
  normalizer_.Normalize(line, scratch.line_);
  const std::uint32_t count = scratch.line_.count;
  if (count == 0) return;
  FindBest(scratch);
  scratch.tokens_.clear();
  for (std::uint32_t end = count; end > 0; end = scratch.best_[end].begin)
    scratch.tokens_.push_back({scratch.best_[end].begin, end, scratch.best_[end].id});
  const std::uint32_t* const begins = scratch.line_.begins.data();
  bool after_unknown = false;
  for (auto token = scratch.tokens_.rbegin(); token != scratch.tokens_.rend(); ++token) {
    const std::uint32_t end = begins[token->end];
    if (token->id >= 0) {
      ids.push_back(static_cast<std::uint32_t>(token->id));
      ends.push_back(end);
      after_unknown = false;
      continue;
    }
    if (falls_back_) {
      std::array<char, 4> bytes{};
      for (const char byte :
           EncodeCharacter(normalizer_.CharacterOf(scratch.line_.symbols[token->begin]), bytes)) {
        ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
        ends.push_back(begins[token->begin]);
      }
      ends.back() = end;
      continue;
    }
    if (after_unknown) {  // a run of them is one
      ends.back() = end;
    } else {
      ids.push_back(unknown_);
      ends.push_back(end);
    }
    after_unknown = true;
  }
  ends.back() = static_cast<std::uint32_t>(line.size());  // with white space that the normaliser removed
}

std::uint64_t UnigramEncoder::memory() const {
  return normalizer_.memory() + trie_.memory() + own_scores_.capacity() * sizeof(double);
}

}  // namespace pipeline
