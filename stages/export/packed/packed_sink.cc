#include "stages/export/packed/packed_sink.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/str.h"
#include "formats/coding.h"
#include "stages/export/packed/labelled_documents.h"
#include "stages/export/packed/row_packer.h"
#include "stages/shards/made_rows.h"

namespace pipeline {

namespace {

/// Packs one split of one partition.
struct SplitRows {
  std::unique_ptr<RowPacker> lines;              // null: documents have labels
  std::unique_ptr<LabelledDocuments> documents;  // null: they have none
};

class PackedSink final : public Sink {
 public:
  PackedSink(std::unique_ptr<Sink> rows, const PackedRules& rules, const std::vector<std::string>& splits)
      : rows_(std::move(rows)), rules_(rules), splits_(splits), streams_(splits.size()) {}

  Status Write(const Batch& batch) override {
    RETURN_IF_ERROR(Check(batch));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint8_t split = batch.split.empty() ? std::uint8_t{0} : batch.split[row];
      if (split >= streams_.size())
        return Status(Code::kInternal,
                      StrCat("packed rows: split ", split, " where there are ", streams_.size()));
      std::optional<SplitRows>& stream = streams_[split];
      if (!stream) stream = NewStream(split);
      const std::uint64_t document = batch.heads[row].document;
      if (stream->lines) {
        RETURN_IF_ERROR(stream->lines->Add(batch.ids[row], batch.id_ends[row], batch.text[row], document));
        continue;
      }
      ASSIGN_OR_RETURN(const LabelAnswer label, rules_.labels->Answer(batch.label[row]));
      RETURN_IF_ERROR(stream->documents->Add(batch.ids[row], label, document));
    }
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop) override {
    for (const std::optional<SplitRows>& stream : streams_)
      if (stream) RETURN_IF_ERROR(stream->lines ? stream->lines->Finish() : stream->documents->Finish());
    ASSIGN_OR_RETURN(CommittedPartition output, rows_.Commit(end, std::move(stop)));
    const auto count = [&output](std::string reason, std::uint64_t by) {
      if (by > 0) output.reasons[std::move(reason)] += by;
    };
    if (rules_.info.best_fit() && row_ids_ > 0) {
      output.reasons.emplace(kRowIds, row_ids_);
      output.reasons.emplace(kFillIds, fill_ids_);
    }
    for (std::size_t split = 0; split < streams_.size(); ++split) {
      if (!streams_[split]) continue;
      const auto& [lines, documents] = *streams_[split];
      count(StrCat(kScoredOf, splits_[split]), lines ? lines->scored() : documents->scored());
      count(std::string(kUnscoredDocuments), lines ? lines->unscored_documents() : 0);
      count(std::string(kEmptyDocuments), lines ? lines->empty_documents() : 0);
      count(std::string(kCutDocuments), lines ? 0 : documents->cut_documents());
    }
    return output;
  }

 private:
  Status Check(const Batch& batch) const {
    const std::size_t rows = batch.size();
    if (batch.ids.size() != rows || batch.id_ends.size() != rows || batch.text.size() != rows ||
        (!batch.split.empty() && batch.split.size() != rows) || (rules_.labels && batch.label.size() != rows))
      return Status(Code::kInternal, StrCat("packed rows: ", batch.ids.size(), " lists of ids and ",
                                            batch.text.size(), " texts for ", rows, " records"));
    const auto ids = batch.ids.joined();
    const auto highest = std::max_element(ids.begin(), ids.end());
    if (highest == ids.end() || *highest < rules_.info.tokenizer.vocab_size) return {};
    return Status(Code::kInvalidArgument, StrCat("packed rows: an id is ", *highest,
                                                 " and the tokenizer has ", rules_.info.tokenizer.vocab_size,
                                                 " pieces: the ids were made by another tokenizer"));
  }

  SplitRows NewStream(std::uint8_t split) {
    const auto take = [this, split, index = std::uint64_t{0}](
                          std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                          std::span<const std::uint32_t> segments,
                          std::span<const std::uint32_t> weights) mutable -> Status {
      row_ids_ += ids.size();
      fill_ids_ += ids.size() - facts.length;
      std::string& payload = rows_.open_row();
      AppendPackedRowFacts(payload, facts);
      if (!weights.empty())
        PutU32(payload, static_cast<std::uint32_t>(std::count(weights.begin(), weights.end(), 1u)));
      AppendRow(payload, ids, facts, segments, weights);
      return rows_.Close({index++, 0, 0, 0}, split);
    };
    if (rules_.labels) return {nullptr, std::make_unique<LabelledDocuments>(rules_.rows, take)};
    if (rules_.info.documents()) return {NewDocumentPacker(rules_.rows, take), nullptr};
    std::unique_ptr<TargetWeights> weights = rules_.info.weights ? rules_.weights.open() : nullptr;
    return {rules_.info.best_fit() ? NewBestFitPacker(rules_.rows, take, std::move(weights))
                                   : NewStreamPacker(rules_.rows, take, std::move(weights)),
            nullptr};
  }

  void AppendRow(std::string& payload, std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                 std::span<const std::uint32_t> segments, std::span<const std::uint32_t> weights) {
    if (id_bytes_ > 0) return AppendRawIds(payload, ids, id_bytes_);
    PackedSegments of_row;
    if (rules_.info.segments) of_row = SegmentsOf(segments, facts.length, ids.size());
    const PackedSegments* const wanted = rules_.info.segments ? &of_row : nullptr;
    if (rules_.info.encoding == PackedEncoding::kExample)
      AppendPackedRow(payload, ids, wanted, weights);
    else
      AppendPackedExample(payload, ids, wanted, weights);
  }

  MadeRows rows_;
  const PackedRules rules_;
  const std::uint32_t id_bytes_ = PackedIdBytes(rules_.info.encoding, rules_.info.tokenizer.vocab_size);
  const std::vector<std::string> splits_;
  std::vector<std::optional<SplitRows>> streams_;  // by split; absent: no record of it yet
  std::uint64_t row_ids_ = 0, fill_ids_ = 0;       // of all rows
};

}  // namespace

std::unique_ptr<Sink> NewPackedSink(std::unique_ptr<Sink> rows, const PackedRules& rules,
                                    const std::vector<std::string>& splits) {
  return std::make_unique<PackedSink>(std::move(rows), rules, splits);
}

}  // namespace pipeline
