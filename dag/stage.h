// The kinds of stages, as the executor sees them. A stage author implements one of these and takes no lock:
// the kind says which thread calls what.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"
#include "dag/batch.h"
#include "storage/store.h"

namespace pipeline {

// ---------------------------------------------------------------------------------------- Source

/// Yields the records of one input, in order. One thread at a time. It looks at its stop token at
/// least once per MiB, also while it passes over what is not wanted, and then returns kCancelled.
class Source {
 public:
  virtual ~Source() = default;
  /// Refills an empty `batch` with records of one partition and its counts[0]; false at the end of
  /// the input. A partition's last batch has `closes`; no batch belongs to a partition that is not
  /// wanted. After an error nothing may be called.
  virtual Result<bool> Next(Batch& batch) = 0;
  /// Valid after Next returned false; absent when it stopped early, after the last one wanted.
  virtual std::optional<InputEnd> End() const = 0;
};

/// One input of a Source stage, open for reading.
struct InputFile {
  std::string name;                // for messages and for guessing the format: the last part of a path or URL
  std::shared_ptr<ByteFile> file;  // shared by the units that read it at the same time
};

/// What the executor wants of one input.
struct SourceRequest {
  InputFile input;
  std::uint32_t number = 0;                             // IIII
  std::function<bool(std::uint32_t partition)> wanted;  // safe from any thread
  /// The highest partition wanted, where the end of the input is known from an earlier run.
  std::optional<std::uint32_t> last_wanted;
  /// The end of partition p where an earlier run logged it: a seekable input may start there.
  std::function<std::optional<PartitionEnd>(std::uint32_t partition)> known_end;
  std::size_t batch_bytes = 256 << 10;       // target; one longer record is a batch of its own
  int decoder_threads = 1;                   // for inputs that can be decoded in parallel
  std::uint64_t decoder_memory = 256 << 20;  // bytes for the buffers of those threads
  std::stop_token stop;
};

class Transform;

class SourceStage {
 public:
  virtual ~SourceStage() = default;
  virtual Result<std::unique_ptr<Source>> Open(SourceRequest request) const = 0;
  /// The part of reading that needs no order (repairing UTF-8): runs first in the parallel chain
  /// and counts as stage 0, like the Source. Null where there is none.
  virtual const Transform* repair() const { return nullptr; }
};

// ------------------------------------------------------------------------------------- Transform

/// The scratch of a Transform (an ICU buffer, a lattice). One batch at a time; keeps nothing of a
/// batch for the next one: reuse is a matter of speed alone and never changes a byte.
class Worker {
 public:
  virtual ~Worker() = default;
  /// Changes `batch` in place: may drop, split or replace records. Only reasons go to `counts` (the
  /// Segment counts records and bytes), records that were dropped or altered to batch.quarantine with
  /// `stage` as their stage. On failure, batch.failed_index names the record.
  virtual Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) = 0;
};

/// A pure function on batches, immutable and safe from any thread: the same batch gives the same
/// bytes in any order.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Result<std::unique_ptr<Worker>> NewWorker() const = 0;
  /// Called once with the totals of a finished artifact; an error keeps it from being published.
  virtual Status Judge(const ArtifactTotals&) const { return {}; }
};

// ------------------------------------------------------------------------------------------ Sink

/// An object as it was written; what a reader may hold against what it finds.
struct StoredObject {
  std::string name;  // relative to the stage's artifact directory, or to `out`
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  Digest digest;  // of the object's bytes
  bool operator==(const StoredObject&) const = default;
};

/// What a committed partition left behind, for its log line.
struct PartitionOutput {
  Digest digest;  // over the records, whatever the framing on disk
  std::vector<StoredObject> objects;
};

/// Receives one partition's batches in order, from one thread at a time. Destroyed uncommitted, the
/// partition never existed.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Write(const Batch& batch) = 0;
  /// Makes the partition visible and durable. Called once, last, from the unit's closing thread,
  /// while the next partition's Sink is already being written.
  virtual Result<PartitionOutput> Commit(const PartitionEnd& end) = 0;
};

/// A piece that the first pass left: a logged partition.
struct Piece {
  PartitionId id;
  PartitionOutput output;
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
};

/// One object of a published artifact.
struct Shard {
  std::string split;
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // of shards of the split
  std::string object;       // relative to `out`
  /// Names everything its bytes depend on besides the stage itself: the pieces it is made of.
  Digest pieces;
  /// An object beside it that says where each record lies, relative to `out`; empty: there is none.
  std::string index = {};
};

/// A published shard, as its log line and the manifest name it.
struct ShardOutput {
  StoredObject object;
  std::uint64_t records = 0;
  std::optional<StoredObject> index = {};  // committed before the shard itself
  std::vector<std::uint64_t> sums = {};    // of the numbers that the index keeps of each record
};

