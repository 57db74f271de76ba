// Plans a run: finds the segments that have to run, and why. Planning reads only the snapshot and does no
// I/O of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/typed_id.h"
#include "dag/books/lineage.h"
#include "dag/books/manifest.h"
#include "dag/partition_outputs.h"
#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/local_input.h"
#include "dag/stage_location.h"

namespace pipeline {

/// One file that a Source reads.
struct SourceFile {
  LocalInput input;
  std::uint64_t size = 0;
  Digest digest;           // of its bytes
  std::string identity{};  // Environment::file_identity when it was hashed; empty: unknown
};

/// The snapshot: everything that planning reads from disk and network. Collected before planning, except
/// for the functions `at_location` and `outputs`.
struct Snapshot {
  struct Files {
    struct Wanted {
      std::string name;
      bool is_pattern = false;       // `name` is a pattern that no file matches
      std::optional<Digest> digest;  // of a file that exists or is pinned; absent: unknown
    };
    std::vector<SourceFile> files;  // empty if some are missing
    Status missing;                 // not OK: why the source is not on this machine
    std::vector<Wanted> wanted;     // if some are missing: all files, in their order
  };
  std::map<std::string, Files> files;  // by the stage that gives them
  bool offline = false;                // no server was asked: a kUnavailable file may exist all the same
  /// A file that a stage reads and no stage makes: at a named input, or from StageType::files.
  struct SideFile {
    std::string name;  // of the named input, or StageFile::name
    std::string file;  // the last part of its path
    Digest digest;
    bool at_named_input = false;
    bool of_machine = false;
    Status missing;  // not OK: why it is not on this machine
  };
  std::map<std::string, std::vector<SideFile>> side_files;  // by stage; named inputs first, in table order
  /// The state of the location of a stage that makes an artifact; the defaults: nothing is there.
  struct Published {
    std::optional<Manifest> manifest;
    std::string manifest_version;  // as in ObjectInfo
    bool whole = true;             // every object exists with the size in the manifest
    std::string missing;           // the first object that does not
    Status damaged;                // not OK: why the manifest that is there cannot be used
    bool foreign = false;          // no manifest or marker, but objects of others
    std::string marker_recipe;     // of the unfinished artifact, in hexadecimal; empty: unknown
    /// Objects of others: the artifact would overwrite them, or include them for its readers.
    std::vector<std::string> in_the_way;
  };
  /// By stage. Absent: the stage has no `out`, or the name of its location has the recipe.
  std::map<std::string, Published> published;
  /// The artifact of a publishing stage at an earlier location: where the log last saw it published, if
  /// that is not the location now.
  struct Elsewhere {
    std::string location;
    Manifest manifest;
  };
  std::map<std::string, Elsewhere> elsewhere;  // by stage; only complete artifacts
  /// The last logged lineage of each stage, for explanations and for sources that are gone.
  std::map<std::string, Lineage> logged;
  std::map<std::string, std::int64_t> logged_when;  // milliseconds since 1970; absent: unknown
  /// The last finished Job of a stage in the log: its recipe and, as JSON, the keys that say how far it
  /// went.
  struct LastJob {
    Digest recipe;
    std::string continues;
  };
  std::map<std::string, LastJob> jobs;  // by stage
  /// Returns the state of a location that only planning can name: one with a recipe in its name. May look
  /// at the disk.
  std::function<Result<Published>(const std::string& location)> at_location;
  /// Returns the existing partition outputs of a stage with these keys. May list the directory.
  std::function<Result<PartitionOutputs>(const OutputKeys& keys, const std::string& directory)> outputs;
};

struct Selection {
  std::string from, only, until, force;  // names of stages; empty: not given
  bool from_log = false;  // allows new publications from the log's record of a source that is gone
  bool strict = false;    // another version of a library counts as a change
  /// Not empty (`pipe retry`): only segments that end in one of these stages, and their needs.
  std::vector<std::string> failed;
};

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
  /// Stages that should run but cannot, and why. The rest may run, and the run ends as a failure.
  std::vector<std::string> left_out;

  bool nothing_to_do() const;
};

/// PlannedSegment::SideInput::named_input for the `input` of a Job.
inline constexpr std::string_view kJobInput = "input";

/// Returns every planned segment that `segment` needs first: `upstream`, `barrier`, and the makers of
/// its side inputs.
std::vector<SegmentId> NeedsOf(const PlannedSegment& segment);

/// `graph` outlives the plan.
Result<Plan> MakePlan(const Graph& graph, const Snapshot& snapshot, const Selection& selection);

}  // namespace pipeline
