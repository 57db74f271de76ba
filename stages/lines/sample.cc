#include "stages/lines/sample.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/pipeline_file/mistake.h"
#include "stages/lines/barrier_source.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/partition_file.h"
#include "stages/shards/spill_sink.h"

namespace pipeline {

namespace {

/// Makes a draw independent of a shuffle with the same seed.
constexpr std::uint64_t kSampleSeed = 0x73616d706c65;  // "sample"

constexpr std::size_t kSampleChunkBytes = 1 << 20;  // of text
constexpr std::size_t kChunkRecords = 1 << 14;
constexpr std::uint64_t kSpareBytes = 1 << 20;  // of dropped records, before their memory is freed

struct SampleRules {
  std::optional<std::uint8_t> split;  // draws only records of this split; absent: all
  std::uint64_t bytes = 0;            // of text in the whole sample
  std::uint64_t seed = 0;
  std::uint64_t partition_bytes = 0;  // of text in a partition of the sample
};

/// A drawn record and its position.
struct Drawn {
  SamplePlace place;
  std::uint32_t chunk;
  std::uint32_t row;
  std::uint32_t bytes;  // of text
  bool operator<(const Drawn& other) const { return place < other.place; }
};

/// Keeps the records that come first in the draw, until their text exceeds `rules.bytes`, and commits them
/// in corpus order through a Sink of `format` (the intermediate format); `format` outlives it. Commit
/// encodes on the committer thread.
class SampleSink final : public Sink {
 public:
  SampleSink(const SampleRules& rules, PartitionId id, const SinkStage& format, std::unique_ptr<Sink> output)
      : rules_(rules), id_(id), format_(format), output_(std::move(output)) {}

  Status Write(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      if (rules_.split && !batch.split.empty() && batch.split[row] != *rules_.split) continue;
      const SamplePlace place = LocationOf(rules_.seed, id_, batch.heads[row]);
      if (text_bytes_ > rules_.bytes && !(place < heap_.front().place)) continue;
      Put(batch, row, place);
      while (text_bytes_ - heap_.front().bytes > rules_.bytes) DropLast();
    }
    if (dropped_bytes_ > kSpareBytes + text_bytes_ / 4) ClearAway();
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop) override {
    ClearAway();
    ASSIGN_OR_RETURN(const std::unique_ptr<Worker> encoder, format_.encoder()->NewWorker());
    for (Batch& chunk : chunks_) {
      chunk.partition = id_;
      StageCounts none;
      RETURN_IF_ERROR(encoder->Apply(chunk, 0, none));
      RETURN_IF_ERROR(output_->Write(chunk));
      chunk = Batch();
    }
    return output_->Commit(end, std::move(stop));
  }

 private:
  void Put(const Batch& batch, std::size_t row, const SamplePlace& place) {
    const std::size_t bytes = batch.text[row].size();
    if (chunks_.empty() || chunks_.back().size() >= kChunkRecords ||
        (chunks_.back().size() > 0 && chunks_.back().text.bytes() + bytes > kSampleChunkBytes))
      chunks_.emplace_back();
    const auto chunk = static_cast<std::uint32_t>(chunks_.size() - 1);
    const auto at = static_cast<std::uint32_t>(chunks_.back().size());
    chunks_.back().AppendRow(batch, row);
    heap_.push_back({place, chunk, at, static_cast<std::uint32_t>(bytes)});
    std::push_heap(heap_.begin(), heap_.end());
    text_bytes_ += bytes;
  }

  void DropLast() {
    text_bytes_ -= heap_.front().bytes;
    dropped_bytes_ += heap_.front().bytes;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }

  /// Frees the dropped records. The other rows keep their order, which is that of the corpus.
  void ClearAway() {
    std::vector<Drawn*> in_order;
    in_order.reserve(heap_.size());
    for (Drawn& drawn : heap_) in_order.push_back(&drawn);
    std::sort(in_order.begin(), in_order.end(), [](const Drawn* a, const Drawn* b) {
      return std::tie(a->chunk, a->row) < std::tie(b->chunk, b->row);
    });
    std::deque<Batch> kept;
    std::vector<std::uint32_t> rows;
    std::size_t next = 0;
    for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      rows.clear();
      for (; next < in_order.size() && in_order[next]->chunk == chunk; ++next) {
        Drawn& drawn = *in_order[next];
        rows.push_back(drawn.row);
        drawn.chunk = static_cast<std::uint32_t>(kept.size());
        drawn.row = static_cast<std::uint32_t>(rows.size() - 1);
      }
      if (rows.empty()) {
        chunks_[chunk] = Batch();
        continue;
      }
      chunks_[chunk].Keep(rows);
      kept.push_back(std::move(chunks_[chunk]));
    }
    chunks_ = std::move(kept);
    dropped_bytes_ = 0;
  }

  const SampleRules rules_;
  const PartitionId id_;
  const SinkStage& format_;
  const std::unique_ptr<Sink> output_;
  std::deque<Batch> chunks_;  // records in corpus order, some of them dropped
  std::vector<Drawn> heap_;   // the record that is dropped next is in front
  std::uint64_t text_bytes_ = 0;
  std::uint64_t dropped_bytes_ = 0;  // of the dropped records in chunks_
};

constexpr int kBinBits = 16;

std::size_t BinOf(std::uint64_t hash) { return hash >> (64 - kBinBits); }

/// Opens partition outputs.
struct OutputsToRead {
  Schema schema;
  Store& artifact;
  std::vector<PartitionOutput> outputs;  // sorted by id
  std::stop_token stop;

