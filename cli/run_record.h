// What one run leaves about itself, in memory and as lines. Format: cli/run_record.md.
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
#include "cli/sample_collector.h"
#include "cli/training_record.h"
#include "records/counts.h"

namespace pipeline {

struct RecordedStage {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;
  std::string state;       // "run", "copy", "up to date", "not selected"
  std::string segment;     // the stage at whose end its records are kept; empty: not in this plan
  std::string pieces;      // directory of those below artifacts/
  std::string quarantine;  // directory below the work directory
  std::string place;       // what it publishes
  std::string link;        // the same from the directory of the record; empty where that is no directory
  std::uint64_t files = 0;
  std::uint64_t file_bytes = 0;
  std::string vanished;  // what of its files is gone, and what stood in; empty: nothing is
  std::string longest_line =
      {};  // of a TFDS data set, in tokens, or "any"; empty: of none, or nobody wrote it down
  // How it is made; empty in old records.
  std::uint64_t version = 0;  // of the type
  Json config = {};           // every key that has a value, without secrets; null where nothing is known
  std::string recipe = {};
  std::map<std::string, std::string> libraries = {};  // and files of the machine: version or digest
  std::vector<std::pair<std::string, std::string>> sources = {};  // that no stage made: name, digest
  /// What its type counts by a name (spec/reason.h): "dropped", "stays", "not meant", or "tally" for what has
  /// no share of its records. A name that ends in '*' stands for all that begin so.
  std::map<std::string, std::string> reasons = {};
};

/// What a count of `reason` says of records, as RecordedStage::reasons; by its name alone in old records.
std::string_view FateOf(const RecordedStage& stage, std::string_view reason);

struct RecordedUnit {
  std::string unit;
  double begin = 0;  // seconds since the run began, as everywhere here
  double end = 0;
  std::uint64_t records = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::map<std::string, double> busy;  // by stage, over all threads
  std::string failed;
  bool stopped = false;  // before its end, by who stopped the run or since another unit failed
  double cpu = 0;        // seconds of its own threads; those that a stage starts are not among them
  // Of child processes, with all that they started.
  double child_cpu = 0;
  std::uint64_t child_rss = 0;  // the most that they held at the same time, as far as it was seen
  std::uint64_t child_read = 0, child_written = 0;
};

struct RecordedLogging {
  std::string unit;
  double at = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

/// How far everything was at one moment. Child processes, and what they started, are in all sums.
struct RecordedMoment {
  double at = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::uint64_t written = 0;
  double cpu = 0;
  std::uint64_t rss = 0;
  std::uint64_t to_disk = 0;  // bytes that disks had to write for this run; 0 where nobody counts
  std::uint64_t units = 0;
  double child_cpu = 0;  // the part of `cpu` that is of child processes
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
  std::vector<std::pair<std::string, std::string>> failures;  // unit, why
};

struct RecordedBegin {
  std::string id, pipeline, command, version, system;
  std::int64_t started = 0;  // milliseconds since 1970
  std::map<std::string, std::string> libraries;
  std::uint64_t cores = 0, memory = 0, threads = 0, memory_limit = 0;
};

/// The run before this one, and in what this one differs from it.
struct RunBefore {
  std::string id, command, outcome;
  std::int64_t started = 0;  // milliseconds since 1970
  double duration = 0, cpu = 0;
  std::uint64_t peak_rss = 0;
  bool has_page = false;
  std::vector<std::string> differences;  // a line each; empty: made of the same, in the same way
};

struct RunRecord {
  RecordedBegin begin;
  std::vector<RecordedStage> stages;
  std::vector<RecordedUnit> units;
  std::map<std::string, double> reached;    // by last stage of a segment: when the first work on it began
  std::map<std::string, double> completed;  // the same: when all was there
  std::vector<RecordedLogging> logged;
  std::vector<RecordedMoment> moments;
  std::vector<RecordedNote> notes;
  std::map<std::string, StageText> texts;        // by stage
  std::map<std::string, RecordedCounts> counts;  // by stage
  std::vector<RecordedExample> examples;
  std::optional<RecordedEnd> end;  // absent: still running, or killed
  // What is not in the record itself.
  std::vector<RecordedTraining> trainings;  // what stages said in plugin_events.jsonl
  bool alive = false;                       // without an end: the run goes on
  std::optional<RunBefore> before;          // of the same work directory
};

/// One line each, with its LF.
std::string EncodeEvent(const RecordedBegin& begin);
std::string EncodeEvent(const RecordedStage& stage);
std::string EncodeEvent(const RecordedUnit& unit);
std::string EncodeEvent(const RecordedLogging& logged);
std::string EncodeEvent(const RecordedMoment& moment);
std::string EncodeEvent(const RecordedNote& note);
std::string EncodeEvent(const RecordedExample& example);
std::string EncodeEvent(const RecordedEnd& end);
/// `reached` and `complete` of a stage that is the last of its segment.
std::string EncodeReached(std::string_view stage, double at);
std::string EncodeComplete(std::string_view stage, double at);
/// `counts` of a stage; `text` of a stage with its pairs, several lines.
std::string EncodeEvent(const std::string& stage, const RecordedCounts& counts);
std::string EncodeEvent(const std::string& stage, const StageText& text);

/// kInvalidArgument where it does not begin as a record, kFailedPrecondition where it is of a newer version.
Result<RunRecord> ParseRunRecord(std::string_view lines);

}  // namespace pipeline
