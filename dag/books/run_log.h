// The run log: the journal of all finished and failed units of a work directory. Format and rules:
// dag/books/run_log.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/counts.h"
#include "dag/records/stored_object.h"

namespace pipeline {

enum class UnitState : std::uint8_t { kDone, kFailed, kVoid, kEnd, kCuts };

/// One line about a unit. Members that its state does not have stay empty.
struct UnitLine {
  UnitState state = UnitState::kDone;
  std::string unit;                   // "text/0000-00012", "text/0000-*", "text/train.s00003-of-00010"
  std::uint32_t segment = 0;          // number of the `segment` line it belongs to
  Digest recipe;                      // done, end, cuts
  Digest content;                     // done
  Digest digest;                      // done: of the records, or of the shard's bytes
  std::vector<StoredObject> objects;  // done: objects that it wrote, relative to `location`
  std::string location;             // done, shards and jobs: location of the artifact; partitions: directory
  std::uint64_t records = 0;        // done
  std::vector<std::uint64_t> sums;  // done: of a shard's index
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  PartitionEnd end;                                        // done, partitions
  std::uint32_t partitions = 0;                            // end, cuts
  std::uint64_t raw_bytes = 0;                             // end, cuts
  std::uint64_t documents = 0;                             // end, cuts
  std::map<std::string, StageCounts, std::less<>> counts;  // by stage; end, cuts: those outside of partitions
  std::vector<PartitionEnd> cuts;                          // cuts: the end of each partition known
  std::string note;                                        // done, cuts: of the Source, for itself
  std::string whole_from;  // done, partitions: the first stage whose counts are complete in this line
  std::string continues;   // done, jobs: JSON of the keys with Effect::kContinue
  std::string facts;       // done, jobs: JSON of JobOutput::facts
  std::string reason;      // failed, void
  std::string origin;      // failed: position of the lowest record that failed

  /// Returns whether it has the first cuts of an input, found by a scan that had not come to the end.
  bool HasFirstCuts() const { return state == UnitState::kCuts && partitions == 0; }
};

/// Data that the unit lines of one lineage share. Written once per lineage.
struct SegmentLine {
  std::uint32_t number = 0;
  std::string lineage;  // JSON: the stages from the source on, with type, version, config, recipe
  /// Start of the run whose line comes before this one in the file, in milliseconds since 1970. 0: there is
  /// none, as after a compaction. Not written.
  std::int64_t began = 0;
};

/// One run of the program in this work directory. No other kind of line has a time or a process in it.
struct RunLine {
  std::string id;
  std::uint32_t pid = 0;
  std::string command;       // as it was typed
  std::int64_t started = 0;  // milliseconds since 1970
  std::int64_t ended = 0;    // 0: there is no outcome yet
  std::string outcome;       // "done", "failed", "cancelled"; empty: still running, or killed
  bool operator==(const RunLine&) const = default;
};

struct LogIo;

/// Another place that receives every line of a log: dag/home/home.md. Safe from any thread.
class LogMirror {
 public:
  virtual ~LogMirror() = default;
  /// Takes whole lines, with their LF, in the order of the log, without I/O. `at_once`: they wait for no
  /// others. A failure ends the run.
  virtual Status Add(std::string_view lines, bool at_once) = 0;
  /// All lines so far are durable there when it returns OK. If `stop` is set, it takes some seconds at most.
  virtual Status Flush(std::stop_token stop) = 0;
};

/// The log of one work directory. Safe from any thread.
class RunLog {
 public:
  /// Loads `path`, or starts an empty log. Skips torn and damaged lines with a warning. A log of a newer
  /// version is an error (kFailedPrecondition), since this program must not overwrite it. The caller holds
  /// the work directory's lock.
  static Result<std::unique_ptr<RunLog>> Open(const std::string& path);
  /// Does the same with other system calls, so that a test can simulate a full disk: dag/books/log_file.h.
  static Result<std::unique_ptr<RunLog>> Open(const std::string& path, LogIo io);
  /// Does the same without ever writing: for -n, status and the like. A missing file is an empty log.
  static Result<std::unique_ptr<RunLog>> OpenReadOnly(const std::string& path);
  /// Does the same with the bytes of a log that is elsewhere. `name`: for messages.
  static Result<std::unique_ptr<RunLog>> OpenText(const std::string& name, std::string text);
  ~RunLog();

  /// Returns the last line of the unit. Null: there is none, or it is void. Pointers stay valid until the
  /// next Append for the same unit.
  const UnitLine* Find(std::string_view unit) const;
  /// Does the same but skips a `failed` last line: returns the earlier line that still holds.
  const UnitLine* FindDone(std::string_view unit) const;
  /// Returns the last line about the cuts of an input, which is no outcome of its unit. Null: there is none.
  const UnitLine* FindCuts(std::string_view unit) const;
  /// Returns the last lines of all units that begin with `prefix`, by name.
  std::vector<const UnitLine*> List(std::string_view prefix) const;
  /// Calls `visit` with each unit that begins with `prefix` and the segment of its last line, in no order.
  /// Decodes no line, since there may be 100,000. `visit` does not call this log.
  void ForEach(std::string_view prefix,
               const std::function<void(std::string_view unit, std::uint32_t segment)>& visit) const;
  /// Returns the units that begin with `prefix` and whose last line is `failed`, in no order. Decodes no
  /// line.
  std::vector<std::string> FailedUnits(std::string_view prefix) const;
  /// Returns null if the line was damaged: its contents are then unknown.
  const SegmentLine* FindSegment(std::uint32_t number) const;
  /// Returns the lineages of all segments.
  std::vector<std::string> Lineages() const;
  /// Returns every run, in the order of their start.
  std::vector<RunLine> Runs() const;
  /// Returns the number of lines that could not be read when the log was opened.
  std::uint64_t damaged_lines() const;

  /// `listener` is called with each unit line once it is durable; Append returns its failure. Set it before
  /// other threads append.
  void SetListener(std::function<Status(const UnitLine&)> listener) { listener_ = std::move(listener); }

  /// From now on `mirror`, which outlives this, also receives each line once it is durable here; Append
  /// returns its failure. Set it before other threads append.
  void SetMirror(LogMirror* mirror);
  /// All lines so far are durable in the mirror, too. OK: there is none.
  Status Flush(std::stop_token stop = {});

  /// The line is durable when it returns OK. A failure must end the run: a unit that is not logged is not
  /// done.
  Status Append(const UnitLine& line);
  /// Appends all lines in their order, with one sync. After a kill the file may have the first of them.
  Status Append(const std::vector<UnitLine>& lines);
  /// Writes a segment line unless there is one with the same lineage; returns its number.
  Result<std::uint32_t> AppendSegment(const std::string& lineage);
  /// Called once when the run begins, and again with the same id when it has an outcome.
  Status AppendRun(const RunLine& line);

  /// Rewrites the file without superseded or damaged lines if these are more than two thirds of all.
  Status CompactIfWorthwhile();

 private:
  struct State;
  explicit RunLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::function<Status(const UnitLine&)> listener_;
};

}  // namespace pipeline