  Result<std::unique_ptr<Source>> Open(std::size_t output) const {
    return PartitionFileFormat().Open(artifact, outputs[output], schema, kBarrierReadBytes, stop);
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

class SampleSource final : public BarrierSource {
 public:
  SampleSource(const SampleRules& rules, OutputsToRead outputs, std::optional<SamplePlace> end,
               const BarrierRequest& request)
      : BarrierSource(rules.partition_bytes, request),
        rules_(rules),
        outputs_(std::move(outputs)),
        end_(end) {}

 private:
  Result<std::unique_ptr<Source>> OpenNext() override {
    if (output_ == outputs_.outputs.size()) return std::unique_ptr<Source>();
    const std::uint32_t input = outputs_.outputs[output_].id.input;
    if (output_ > 0 && input != outputs_.outputs[output_ - 1].id.input) document_base_ = document_end_;
    return outputs_.Open(output_++);
  }

  Result<bool> Read(Source& output, Batch& batch) override {
    ASSIGN_OR_RETURN(const bool more, output.Next(batch));
    if (more && batch.closes) document_end_ = document_base_ + batch.end.document_end;
    return more;
  }

  std::optional<std::uint64_t> DocumentOf(const Batch& batch, std::size_t row) override {
    if (end_ && !(LocationOf(rules_.seed, batch.partition, batch.heads[row]) < *end_)) return std::nullopt;
    ++drawn_;
    return document_base_ + batch.heads[row].document;
  }

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

  const SampleRules rules_;
  const OutputsToRead outputs_;
  const std::optional<SamplePlace> end_;  // the end of the sample; absent: it has all records
  std::size_t output_ = 0;                // the one that is opened next
  std::uint64_t document_base_ = 0;       // added to the document numbers of the input
  std::uint64_t document_end_ = 0;        // of the partition outputs so far, with the base
  std::uint64_t drawn_ = 0;               // records
};

Result<std::uint8_t> SplitNamed(std::string_view name, const Schema& schema) {
  const auto found = std::find(schema.splits.begin(), schema.splits.end(), name);
  if (found != schema.splits.end()) return static_cast<std::uint8_t>(found - schema.splits.begin());
  return Status(Code::kInvalidArgument, StrCat("split: the records that come in have no split '", name, "'",
                                               NamesLike(name, schema.splits)));
}

Result<SampleRules> SampleRulesOf(const Json& config, const Schema& schema) {
  SampleRules rules;
  if (config["split"].is_string()) {
    ASSIGN_OR_RETURN(rules.split, SplitNamed(config["split"].AsString(), schema));
  }
  rules.bytes = static_cast<std::uint64_t>(config["bytes"].AsInt());
  rules.seed = static_cast<std::uint64_t>(config["seed"].AsInt());
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  return rules;
}

class Sample final : public BarrierStage {
 public:
  Sample(SampleRules rules, Schema schema, std::unique_ptr<SinkStage> outputs)
      : rules_(rules), schema_(std::move(schema)), outputs_(std::move(outputs)) {}

  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Sink> output, outputs_->OpenPartition(artifact, id));
    return std::make_unique<SampleSink>(rules_, id, *outputs_, std::move(output));
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    // Columns and the heap grow by doubling, a quarter may belong to dropped records, and a line has 100
    // bytes of index.
    const std::uint64_t held = std::min(text_bytes, rules_.bytes);
    return 3 * held + 8 * kSpareBytes + outputs_->partition_memory(text_bytes);
  }
  /// Reads the partition outputs up to three times, twice in this call.
  Result<std::unique_ptr<Source>> Open(BarrierRequest request) const override {
    OutputsToRead outputs{schema_, *request.artifact, std::move(request.outputs), request.stop};
    std::sort(outputs.outputs.begin(), outputs.outputs.end(),
              [](const PartitionOutput& a, const PartitionOutput& b) { return a.id < b.id; });
    ASSIGN_OR_RETURN(const std::optional<SamplePlace> end, FindEnd(outputs, rules_));
    return std::make_unique<SampleSource>(rules_, std::move(outputs), end, request);
  }

 private:
  const SampleRules rules_;
  const Schema schema_;
  const std::unique_ptr<SinkStage> outputs_;
};

Status CheckSample(const Json& config, Schema& schema) {
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument, "sample counts the column 'text', which its input does not have");
  for (const std::string_view key : {"bytes", "partition"})
    if (config[key].AsInt() < 1)
      return Status(Code::kInvalidArgument, StrCat(key, ": must be at least one byte"));
  return SampleRulesOf(config, schema).status();
}

}  // namespace

SamplePlace LocationOf(std::uint64_t seed, PartitionId partition, const RecordHead& head) {
  return {ShuffleHash(seed ^ kSampleSeed, partition, head.index, head.sub), partition, head.index, head.sub};
}

StageType SampleType() {
  StageType type;
  type.name = "sample";
  type.help = "Draws, by chance, as many records as fit into so many bytes of text.";
  type.keys = {
      {"split", ValueType::kString, "~", "Draws from this split only; without it, from all."},
      {"bytes", ValueType::kBytes, "", "Bytes of text in the sample, at most."},
      {"seed", ValueType::kInteger, "0", "Another seed draws another sample."},
      {"partition", ValueType::kBytes, "64MiB",
       "A partition of the sample closes at the end of a document once it holds so much text."},
  };
  type.check = CheckSample;
  type.reasons = {Tally("sampled_out", "Records that were not drawn."),
                  Tally("other_split", "Records of other splits.")};
  type.kind = BarrierKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<BarrierStage>> {
    ASSIGN_OR_RETURN(const SampleRules rules, SampleRulesOf(context.config, context.schema));
    ASSIGN_OR_RETURN(std::unique_ptr<SinkStage> outputs, PartitionFileFormat().NewSink(context.schema));
    return std::make_unique<Sample>(rules, context.schema, std::move(outputs));
  }};
  return type;
}

}  // namespace pipeline
