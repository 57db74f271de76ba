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
#include "records/batch.h"
#include "records/transform.h"

namespace pipeline {

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

/// How many of the records of one input may be at fault.
struct FaultBound {
  std::string_view key;                   // of the stage, which sets it
  std::string_view noun;                  // what one of the records is called
  std::vector<std::string_view> reasons;  // for which one is at fault, counted together
  double share = 1;                       // of the records that were taken in
  bool is_row = false;                    // each record is a document, and is told by its number in the input
  /// How to mend them, where it is worth more words than "mend it": some of them, one a line, are `sample`.
  std::function<std::string(std::string_view sample)> advice = {};
};

class SourceStage {
 public:
  virtual ~SourceStage() = default;
  virtual Result<std::unique_ptr<Source>> Open(SourceRequest request) const = 0;
  /// The part of reading that needs no order (repairing UTF-8): runs first in the parallel chain
  /// and counts as stage 0, like the Source. Null where there is none.
  virtual const Transform* repair() const { return nullptr; }
  /// What each input is held to while it is read, and all of them together in the end. Empty: to nothing.
  virtual std::vector<FaultBound> bounds() const { return {}; }
  /// As Transform::Judge.
  virtual Status Judge(const ArtifactTotals&) const { return {}; }
};

}  // namespace pipeline
