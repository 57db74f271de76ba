// Barrier stage: takes all records before it gives one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/partition_output.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"
#include "storage/store.h"

namespace pipeline {

/// Input of BarrierStage::Open, once all partition outputs exist.
struct BarrierRequest {
  Store* artifact = nullptr;             // directory of the partition outputs; outlives the Source
  std::vector<PartitionOutput> outputs;  // by id
  std::function<bool(std::uint32_t partition)> wanted;
  std::size_t batch_bytes = 256 << 10;
  std::stop_token stop;
};

/// Barrier stage: takes all records in as a Sink without a second pass, then gives them on as one input,
/// number 0, with partitions of its own.
class BarrierStage : public SinkStage {
 public:
  /// Returns a Source whose records depend on the partition outputs and the configuration alone, with every
  /// column of the input schema. If a partition output is missing or changed, DamagedOutput
  /// (dag/records/partition_output.h) names it; if the outputs of several stages are read, DamagedOutputOf
  /// does.
  virtual Result<std::unique_ptr<Source>> Open(BarrierRequest request) const = 0;
};

}  // namespace pipeline
