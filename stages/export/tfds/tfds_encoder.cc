#include "stages/export/tfds/tfds_encoder.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "stages/lines/labels.h"
#include "text/sentencepiece/token_cutter.h"

namespace pipeline {

namespace {

/// The `sub` of a part of a split record: the number of the part, shifted by this, plus the `sub` of the
/// record.
constexpr int kPartShift = 16;

/// Encodes records with one text, such as the lines of a corpus.
class TextWorker final : public Worker {
 public:
  explicit TextWorker(std::string_view feature) : feature_(feature) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    batch.payload.Clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view text = batch.text[row];
      std::string& out = batch.payload.open_row();
      AppendTfRecordHeader(out, TextExampleSize(feature_, text));
      const std::size_t begin = out.size();
      AppendTextExample(out, feature_, text);
      AppendTfRecordFooter(out, begin);
      batch.payload.CloseRow();
    }
    return {};
  }

 private:
  const std::string_view feature_;
};

/// Encodes records with one or more texts, and with the number of the label if records have labels.
class FeaturesWorker final : public Worker {
 public:
  FeaturesWorker(const TfdsRecords& records, const LabelNumbers& numbers)
      : records_(records), numbers_(numbers) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    batch.payload.Clear();
    if (!numbers_.empty()) RETURN_IF_ERROR(numbers_.Number(batch, stage, counts, row_numbers_));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      TfExample example;
      if (!numbers_.empty()) example.emplace(kTfdsLabelFeature, TfInt64List{row_numbers_[row]});
      RETURN_IF_ERROR(AddTexts(batch, row, example));
      example_.clear();
      AppendTfExample(example_, example);
      AppendTfRecord(batch.payload.open_row(), example_);
      batch.payload.CloseRow();
    }
    return {};
  }

 private:
  Status AddTexts(const Batch& batch, std::size_t row, TfExample& example) const {
    const std::string_view text = batch.text[row];
    if (!records_.fields) {
      example.emplace(records_.features.front(), TfBytesList{text});
      return {};
    }
    const auto ends = batch.fields[row];
    if (ends.size() != records_.features.size() || ends.back() > text.size())
      return Status(Code::kInternal, StrCat("write_tfds: a record has ", ends.size(), " fields, not ",
                                            records_.features.size(), " [this is a bug]"));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      example.emplace(records_.features[i], TfBytesList{text.substr(begin, ends[i] - begin)});
      begin = ends[i] + 1;
    }
    return {};
  }

  const TfdsRecords& records_;
  const LabelNumbers& numbers_;
  std::vector<std::uint32_t> row_numbers_;
  std::string example_;
};

/// Splits lines that are too long, and forwards the result to `next`.
class SplitLinesWorker final : public Worker {
 public:
  SplitLinesWorker(const TfdsRecords& records, std::unique_ptr<Worker> next)
      : cutter_(*records.tokenizer, records.max_tokens), next_(std::move(next)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    text_.Clear(), heads_.clear(), split_.clear();
    std::uint64_t split = 0, too_long = 0;
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const Result<std::size_t> over = cutter_.Cut(
          batch.text[row], batch.cuts.empty() ? std::span<const std::uint32_t>() : batch.cuts[row], parts_);
      if (!over.ok()) {
        batch.failed_index = batch.heads[row].index;
        return over.status();
      }
      too_long += *over;
      if (parts_.size() > 1) ++split;
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        text_.Append(parts_[part]);
        heads_.push_back(batch.heads[row]);
        heads_.back().sub += static_cast<std::uint32_t>(part) << kPartShift;
        if (!batch.split.empty()) split_.push_back(batch.split[row]);
      }
    }
    if (too_long > 0) counts.Add("over_max_tokens", too_long);
    if (split > 0) {
      counts.Add("split_long", split);
      batch.Keep({});
      batch.heads.swap(heads_);
      batch.text.Swap(text_);
      batch.split.swap(split_);
    }
    return next_->Apply(batch, stage, counts);
  }

 private:
  TokenCutter cutter_;
  const std::unique_ptr<Worker> next_;
  std::vector<std::string_view> parts_;
  BytesColumn text_;
  std::vector<RecordHead> heads_;
  std::vector<std::uint8_t> split_;
};

class TfdsEncoder final : public Transform {
 public:
  explicit TfdsEncoder(TfdsRecords records)
      : records_(std::move(records)), numbers_(records_.labels, records_.fail) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    std::unique_ptr<Worker> worker;
    if (numbers_.empty() && !records_.fields)
      worker = std::make_unique<TextWorker>(records_.features.front());
    else
      worker = std::make_unique<FeaturesWorker>(records_, numbers_);
    if (records_.tokenizer) worker = std::make_unique<SplitLinesWorker>(records_, std::move(worker));
    return worker;
  }

 private:
  const TfdsRecords records_;
  const LabelNumbers numbers_;  // empty: records have no labels
};

}  // namespace

std::unique_ptr<Transform> NewTfdsEncoder(TfdsRecords records) {
  return std::make_unique<TfdsEncoder>(std::move(records));
}

}  // namespace pipeline
