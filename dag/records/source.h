// A stage that reads whole files and gives their records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/transform.h"

namespace pipeline {

/// Reads the records of one input, in order. One thread at a time. Checks its stop token at least once per
/// MiB, also while it skips unwanted data, and then returns kCancelled.
class Source {
 public:
  virtual ~Source() = default;
  /// Refills an empty `batch` with records of one partition and its counts[0]; false: the end of the input.
  /// The last batch of a partition has `closes`. Unwanted partitions have no batch. After an error no
  /// function may be called.
  virtual Result<bool> Next(Batch& batch) = 0;
  /// Valid after Next returned false. Absent: the Source stopped early, after the last wanted partition.
  virtual std::optional<InputEnd> End() const = 0;
  /// True: one thread of the Source decodes the whole input, and no unit is faster than that thread. The
  /// same answer always, from any thread.
  virtual bool decodes_on_one_thread() const { return false; }
  /// Bytes of the decoded input, if a reader can begin at any of its partitions without decoding much of what
  /// comes before. Absent: it cannot, as far as this Source knows now; the answer may become absent while it
  /// reads.
  virtual std::optional<std::uint64_t> bytes_to_cut() const { return std::nullopt; }
  /// Valid as End and in SourceRequest::passed, if bytes_to_cut() is present: what a reader of one partition
  /// would otherwise have to look for in the bytes before it. For SourceRequest::note of the same type and
  /// configuration.
  virtual std::string note() const { return {}; }
  /// The same about the text before `raw_end`, where a partition that Next has closed ends; the same for any
  /// reader of the input. Empty: a reader that begins there has nothing to look for. Safe from any thread.
  virtual std::string note_before(std::uint64_t) const { return {}; }
};

/// The ends of the first partitions of an input, which a Source has passed over.
struct InputCuts {
  std::vector<PartitionEnd> ends;
  std::string note;             // Source::note()
  std::optional<InputEnd> end;  // of the input; absent: it may have further partitions

  std::optional<PartitionEnd> EndOf(std::uint32_t partition) const {
    return partition < ends.size() ? std::optional(ends[partition]) : std::nullopt;
  }
};

/// One input of a Source stage, open for reading.
struct InputFile {
  std::string name;                      // last part of a path or URL: for messages, and to guess the format
  std::shared_ptr<const ByteFile> file;  // shared by the units that read it at the same time
};

/// Request of the executor for one input.
struct SourceRequest {
  InputFile input;
  std::uint32_t number = 0;                             // IIII
  std::function<bool(std::uint32_t partition)> wanted;  // safe from any thread
  /// Highest wanted partition, if an earlier run knows the end of the input.
  std::optional<std::uint32_t> last_wanted;
  /// End of partition p, if an earlier run logged it: a seekable input may start there.
  std::function<std::optional<PartitionEnd>(std::uint32_t partition)> known_end;
  bool IsPastLast(std::uint32_t partition) const { return last_wanted && partition > *last_wanted; }
  std::optional<PartitionEnd> KnownEnd(std::uint32_t partition) const {
    return known_end ? known_end(partition) : std::nullopt;
  }
  /// Called with the end of each partition that is passed over, in order; a failure ends the reading. Null:
  /// nobody asks.
  std::function<Status(std::uint32_t partition, const PartitionEnd& end)> passed;
  /// Source::note() of an earlier run, about the text up to the known ends. Absent: there is none.
  std::optional<std::string> note;
  std::size_t batch_bytes = 256 << 10;       // target; one longer record is a batch of its own
  int decoder_threads = 1;                   // for inputs that can be decoded in parallel
  std::uint64_t decoder_memory = 256 << 20;  // bytes for the buffers of those threads
  bool is_small = false;  // its bytes are few: a thread to read and decode them would cost more than that
  std::stop_token stop;
};

/// Limit for faulty records in one input.
struct FaultBound {
  std::string_view key;                   // key of the stage that sets the limit
  std::string_view noun;                  // name of one record in messages
  std::vector<std::string_view> reasons;  // reasons that make a record faulty, counted together
  double share = 1;                       // largest share of faulty records, and of their bytes
  bool is_row = false;                    // each record is a document; messages give its number
  /// Returns advice about records of one of the reasons; `sample` has some of them, one per line. Empty:
  /// "mend it" is enough.
  std::function<std::string(std::string_view reason, std::string_view sample)> advice = {};
  std::string_view lacks = {};  // what the records are without; empty: they are at fault
};

/// A column that some record of each input has, or its name is wrong.
struct NeededColumn {
  std::string reason;  // for records without it; the first of a partition are in the quarantine
  std::string column;  // "column 'body'"
  std::string noun;    // of one record
  std::vector<std::string_view> unseen;  // reasons for records of which this is not known
  /// Returns which columns there are; `sample`: some records without it, each with an LF.
  std::function<std::string(std::string_view sample)> advice;
};

class SourceStage {
 public:
  virtual ~SourceStage() = default;
  virtual Result<std::unique_ptr<Source>> Open(SourceRequest request) const = 0;
  /// Part of reading that needs no order (UTF-8 repair). Runs first in the parallel chain and counts as
  /// stage 0, like the Source. Null: none.
  virtual const Transform* repair() const { return nullptr; }
  /// By partition that `cuts` have or end before: true if a reader of it would decode once more what a reader
  /// of the one before has decoded, so that one unit makes both. Empty: all are false.
  virtual std::vector<bool> joined(const InputCuts&) const { return {}; }
  /// Limits for each input while it is read, and for all inputs together at the end. Empty: none.
  virtual std::vector<FaultBound> bounds() const { return {}; }
  /// As Transform::CheckCounts.
  virtual Status CheckCounts(const ArtifactTotals&) const { return {}; }
  /// Checked at the end of each input. Empty: none.
  virtual std::vector<NeededColumn> needed() const { return {}; }
  /// Returns the number of the line, from 1, at which record `index` of a partition begins, for messages.
  /// Absent: it is not known, because the input has no lines, is an archive or cannot be read, or because the
  /// record stands far behind its front.
  virtual std::optional<std::uint64_t> LineOf(const InputFile&, PartitionId, std::uint64_t /*index*/,
                                              const std::stop_token&) const {
    return std::nullopt;
  }
};

}  // namespace pipeline
