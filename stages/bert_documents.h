// The ids of a partition's part of a split, as sentences and documents. Rules: formats/bert.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// What is masked as a whole.
enum class WholeWords : std::uint8_t { kNone, kPieces, kMorphemes };

/// Ids lie back to back; with kJoins where one belongs to the same word as the id before it.
class BertDocuments {
 public:
  static constexpr std::uint32_t kJoins = std::uint32_t{1} << 31;  // ids are below

  /// `continues` says of each id whether its piece continues a word; looked at for kPieces.
  BertDocuments(WholeWords whole_words, const std::vector<bool>& continues)
      : whole_words_(whole_words), continues_(continues) {}

  /// Lines come in order. `ends` is parallel to `ids`: where each ends in `text`; `cuts` where each morpheme
  /// does, looked at for kMorphemes.
  Status Add(std::string_view text, std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
             std::span<const std::uint32_t> cuts, std::uint64_t document);

  /// Documents that have ids.
  std::size_t size() const { return documents_.size(); }
  std::uint64_t number(std::size_t document) const { return documents_[document].number; }
  std::size_t sentences(std::size_t document) const {
    return documents_[document].sentence_end - SentenceBegin(document);
  }
  /// Never empty, and no word goes on behind it.
  std::span<const std::uint32_t> sentence(std::size_t document, std::size_t number) const {
    const std::size_t at = SentenceBegin(document) + number;
    const std::size_t begin = at == 0 ? 0 : sentence_ends_[at - 1];
    return std::span(ids_).subspan(begin, sentence_ends_[at] - begin);
  }

 private:
  struct Document {
    std::uint64_t number;      // in the input
    std::size_t sentence_end;  // in sentence_ends_
  };
  std::size_t SentenceBegin(std::size_t document) const {
    return document == 0 ? 0 : documents_[document - 1].sentence_end;
  }

  const WholeWords whole_words_;
  const std::vector<bool>& continues_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::size_t> sentence_ends_;
  std::vector<Document> documents_;
  std::vector<std::uint32_t> text_ends_;  // scratch: where sentences of a line end in its text
};

}  // namespace pipeline
