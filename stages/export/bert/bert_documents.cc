#include "stages/export/bert/bert_documents.h"

#include <algorithm>

#include "base/str.h"
#include "text/sentence_cutter.h"

namespace pipeline {

Status BertDocuments::Add(std::string_view text, std::span<const std::uint32_t> ids,
                          std::span<const std::uint32_t> ends, std::span<const std::uint32_t> cuts,
                          std::uint64_t document) {
  if (ids.size() != ends.size() || (!ends.empty() && ends.back() > text.size()) ||
      !std::is_sorted(ends.begin(), ends.end()))
    return Status(Code::kInternal, StrCat("examples of BERT: ", ids.size(), " ids with ", ends.size(),
                                          " ends do not fit a text of ", text.size(), " bytes"));
  if (ids.empty()) return {};
  if (documents_.empty()) first_ = document;
  if (size_ + ids.size() > UINT32_MAX || document - first_ > UINT32_MAX)
    return Status(
        Code::kResourceExhausted,
        "examples of BERT: a partition has more than 4294967295 ids; lower `partition` of the source");
  if (documents_.empty() || number(documents_.size() - 1) != document)
    documents_.push_back({static_cast<std::uint32_t>(document - first_), 0});
  FindSentenceEnds(text, text_ends_);
  std::size_t sentence = 0;  // the sentence of the id, as an index of text_ends_
  std::size_t cut = 0;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    bool joins = false;
    if (at > 0 && whole_words_ == WholeWords::kPieces) joins = continues_[ids[at]];
    if (at > 0 && whole_words_ == WholeWords::kMorphemes) {
      // A doubtful border counts as none, so that no morpheme is divided.
      while (cut < cuts.size() && cuts[cut] < ends[at - 1]) ++cut;
      joins = cut == cuts.size() || cuts[cut] != ends[at - 1];
    }
    if (at > 0 && !joins && ends[at - 1] >= text_ends_[sentence]) {
      EndSentence();
      while (text_ends_[sentence] <= ends[at - 1] && sentence + 1 < text_ends_.size()) ++sentence;
    }
    Put(ids[at] | (joins ? kJoins : 0));
  }
  EndSentence();
  documents_.back().sentence_end = static_cast<std::uint32_t>(sentence_ends_.size());
  return {};
}

void BertDocuments::Put(std::uint32_t id) {
  if (size_ % kChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(kChunk));
  chunks_.back()[size_++ % kChunk] = id;
}

void BertDocuments::Append(IdRange range, std::vector<std::uint32_t>& to) const {
  while (range.size() > 0) {
    const std::size_t at = range.begin % kChunk;
    const std::size_t count = std::min(range.size(), kChunk - at);
    const std::uint32_t* const from = chunks_[range.begin / kChunk].get() + at;
    to.insert(to.end(), from, from + count);
    range.begin += count;
  }
}

}  // namespace pipeline
