#include "text/wordpiece.h"

#include <algorithm>
#include <unordered_map>

#include "base/str.h"
#include "base/words.h"
#include "text/code_point_set.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kUnknown = "[UNK]";

/// Removes the first character from the front of `text`, which is UTF-8, and returns it.
char32_t TakeCharacter(std::string_view& text) {
  const std::size_t size = std::min(Utf8Size(text[0]), text.size());
  const auto lead = static_cast<unsigned char>(text[0]);
  char32_t code_point = size == 1 ? lead : lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i)
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  text.remove_prefix(size);
  return code_point;
}

}  // namespace

bool IsSpecialPiece(std::string_view piece) {
  return std::find(kSpecialPieces.begin(), kSpecialPieces.end(), piece) != kSpecialPieces.end();
}

Result<WordPieceVocabulary> WordPieceVocabulary::Parse(std::string_view text) {
  const auto damaged = [](std::size_t line, std::string_view what) {
    return Status(Code::kDataLoss, StrCat("line ", line, ": ", what));
  };
  if (text.size() > kMaxWordPieceBytes)
    return Status(Code::kDataLoss, StrCat("has ", HumanBytes(text.size()), " where a vocabulary has at most ",
                                          HumanBytes(kMaxWordPieceBytes)));
  WordPieceVocabulary vocabulary;
  std::unordered_map<std::string_view, std::size_t> lines;
  bool has_unknown = false;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view piece = TakeUntil(text, '\n');
    if (piece.ends_with('\r'))
      return damaged(line, "ends with CR LF, and the CR would be a part of the piece; convert it (dos2unix)");
    if (piece.empty()) return damaged(line, "is empty, where each line is a piece");
    if (!IsCleanUtf8(piece)) return damaged(line, "is not UTF-8");
    if (line > kMaxWordPieces)
      return damaged(line, StrCat("a vocabulary has at most ", kMaxWordPieces, " pieces"));
    const auto [found, is_new] = lines.emplace(piece, line);
    if (!is_new)
      return damaged(line,
                     StrCat("the piece '", Printable(piece), "' stands in line ", found->second, " already"));
    if (piece == kUnknown) {
      has_unknown = true;
      vocabulary.unk_ = static_cast<std::uint32_t>(vocabulary.pieces_.size());
    }
    vocabulary.pieces_.emplace_back(piece);
  }
  if (vocabulary.pieces_.empty())
    return Status(Code::kDataLoss, "is empty: a vocabulary is a piece per line");
  if (!has_unknown) return Status(Code::kDataLoss, StrCat("has no piece ", kUnknown, " for unknown words"));
  return vocabulary;
}

std::optional<std::uint32_t> WordPieceVocabulary::Find(std::string_view piece) const {
  const auto found = std::find(pieces_.begin(), pieces_.end(), piece);
  if (found == pieces_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - pieces_.begin());
}

std::string WordPieceVocabulary::Serialize() const {
  std::string text;
  for (const std::string& piece : pieces_) text += piece, text += '\n';
  return text;
}

std::string WordPieceVocabulary::TextOf(std::span<const std::uint32_t> ids) const {
  std::string text;
  for (const std::uint32_t id : ids) {
    std::string_view piece = pieces_[id];
    if (piece.starts_with(kContinuation))
      piece.remove_prefix(kContinuation.size());
    else if (!text.empty())
      text += ' ';
    text += piece;
  }
  return text;
}

WordPieceEncoder::WordPieceEncoder(const WordPieceVocabulary& vocabulary, BertWordKind kind)
    : edges_(1024), shift_(54), id_of_(1, kNone), unk_(vocabulary.unk()), kind_(kind) {
  inside_ = Add(kContinuation);
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id)
    if (!IsSpecialPiece(vocabulary[id])) id_of_[Add(vocabulary[id])] = id;
}

std::uint64_t WordPieceEncoder::memory() const {
  return edges_.capacity() * sizeof(Edge) + id_of_.capacity() * sizeof(std::uint32_t);
}

/// Returns the slot of the edge, or the slot where it would be.
std::size_t WordPieceEncoder::SlotOf(std::uint64_t key) const {
  auto slot = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> shift_);
  while (edges_[slot].key != 0 && edges_[slot].key != key) slot = (slot + 1) & (edges_.size() - 1);
  return slot;
}

std::uint32_t WordPieceEncoder::Add(std::string_view piece) {
  std::uint32_t node = 0;
  while (!piece.empty()) {
    if (2 * ++used_ > edges_.size()) {
      std::vector<Edge> before(2 * edges_.size());
      before.swap(edges_);
      --shift_;
      for (const Edge& edge : before)
        if (edge.key != 0) edges_[SlotOf(edge.key)] = edge;
    }
    const std::uint64_t key = KeyOf(node, TakeCharacter(piece));
    Edge& edge = edges_[SlotOf(key)];
    if (edge.key == 0) {
      edge = {key, static_cast<std::uint32_t>(id_of_.size())};
      id_of_.push_back(kNone);
    } else {
      --used_;
    }
    node = edge.child;
  }
  return node;
}

void WordPieceEncoder::Encode(std::string_view line, std::span<const std::uint32_t> cuts, BertWords& words,
                              std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& ends) const {
  const std::size_t before = ids.size();
  words.Start(line, kind_, cuts);
  while (words.Next()) {
    if (EncodeWord(words, ids, ends)) continue;
    ids.push_back(unk_);
    ends.push_back(words.EndOf(words.word().size()));
  }
  if (ids.size() > before) ends.back() = static_cast<std::uint32_t>(line.size());
}

/// False: the word is unknown, and nothing was appended.
bool WordPieceEncoder::EncodeWord(const BertWords& words, std::vector<std::uint32_t>& ids,
                                  std::vector<std::uint32_t>& ends) const {
  if (words.characters() > kMaxWordCharacters) return false;
  const std::size_t before = ids.size();
  const std::string_view word = words.word();
  for (std::size_t begin = 0; begin < word.size();) {
    std::uint32_t node = begin == 0 ? 0 : inside_;
    std::uint32_t id = kNone;
    std::size_t end = begin;
    for (std::string_view rest = word.substr(begin); !rest.empty();) {
      node = edges_[SlotOf(KeyOf(node, TakeCharacter(rest)))].child;
      if (node == 0) break;
      if (id_of_[node] != kNone) id = id_of_[node], end = word.size() - rest.size();
    }
    if (id == kNone) {
      ids.resize(before);
      ends.resize(before);
      return false;
    }
    ids.push_back(id);
    ends.push_back(words.EndOf(end));
    begin = end;
  }
  return true;
}

}  // namespace pipeline
