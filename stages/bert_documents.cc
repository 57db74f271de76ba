#include "stages/bert_documents.h"

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
  if (documents_.empty() || documents_.back().number != document)
    documents_.push_back({document, sentence_ends_.size()});
  FindSentenceEnds(text, text_ends_);
  std::size_t sentence = 0;  // of text_ends_, the one that the id belongs to
  std::size_t cut = 0;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    bool joins = false;
    if (at > 0 && whole_words_ == WholeWords::kPieces) joins = continues_[ids[at]];
    if (at > 0 && whole_words_ == WholeWords::kMorphemes) {
      // Whatever is not clearly a border is none, so that no morpheme is divided.
      while (cut < cuts.size() && cuts[cut] < ends[at - 1]) ++cut;
      joins = cut == cuts.size() || cuts[cut] != ends[at - 1];
    }
    if (at > 0 && !joins && ends[at - 1] >= text_ends_[sentence]) {
      sentence_ends_.push_back(ids_.size());
      while (text_ends_[sentence] <= ends[at - 1] && sentence + 1 < text_ends_.size()) ++sentence;
    }
    ids_.push_back(ids[at] | (joins ? kJoins : 0));
  }
  sentence_ends_.push_back(ids_.size());
  documents_.back().sentence_end = sentence_ends_.size();
  return {};
}

}  // namespace pipeline
