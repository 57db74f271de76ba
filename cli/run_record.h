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
};

struct RecordedUnit {
  std::string unit;
  double begin = 0;  // seconds since the run began, as everywhere here
  double end = 0;
  std::uint64_t records = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::map<std::string, double> busy;  // by stage, over all threads
  std::string failed;
};

struct RecordedLogging {
  std::string unit;
  double at = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

/// How far everything was at one moment.
struct RecordedMoment {
  double at = 0;
  std::uint64_t read = 0;
  std::uint64_t text = 0;
  std::uint64_t written = 0;
  double cpu = 0;
  std::uint64_t rss = 0;
  std::uint64_t disk_free = 0;
  std::uint64_t units = 0;
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

struct RunRecord {
  RecordedBegin begin;
  std::vector<RecordedStage> stages;
  std::vector<RecordedUnit> units;
  std::vector<RecordedLogging> logged;
  std::vector<RecordedMoment> moments;
  std::vector<RecordedNote> notes;
  std::map<std::string, StageText> texts;        // by stage
  std::map<std::string, RecordedCounts> counts;  // by stage
  std::vector<RecordedExample> examples;
  std::optional<RecordedEnd> end;  // absent: still running, or killed
  std::vector<RecordedTraining>
      trainings;  // what stages said in plugin_events.jsonl, not in the record itself
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
/// `counts` of a stage; `text` of a stage with its pairs, several lines.
std::string EncodeEvent(const std::string& stage, const RecordedCounts& counts);
std::string EncodeEvent(const std::string& stage, const StageText& text);

/// kInvalidArgument where it does not begin as a record, kFailedPrecondition where it is of a newer version.
Result<RunRecord> ParseRunRecord(std::string_view lines);

}  // namespace pipeline
