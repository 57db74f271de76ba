// The journal of a work directory: what has been done. Format and rules: dag/run_log.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/counts.h"
#include "dag/stage.h"

namespace pipeline {

enum class UnitState : std::uint8_t { kDone, kFailed, kVoid, kEnd };

/// One line about a unit. What a state does not have stays empty.
struct UnitLine {
  UnitState state = UnitState::kDone;
  std::string unit;                    // "text/0000-00012", "text/0000-*", "text/train.s00003-of-00010"
  std::uint32_t segment = 0;           // number of the `segment` line it belongs to
  Digest recipe;                       // done, end
  Digest content;                      // done
  Digest digest;                       // done: of the records, or of the shard's bytes
  std::vector<StoredObject> objects;   // done: what it wrote, relative to its place
  std::string place;                   // done, shards: URI of the artifact; partitions: empty
  std::uint64_t records = 0;           // done
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  PartitionEnd end;                    // done, partitions
  std::uint32_t partitions = 0;        // end
  std::uint64_t raw_bytes = 0;         // end
  std::uint64_t documents = 0;         // end
  std::map<std::string, StageCounts, std::less<>> counts;  // by stage; end: outside any partition
  std::string provisional;             // "SOURCE@ATTEMPT" while what it descends from may be rejected
  std::string reason;                  // failed, void
  std::string origin;                  // failed: of the lowest record that failed
};

/// What the lines of one segment have in common, once per run.
struct SegmentLine {
  std::uint32_t number = 0;
  std::string lineage;  // JSON: the stages from the source on, with type, version, config, recipe
};

/// One work directory's log. Safe from any thread.
class RunLog {
 public:
  /// Loads `path`, or starts an empty log. Torn and damaged lines are passed over with a warning; a
  /// log of a newer version is an error (kFailedPrecondition): it is not ours to overwrite.
  static Result<std::unique_ptr<RunLog>> Open(const std::string& path);
  /// The same without ever writing: for -n, status and the like. No file is an empty log.
  static Result<std::unique_ptr<RunLog>> OpenReadOnly(const std::string& path);
  ~RunLog();

  /// The last line of the unit, unless that is void or its source was rejected. Pointers stay valid
  /// until the next Append for the same unit.
  const UnitLine* Find(std::string_view unit) const;
  /// As Find, with a `failed` last line passed over: what still stands from before.
  const UnitLine* FindDone(std::string_view unit) const;
  /// All units beginning with `prefix`, last lines, by name.
  std::vector<const UnitLine*> List(std::string_view prefix) const;
  const SegmentLine* FindSegment(std::uint32_t number) const;

  /// Durable when it returns OK. A failure must end the run: what is not logged is not done.
  Status Append(const UnitLine& line);
  /// Writes a segment line unless the last one with the same lineage has it; returns its number.
  Result<std::uint32_t> AppendSegment(const std::string& lineage);
  Status AppendSourceVerified(std::string_view source_at_attempt);
  Status AppendSourceRejected(std::string_view source_at_attempt, std::string_view reason);
  /// True until a `verified` line stands for it.
  bool IsProvisional(const UnitLine& line) const;

  /// Rewrites the file without superseded lines when they are more than two thirds of it.
  Status CompactIfWorthwhile();

 private:
  RunLog();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
