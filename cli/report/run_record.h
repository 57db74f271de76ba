// The record of one run, in memory and as lines. Format: cli/report/run_record.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/report/sample_collector.h"
#include "cli/report/training_record.h"
#include "dag/package/package_view.h"
#include "dag/package/work_history.h"
#include "dag/records/counts.h"

namespace pipeline {

/// The version of its form that is written; newer ones are refused.
inline constexpr std::int64_t kRunRecordVersion = 1;

struct RecordedStage {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;
  std::string state;       // "run", "copy", "up to date", "not selected"
  std::string segment;     // last stage of its segment, which keeps its records; empty: not in this plan
  std::string outputs;     // directory of the partition outputs below artifacts/
  std::string quarantine;  // directory below the work directory
  std::string location;    // location of its artifact
  std::string link;        // a relative path from the record to that location; empty: it is not a directory
  std::uint64_t files = 0;
  std::uint64_t file_bytes = 0;
  std::string vanished;           // its files that no longer exist, and their substitutes; empty: none
  std::string longest_line = {};  // of a data set of lines: in tokens, or "any"; empty: none, or not recorded
  // How the stage is configured; empty in old records.
  std::uint64_t version = 0;  // of the type
  Json config = {};           // all keys that have a value, without secrets; null: unknown
  std::string recipe = {};
  std::map<std::string, std::string> libraries = {};              // and machine files: version or digest
  std::vector<std::pair<std::string, std::string>> sources = {};  // not made by a stage: name, digest
  /// Maps each count name of its type (dag/pipeline_file/reason.h) to the fate of its records: "dropped",
  /// "stays", "not meant", or "tally" for counts that are not a share of records. A name that ends in '*'
  /// matches all names with that prefix.
  std::map<std::string, std::string> reasons = {};
};

/// The fate of the records that `reason` counts, see RecordedStage::reasons; in old records derived from
/// the name.
std::string_view FateOf(const RecordedStage& stage, std::string_view reason);

struct RecordedUnit {
  std::string unit;
  double begin = 0;  // seconds since the start of the run, as everywhere here
  double end = 0;
  std::uint64_t records = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::map<std::string, double> busy;  // by stage, over all threads
  std::string failed;
  bool stopped = false;  // ended early, because the run was stopped or another unit failed
  double cpu = 0;        // seconds on its own threads, without threads that a stage starts
  // For child processes and all their descendants.
  double child_cpu = 0;
  std::uint64_t child_rss = 0;  // the largest observed total at one time
  std::uint64_t child_read = 0, child_written = 0;
  std::string host = {};  // of the worker that ran it; empty: the machine of the run
};

struct RecordedLogging {
  std::string unit;
  double at = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

/// The totals at one moment. All sums include child processes and their descendants.
struct RecordedMoment {
  double at = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::uint64_t written = 0;
  double cpu = 0;
  std::uint64_t rss = 0;
  std::uint64_t to_disk = 0;  // bytes written to disks for this run; 0: not counted
  std::uint64_t units = 0;
  double child_cpu = 0;  // the part of `cpu` used by child processes
  std::uint64_t child_rss = 0;
};

struct RecordedNote {
  double at = 0;
  std::string text;
};

/// A record that a stage set aside.
struct RecordedExample {
  std::string stage;
  std::string reason;
  std::string text;
  bool cut = false;
};

struct RecordedCounts {
  StageCounts counts;
  std::uint64_t partitions = 0;
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

struct RecordedEnd {
  double at = 0;
  std::string outcome;
  std::uint64_t peak_rss = 0;
  std::vector<RunEnd::Failure> failures;
};

struct RecordedBegin {
  std::string id, pipeline, command, version, system;
  std::int64_t started = 0;  // milliseconds since 1970
  std::map<std::string, std::string> libraries;
  std::uint64_t cores = 0, memory = 0, threads = 0, memory_limit = 0;
};

/// The previous run, and the differences to this one.
struct RunBefore {
  std::string id, command, outcome;
  std::int64_t started = 0;  // milliseconds since 1970
  double duration = 0, cpu = 0;
  std::uint64_t peak_rss = 0;
  bool has_page = false;
  std::vector<std::string> differences{};  // one line each; empty: same inputs and configuration
};

struct RunRecord {
  RecordedBegin begin;
  std::vector<RecordedStage> stages;
  std::vector<RecordedUnit> units;
  std::map<std::string, double> reached;    // by last stage of a segment: when its first work began
  std::map<std::string, double> completed;  // by the same key: when it was complete
  std::vector<RecordedLogging> logged;
  std::vector<RecordedMoment> moments;
  std::vector<RecordedNote> notes;
  std::map<std::string, StageText> texts;        // by stage
  std::map<std::string, RecordedCounts> counts;  // by stage
  std::vector<RecordedExample> examples;
  std::vector<HostWork> hosts;     // of a run by workers, by name
  std::optional<RecordedEnd> end;  // absent: the run is still running, or was killed
  // Members that are not in the record file.
  std::vector<RecordedTraining> trainings;  // reported by stages in plugin_events.jsonl
  bool alive = false;                       // the record has no end, because the run is still running
  std::optional<RunBefore> before;          // in the same work directory
};

/// Each returns one line with its LF.
std::string EncodeEvent(const RecordedBegin& begin);
std::string EncodeEvent(const RecordedStage& stage);
std::string EncodeEvent(const RecordedUnit& unit);
std::string EncodeEvent(const RecordedLogging& logged);
std::string EncodeEvent(const RecordedMoment& moment);
std::string EncodeEvent(const RecordedNote& note);
std::string EncodeEvent(const RecordedExample& example);
std::string EncodeEvent(const HostWork& host);
std::string EncodeEvent(const RecordedEnd& end);
/// The events `reached` and `complete` of a segment, named by its last stage.
std::string EncodeReached(std::string_view stage, double at);
std::string EncodeComplete(std::string_view stage, double at);
/// The event `counts` of a stage; the event `text` of a stage with its pairs, as several lines.
std::string EncodeEvent(const std::string& stage, const RecordedCounts& counts);
std::string EncodeEvent(const std::string& stage, const StageText& text);

/// The lines that begin a record: `begin`, `stages` and `counts`.
std::string EncodeBegin(const RunRecord& record);
/// The lines about the outcome: `units`, `reached`, `completed`, `hosts`, `texts`, `counts`, `examples`, and
/// `end` if it is there.
std::string EncodeOutcome(const RunRecord& record);

/// kInvalidArgument if the first line is not a record's; kFailedPrecondition for a newer version.
Result<RunRecord> ParseRunRecord(std::string_view lines);

/// Returns the outcome of `stage`: "done", "copied", "failed", "stopped", "running", "killed" (the record has
/// no end, and the run is not alive), "not reached", "up to date", "not selected".
///
/// Stages of one segment share a pass. If it failed, the stage named in the failure failed, or else the
/// last one; the others were stopped.
std::string StateOf(const RunRecord& record, const RecordedStage& stage);

}  // namespace pipeline
