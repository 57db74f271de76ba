// The ids of one partition's part of a split, grouped into sentences and documents. Rules:
// stages/export/bert/bert.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// The unit that is masked as a whole.
enum class WholeWords : std::uint8_t { kNone, kPieces, kMorphemes };

/// A range of consecutive ids, by index.
struct IdRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

/// Stores ids consecutively, one range per document; kJoins marks an id that belongs to the same word as
/// the id before it. Growing moves nothing, because a move would briefly take twice the memory.
class BertDocuments {
 public:
  /// Upper bound of memory per byte of text and line ends: an id takes 4 bytes, or 16 with its line end if
  /// every line is a document; the rest is for gaps between them.
  static constexpr std::uint64_t kMemoryOfByte = 9;
  static constexpr std::uint64_t kMemoryOfAny = 80 << 10;          // of an empty instance
  static constexpr std::uint32_t kJoins = std::uint32_t{1} << 31;  // ids are smaller

  /// `continues`: for each id, whether its vocabulary piece continues a word; used by kPieces.
  BertDocuments(WholeWords whole_words, const std::vector<bool>& continues)
      : whole_words_(whole_words), continues_(continues) {}

  /// Call with lines in order. `ends` is parallel to `ids`: where each id ends in `text`. `cuts`: where
  /// each morpheme ends; used by kMorphemes. kResourceExhausted from 2^32 ids on.
  Status Add(std::string_view text, std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
             std::span<const std::uint32_t> cuts, std::uint64_t document);

  /// The number of documents that have ids.
  std::size_t size() const { return documents_.size(); }
  std::uint64_t number(std::size_t document) const { return first_ + documents_[document].number; }
  std::size_t sentences(std::size_t document) const {
    return documents_[document].sentence_end - SentenceBegin(document);
  }
  /// Never empty; no word crosses its end.
  IdRange sentence(std::size_t document, std::size_t number) const {
    const std::size_t at = SentenceBegin(document) + number;
    return {at == 0 ? 0 : sentence_ends_[at - 1], sentence_ends_[at]};
  }
  void Append(IdRange range, std::vector<std::uint32_t>& to) const;

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 14;  // ids

  struct Document {
    std::uint32_t number;        // in the input, counted from first_
    std::uint32_t sentence_end;  // index into sentence_ends_
  };
  void Put(std::uint32_t id);
  void EndSentence() { sentence_ends_.push_back(static_cast<std::uint32_t>(size_)); }
  std::size_t SentenceBegin(std::size_t document) const {
    return document == 0 ? 0 : documents_[document - 1].sentence_end;
  }

  const WholeWords whole_words_;
  const std::vector<bool>& continues_;
  std::vector<std::unique_ptr<std::uint32_t[]>> chunks_;  // of ids; all but the last are full
  std::size_t size_ = 0;                                  // ids
  std::deque<std::uint32_t> sentence_ends_;
  std::deque<Document> documents_;
  std::uint64_t first_ = 0;               // the number of the first document
  std::vector<std::uint32_t> text_ends_;  // scratch: where the sentences of a line end in its text
};

}  // namespace pipeline
