// The kind of data on an edge of the graph.
#pragma once

#include <cstdint>

namespace pipeline {

enum class Flow : std::uint8_t {
  kFiles,     // whole files, which a Source opens
  kRecords,   // batches of records
  kArtifact,  // whole artifacts, from a Job or a publishing Sink
  kNothing,   // no input; as output: a published artifact that no stage reads
};

}  // namespace pipeline
