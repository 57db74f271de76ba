// A plan: the segments that have to run, and why. Plain data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/books/lineage.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/typed_id.h"
#include "dag/plan/partition_outputs.h"

namespace pipeline {

/// A segment of a plan: its position in Plan::segments.
using SegmentId = TypedId<struct PlannedSegment>;

/// A segment of the plan: a chain of stages that runs fused, or one Job.
struct PlannedSegment {
  enum class State : std::uint8_t { kUpToDate, kWanted, kNotSelected };
  /// One named input of a stage of the chain, or the `input` of a Job.
  struct SideInput {
    NodeId reader;
    std::string named_input;           // name of the input, or kJobInput
    std::optional<SegmentId> segment;  // makes its artifact; absent: a file, or the artifact is missing
    std::string file;                  // path of the file; empty: no file
  };

  explicit PlannedSegment(NodeId last) : node(last) {}

  NodeId node;                        // the last stage
  std::vector<NodeId> chain;          // from the Source, or the first reader of partition files, to `node`
  std::optional<SegmentId> upstream;  // the segment whose partition files it reads; absent: none
  std::optional<NodeId> files;        // gives its files; absent: it reads none
  /// The segment that takes records into the barrier stage at the front of the chain. Absent: none, or all
  /// partition outputs exist.
  std::optional<SegmentId> barrier;
  std::vector<SideInput> side_inputs;
  bool publishes = false;  // makes an artifact at `location`, a Sink's or a Job's; else partition outputs
  bool job = false;        // `chain` is one Job
  bool takes_in = false;   // its last stage is a barrier stage, which takes records in
  bool varies = false;     // its output may differ when it is made again
  bool removable = false;  // its partition outputs are removed once nothing unfinished reads them
  State state = State::kWanted;
  bool forced = false;
  std::string damaged;           // why the manifest at the location is unusable and kept; empty: it is not
  bool replaces = false;         // the artifact at the location is removed first: the manifest, then the rest
  std::string manifest_version;  // of the manifest at the location; empty: there was none

  Lineage lineage;         // from the source to the last stage
  Lineage output_lineage;  // the same, but of the last stage only the keys that the first pass reads
  Lineage chain_lineage;   // the part of output_lineage for `chain`
  OutputKeys keys;
  std::string continues;     // Job only: how far it has to go, as UnitLine::continues
  std::string directory;     // of its partition outputs, below artifacts/: STAGE-RECIPE16
  std::string location;      // location of its artifact: see OpenLocation (dag/environment.h)
  std::string copy_from;     // location of an artifact with the same recipe, to copy
  PartitionOutputs outputs;  // those that exist now; empty if a manifest shows that the segment is up to date
  std::vector<std::string> because;  // why it runs, or why it is up to date

  const Digest& recipe() const { return lineage.back().recipe; }
};

struct Plan {
  IdVector<SegmentId, PlannedSegment> segments;  // each after all segments that it needs
  std::vector<std::string> reports;              // differences that are reported and cause no run
  std::map<std::string, std::string> vanished;   // by stage: missing files, and the record in their place
  std::vector<std::string> refusals;             // not empty: nothing may run (exit 2)
  /// Directories below artifacts/ of the file's partition outputs that nothing unfinished reads or continues.
  /// They may exist or not.
  std::vector<std::string> unneeded;
  /// Stages that should run but cannot, and why. The rest may run, and the run ends as a failure.
  std::vector<std::string> left_out;

  bool nothing_to_do() const;
};

/// PlannedSegment::SideInput::named_input for the `input` of a Job.
inline constexpr std::string_view kJobInput = "input";

/// Returns every planned segment that `segment` needs first: `upstream`, `barrier`, and the makers of
/// its side inputs.
std::vector<SegmentId> NeedsOf(const PlannedSegment& segment);

/// Returns the bytes of memory that a run keeps of its input files and their partitions from its planning to
/// its end, about: their names, digests, recipes, lines of the log and objects. Measured: 8.6 kB for a file
/// of one partition in one segment, 13.6 kB in two.
std::uint64_t MemoryOfInputs(const Plan& plan);

}  // namespace pipeline
