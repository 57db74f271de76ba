// The kind of data on an edge between two stages of the graph. The type of a stage names the kind that it
// takes and the kind that it gives; both ends of an edge must have the same kind.
#pragma once

#include <cstdint>

namespace pipeline {

enum class Flow : std::uint8_t {
  kFiles,     // whole files, which a Source opens
  kRecords,   // batches of records
  kArtifact,  // whole artifacts, from a Job or a publishing Sink
  kNothing,   // as input: none; as output: a published artifact that no stage reads
};

}  // namespace pipeline
