#include "stages/lines/sample_sink.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "stages/lines/sample_order.h"

namespace pipeline {

namespace {

constexpr std::size_t kSampleChunkBytes = 1 << 20;  // of text
constexpr std::size_t kChunkRecords = 1 << 14;
constexpr std::uint64_t kSpareBytes = 1 << 20;  // of dropped records, before their memory is freed

/// A drawn record and its position.
struct Drawn {
  SamplePlace place;
  std::uint32_t chunk;
  std::uint32_t row;
  std::uint32_t bytes;  // of text
  bool operator<(const Drawn& other) const { return place < other.place; }
};

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

}  // namespace

std::unique_ptr<Sink> NewSampleSink(const SampleRules& rules, PartitionId id, const SinkStage& format,
                                    std::unique_ptr<Sink> output) {
  return std::make_unique<SampleSink>(rules, id, format, std::move(output));
}

std::uint64_t SampleSinkMemory(const SampleRules& rules, std::uint64_t text_bytes) {
  // Columns and the heap grow by doubling, a quarter may belong to dropped records, and a line has 100 bytes
  // of index.
  const std::uint64_t held = std::min(text_bytes, rules.bytes);
  return 3 * held + 8 * kSpareBytes;
}

}  // namespace pipeline
