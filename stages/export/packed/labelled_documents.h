// Packs labelled documents: the name of its label is the last line of a document, and alone is scored.
// Definition: stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "stages/export/packed/packed_labels.h"
#include "stages/export/packed/row_packer.h"

namespace pipeline {

/// A label, and the end of each of its ids in its name, as an encoder gives them.
struct LabelAnswer {
  PackedLabel label;
  std::vector<std::uint32_t> ends;
};

/// By number. Immutable.
using LabelAnswers = std::vector<LabelAnswer>;

/// Ids of a labelled document beside those of its text and its label.
constexpr std::size_t IdsBesideLabel(const RowRules& rules) {
  return 1u + (rules.begin ? 1u : 0u) + (rules.before_label ? 1u : 0u);
}

/// kInvalidArgument: a row has no room for a label and one id of text.
Status CheckLabelRoom(const LabelAnswers& answers, const RowRules& rules);

/// Packs one split of one partition by best fit. One thread at a time.
class LabelledDocuments {
 public:
  LabelledDocuments(const RowRules& rules, TakeRow row);

  /// Call with lines in order. CheckLabelRoom accepts `label`. kInvalidArgument: another line of the document
  /// has another label.
  Status Add(std::span<const std::uint32_t> ids, const LabelAnswer& label, std::uint64_t document);
  /// The last call.
  Status Finish();

  /// Scored targets so far, and documents that lost ids of their text.
  std::uint64_t scored() const { return rows_->scored(); }
  std::uint64_t cut_documents() const { return cut_documents_; }

 private:
  class AnswerWeights;

  /// Gives the open document to rows_.
  Status Close();
  void Append(std::span<const std::uint32_t> ids);

  const RowRules rules_;
  std::unique_ptr<RowPacker> rows_;
  AnswerWeights* weights_ = nullptr;  // rows_ owns it
  // The open document.
  std::optional<LabelAnswer> label_;  // absent: none is open
  std::uint64_t document_ = 0;
  std::vector<std::uint32_t> ids_;  // of its text, at most room_
  std::size_t room_ = 0;            // for ids of its text
  bool cut_ = false;                // it has more ids
  std::uint64_t cut_documents_ = 0;
};

/// Upper bound of the memory of LabelledDocuments for this much text, in documents of 16 bytes on average or
/// more. `longest`: ids of the longest label.
constexpr std::uint64_t LabelledMemory(std::uint64_t text_bytes, std::uint64_t longest) {
  return BestFitMemory(text_bytes, true) + BestFitMemory(text_bytes / 16, true) * (longest + 3);
}

}  // namespace pipeline
