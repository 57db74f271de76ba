#include "stages/export/packed/labelled_documents.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

/// Scores the last ids of each line, and its end.
class LabelledDocuments::AnswerWeights final : public TargetWeights {
 public:
  /// Says how many ids of the next line are scored.
  void Expect(std::size_t scored) { scored_ = scored; }

  void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) override {
    weights.insert(weights.end(), ids.size() - scored_, false);
    weights.insert(weights.end(), scored_, true);
  }
  bool WeighEnd(bool) override { return true; }

 private:
  std::size_t scored_ = 0;
};

namespace {

/// Ids of a row that a document with this label does not have for its text.
std::size_t TakenBy(const LabelAnswer& answer, const RowRules& rules) {
  return answer.label.ids.size() + IdsBesideLabel(rules);
}

}  // namespace

Status CheckLabelRoom(const LabelAnswers& answers, const RowRules& rules) {
  for (const LabelAnswer& answer : answers)
    if (const std::size_t taken = TakenBy(answer, rules); taken >= rules.seq_len)
      return Status(Code::kInvalidArgument,
                    StrCat("labels: '", Printable(answer.label.name), "' and the ends of lines take ", taken,
                           " ids, and a row has room for ", rules.seq_len,
                           ", so that no text fits beside it; give a larger `seq_len` or a shorter name"));
  return {};
}

LabelledDocuments::LabelledDocuments(const RowRules& rules, TakeRow row) : rules_(rules) {
  auto weights = std::make_unique<AnswerWeights>();
  weights_ = weights.get();
  rows_ = NewBestFitPacker(rules, std::move(row), std::move(weights));
}

Status LabelledDocuments::Add(std::span<const std::uint32_t> ids, const LabelAnswer& label,
                              std::uint64_t document) {
  if (label_ && document != document_) RETURN_IF_ERROR(Close());
  if (!label_) {
    label_ = label;
    document_ = document;
    room_ = rules_.seq_len - TakenBy(label, rules_);
  } else if (label.label.name != label_->label.name) {
    return Status(Code::kInvalidArgument,
                  StrCat("packed rows: the lines of document ", document, " have the labels '",
                         Printable(label_->label.name), "' and '", Printable(label.label.name),
                         "', and a document has one; let each labelled record be a document"));
  } else if (rules_.line_end) {
    Append({&*rules_.line_end, 1});
  }
  Append(ids);
  return {};
}

Status LabelledDocuments::Finish() {
  if (label_) RETURN_IF_ERROR(Close());
  return rows_->Finish();
}

void LabelledDocuments::Append(std::span<const std::uint32_t> ids) {
  const std::size_t count = std::min(ids.size(), room_ - ids_.size());
  ids_.insert(ids_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
  cut_ = cut_ || count < ids.size();
}

Status LabelledDocuments::Close() {
  const LabelAnswer answer = *std::exchange(label_, std::nullopt);
  cut_documents_ += std::exchange(cut_, false) ? 1 : 0;
  if (rules_.before_label) ids_.push_back(*rules_.before_label);
  // The text of the label alone is counted: no id before it has any.
  std::vector<std::uint32_t> ends(ids_.size(), 0);
  ids_.insert(ids_.end(), answer.label.ids.begin(), answer.label.ids.end());
  ends.insert(ends.end(), answer.ends.begin(), answer.ends.end());
  weights_->Expect(answer.label.ids.size());
  const Status added = rows_->Add(ids_, ends, answer.label.name, document_);
  ids_.clear();
  return added;
}

}  // namespace pipeline
