// The journal of a work directory: what has been done. Format and rules: dag/run_log.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "records/batch.h"
#include "records/counts.h"
#include "records/stored_object.h"

namespace pipeline {

enum class UnitState : std::uint8_t { kDone, kFailed, kVoid, kEnd };

/// One line about a unit. What a state does not have stays empty.
struct UnitLine {
  UnitState state = UnitState::kDone;
  std::string unit;                   // "text/0000-00012", "text/0000-*", "text/train.s00003-of-00010"
  std::uint32_t segment = 0;          // number of the `segment` line it belongs to
  Digest recipe;                      // done, end
  Digest content;                     // done
  Digest digest;                      // done: of the records, or of the shard's bytes
  std::vector<StoredObject> objects;  // done: what it wrote, relative to its place
  std::string place;                  // done, shards and jobs: of the artifact; partitions: directory
  std::uint64_t records = 0;          // done
  std::vector<std::uint64_t> sums;    // done: of a shard's index
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  PartitionEnd end;                                        // done, partitions
  std::uint32_t partitions = 0;                            // end
  std::uint64_t raw_bytes = 0;                             // end
  std::uint64_t documents = 0;                             // end
  std::map<std::string, StageCounts, std::less<>> counts;  // by stage; end: outside any partition
  std::string whole_from;  // done, partitions: the first stage whose counts here are all there are
  std::string continues;   // done, jobs: JSON of the keys with Effect::kContinue
  std::string facts;       // done, jobs: JSON of JobOutput::facts
  std::string reason;      // failed, void
  std::string origin;      // failed: of the lowest record that failed
};

/// What the lines of one segment have in common, once per run.
struct SegmentLine {
  std::uint32_t number = 0;
  std::string lineage;  // JSON: the stages from the source on, with type, version, config, recipe
  /// When the run began whose line stands before it in the file, in milliseconds since 1970; 0 where none
  /// does, as after a compaction. Not written.
  std::int64_t began = 0;
};

/// One run of the program in this work directory. The only lines with a time or a process in them.
struct RunLine {
  std::string id;
  std::uint32_t pid = 0;
  std::string command;       // as it was typed
  std::int64_t started = 0;  // milliseconds since 1970
  std::int64_t ended = 0;    // 0 while there is no outcome
  std::string outcome;       // "done", "failed", "cancelled"; empty: still running, or killed
  bool operator==(const RunLine&) const = default;
};

struct LogIo;

/// One work directory's log. Safe from any thread.
class RunLog {
 public:
  /// Loads `path`, or starts an empty log. Torn and damaged lines are passed over with a warning; a
  /// log of a newer version is an error (kFailedPrecondition): it is not ours to overwrite.
  /// The caller holds the work directory's lock.
  static Result<std::unique_ptr<RunLog>> Open(const std::string& path);
  /// With other system calls, so that a test can fill the disk: dag/log_file.h.
  static Result<std::unique_ptr<RunLog>> Open(const std::string& path, LogIo io);
  /// The same without ever writing: for -n, status and the like. No file is an empty log.
  static Result<std::unique_ptr<RunLog>> OpenReadOnly(const std::string& path);
  ~RunLog();

  /// The last line of the unit; null where there is none, it is void, or its source was rejected.
  /// Pointers stay valid until the next Append for the same unit, or the rejection of its source.
  const UnitLine* Find(std::string_view unit) const;
  /// As Find, with a `failed` last line passed over: what still stands from before.
  const UnitLine* FindDone(std::string_view unit) const;
  /// All units beginning with `prefix`, last lines, by name.
  std::vector<const UnitLine*> List(std::string_view prefix) const;
  /// Calls `visit` with each unit that begins with `prefix` and the segment of its last line, in no order: of
  /// 100,000 lines none is decoded. `visit` asks this log nothing.
  void ForEach(std::string_view prefix,
               const std::function<void(std::string_view unit, std::uint32_t segment)>& visit) const;
  /// Units that begin with `prefix` and whose last line says that they failed, in no order; as cheap.
  std::vector<std::string> FailedUnits(std::string_view prefix) const;
  /// Null where its line was damaged: what it described is then unknown.
  const SegmentLine* FindSegment(std::uint32_t number) const;
  /// Every run, in the order they began.
  std::vector<RunLine> Runs() const;
  /// How many lines could not be read when the log was opened.
  std::uint64_t damaged_lines() const;

  /// Called with each line about a unit once it is durable; a failure of it is one of Append. Set before
  /// other threads append.
  void SetListener(std::function<Status(const UnitLine&)> listener) { listener_ = std::move(listener); }

  /// Durable when it returns OK. A failure must end the run: what is not logged is not done.
  Status Append(const UnitLine& line);
  /// Writes a segment line unless there is one with the same lineage; returns its number.
  Result<std::uint32_t> AppendSegment(const std::string& lineage);
  /// Once when it begins, and again with the same id when it has an outcome.
  Status AppendRun(const RunLine& line);

  /// Rewrites the file without superseded lines when they are more than two thirds of all.
  Status CompactIfWorthwhile();

 private:
  struct State;
  explicit RunLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::function<Status(const UnitLine&)> listener_;
};

}  // namespace pipeline