/// A small object beside the shards.
struct Sidecar {
  std::string object;
  std::string bytes;
};
struct Sidecars {
  std::vector<Sidecar> before_manifest;
  std::vector<Sidecar> after_manifest;  // for readers that take a file's existence as completeness
};

/// The second pass of a Sink stage that publishes shards: made once all pieces are complete.
/// Immutable after planning; Run is called from several threads with different groups.
class Publication {
 public:
  virtual ~Publication() = default;
  /// Every shard, by split and number. Depends on the pieces and the stage's configuration alone.
  virtual const std::vector<Shard>& shards() const = 0;
  /// Shards that are best written together, as positions in shards(). The grouping may depend on
  /// memory; the bytes do not.
  virtual std::vector<std::vector<std::size_t>> Groups(std::uint64_t memory_bytes) const = 0;
  /// Writes those shards of `group` that are `wanted`, each with create-only or replacing commits
  /// as `condition` says, and calls `committed` after each in order.
  virtual Status Run(const std::vector<std::size_t>& group,
                     const std::function<bool(std::size_t shard)>& wanted,
                     const std::function<Condition(const std::string& object)>& condition, Store& out,
                     const std::function<Status(std::size_t shard, const ShardOutput&)>& committed,
                     std::uint64_t memory_bytes, std::stop_token stop) const = 0;
  /// The objects that describe the finished whole; `outputs` is parallel to shards().
  virtual Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const = 0;
};

class SinkStage {
 public:
  virtual ~SinkStage() = default;
  /// The last Transform of the chain, which fills batch.payload in parallel; null where the Sink
  /// takes the columns themselves.
  virtual const Transform* encoder() const = 0;
  /// Opens the place of one partition in `artifact`, the stage's directory for pieces.
  virtual Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const = 0;
  /// Bytes of memory that one open partition of so much text may take, beside the batches.
  virtual std::uint64_t partition_memory(std::uint64_t text_bytes) const = 0;
  /// The second pass over `pieces` (by id); null where the pieces are the artifact.
  virtual Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                                    const std::vector<Piece>& pieces) const = 0;
};

// ------------------------------------------------------------------------------------------- Job
/// What a Job is given. Everything outlives the call of Run.
struct JobRequest {
  /// The records of the stage's input, all partitions in order, as one Source that is read once. May be
  /// called again; null for a stage whose input is not records. kDataLoss: a partition is damaged.
  std::function<Result<std::unique_ptr<Source>>()> open_records;
  ArtifactTotals input;  // of those records
  Store* out = nullptr;  // where the artifact lies: `out` of the stage, or the work directory
  std::string out_uri;   // its root as a person writes it, perhaps relative
  Digest recipe;         // of the stage; equal for another value of a key with Effect::kContinue
  std::function<Condition(const std::string& object)> condition;  // of each object it commits
  std::string scratch;             // path of an empty directory of its own, removed afterwards
  std::uint64_t memory_bytes = 0;  // what it said it would take is no more than this
  int threads = 1;
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  // bytes; `of` 0 if unknown
  std::function<void(std::string_view line)> say = {};  // how it goes, in words; the next line replaces it
  std::stop_token stop;
};

struct JobOutput {
  std::vector<StoredObject> objects;  // committed, in the order of the manifest
  Json facts;                         // an object of a few values, kept in the manifest for readers
};

/// A step that wants whole artifacts: the same give the same objects. Has a thread of its own, which may
/// block; looks at its stop token at least twice a second.
class JobStage {
 public:
  virtual ~JobStage() = default;
  /// Bytes of memory that it takes for such an input. Asked first: what exceeds the limit is not begun.
  virtual Result<std::uint64_t> Memory(const ArtifactTotals& input) const = 0;
  virtual Result<JobOutput> Run(const JobRequest& request) const = 0;
};

// ---------------------------------------------------------------------------------------- Gather
/// What is read of a GatherStage once all its pieces stand.
struct GatherRequest {
  Store* artifact = nullptr;  // the directory of its pieces
  std::vector<Piece> pieces;  // by id
  std::function<bool(std::uint32_t partition)> wanted;
  std::size_t batch_bytes = 256 << 10;
  std::stop_token stop;
};

/// A stage that looks at all records before it gives any: takes them in as a Sink, and gives them on as one
/// input, number 0, with partitions of its own.
class GatherStage {
 public:
  virtual ~GatherStage() = default;
  virtual Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const = 0;
  /// As SinkStage::partition_memory.
  virtual std::uint64_t partition_memory(std::uint64_t text_bytes) const = 0;
  /// What it gives depends on the pieces and its configuration alone: every column of the schema that comes
  /// in. DamagedPiece (dag/piece.h) names a piece that is missing or differs from what was written.
  virtual Result<std::unique_ptr<Source>> Open(GatherRequest request) const = 0;
};

}  // namespace pipeline
