#include "stages/lines/sample_source.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "stages/lines/barrier_source.h"
#include "stages/lines/sample_order.h"

namespace pipeline {

namespace {

constexpr int kBinBits = 16;

std::size_t BinOf(std::uint64_t hash) { return hash >> (64 - kBinBits); }

/// Opens partition outputs.
struct OutputsToRead {
  const IntermediateFormat& format;
  Schema schema;
  Store& artifact;
  std::vector<PartitionOutput> outputs;  // sorted by id
  std::stop_token stop;

  Result<std::unique_ptr<Source>> Open(std::size_t output) const {
    return format.Open(artifact, outputs[output], schema, kBarrierReadBytes, stop);
  }
};

Status ForEachRecord(const OutputsToRead& outputs, std::uint64_t seed,
                     const std::function<void(const SamplePlace&, std::uint64_t bytes)>& record) {
  Batch batch;
  for (std::size_t output = 0; output < outputs.outputs.size(); ++output) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, outputs.Open(output));
    while (true) {
      batch.Clear(1);
      ASSIGN_OR_RETURN(const bool more, source->Next(batch));
      if (!more) break;
      for (std::size_t row = 0; row < batch.size(); ++row)
        record(LocationOf(seed, batch.partition, batch.heads[row]), batch.text[row].size());
    }
  }
  return {};
}

/// Returns the first record that is not in the sample; absent: all are in it.
Result<std::optional<SamplePlace>> FindEnd(const OutputsToRead& outputs, const SampleRules& rules) {
  std::vector<std::uint64_t> sums(std::size_t{1} << kBinBits);
  RETURN_IF_ERROR(ForEachRecord(outputs, rules.seed, [&sums](const SamplePlace& place, std::uint64_t bytes) {
    sums[BinOf(place.hash)] += bytes;
  }));
  std::uint64_t sum = 0;
  std::size_t bin = 0;
  while (bin < sums.size() && sum + sums[bin] <= rules.bytes) sum += sums[bin++];
  if (bin == sums.size()) return std::nullopt;

  std::vector<std::pair<SamplePlace, std::uint64_t>> records;  // of the bin
  RETURN_IF_ERROR(ForEachRecord(outputs, rules.seed, [&](const SamplePlace& place, std::uint64_t bytes) {
    if (BinOf(place.hash) == bin) records.emplace_back(place, bytes);
  }));
  std::sort(records.begin(), records.end());
  for (const auto& [place, bytes] : records) {
    sum += bytes;
    if (sum > rules.bytes) return std::optional<SamplePlace>(place);
  }
  return Status(Code::kInternal, "sample: the partition outputs changed while they were read");
}

class SampleStream final : public RecordStream {
 public:
  SampleStream(const SampleRules& rules, OutputsToRead outputs, std::optional<SamplePlace> end)
      : rules_(rules), outputs_(std::move(outputs)), end_(end) {}

  Result<bool> Next() override {
    if (there_) ++row_, there_ = false;
    while (true) {
      for (; row_ < read_.size(); ++row_) {
        if (end_ && !(LocationOf(rules_.seed, read_.partition, read_.heads[row_]) < *end_)) continue;
        ++drawn_;
        return there_ = true;
      }
      if (!source_) {
        if (output_ == outputs_.outputs.size()) return false;
        const std::uint32_t input = outputs_.outputs[output_].id.input;
        if (output_ > 0 && input != outputs_.outputs[output_ - 1].id.input) document_base_ = document_end_;
        ASSIGN_OR_RETURN(source_, outputs_.Open(output_));
      }
      read_.Clear(1);
      row_ = 0;
      ASSIGN_OR_RETURN(const bool more, source_->Next(read_));
      if (more && read_.closes) document_end_ = document_base_ + read_.end.document_end;
      if (more) continue;
      source_.reset();
      ++output_;
    }
  }

  const Batch& batch() const override { return read_; }
  std::size_t row() const override { return row_; }
  std::uint64_t document() const override { return document_base_ + read_.heads[row_].document; }

  StageCounts Outside() const override {
    StageCounts outside;
    std::uint64_t candidates = 0;
    std::uint64_t others = 0;
    for (const PartitionOutput& output : outputs_.outputs)
      for (const auto& [name, split] : output.splits)
        (!rules_.split || name == outputs_.schema.splits[*rules_.split] ? candidates : others) +=
            split.records;
    if (others > 0) outside.Add("other_split", others);
    if (candidates > drawn_) outside.Add("sampled_out", candidates - drawn_);
    return outside;
  }

 private:
  const SampleRules rules_;
  const OutputsToRead outputs_;
  const std::optional<SamplePlace> end_;  // the end of the sample; absent: it has all records

  std::size_t output_ = 0;          // the one that is read now or next
  std::unique_ptr<Source> source_;  // of the partition output; null between partition outputs
  Batch read_;                      // of source_
  std::size_t row_ = 0;             // of read_
  bool there_ = false;              // row_ is the record that Next gave

  std::uint64_t document_base_ = 0;  // added to the document numbers of the input
  std::uint64_t document_end_ = 0;   // of the partition outputs so far, with the base
  std::uint64_t drawn_ = 0;          // records
};

}  // namespace

Result<std::unique_ptr<Source>> OpenSample(const SampleRules& rules, const IntermediateFormat& format,
                                           const Schema& schema, BarrierRequest request) {
  OutputsToRead outputs{format, schema, *request.artifact, std::move(request.outputs), request.stop};
  std::sort(outputs.outputs.begin(), outputs.outputs.end(),
            [](const PartitionOutput& a, const PartitionOutput& b) { return a.id < b.id; });
  ASSIGN_OR_RETURN(const std::optional<SamplePlace> end, FindEnd(outputs, rules));
  return std::make_unique<BarrierSource>(std::make_unique<SampleStream>(rules, std::move(outputs), end),
                                         rules.partition_bytes, std::move(request.wanted),
                                         request.batch_bytes);
}

}  // namespace pipeline
