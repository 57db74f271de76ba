// A file whose bytes are compared, range by range, with the digests that were taken when it was read first.
// See storage/digest_cache.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/result.h"

namespace pipeline {

/// A file is compared in ranges of this size; the last one may be shorter.
inline constexpr std::uint64_t kCheckedRange = 64 << 20;

/// The digests of all ranges of a file, in order.
using RangeDigests = std::vector<Digest>;

inline std::uint64_t RangesIn(std::uint64_t size) { return (size + kCheckedRange - 1) / kCheckedRange; }

/// Takes the digests of the ranges of a file whose bytes pass front to back.
class RangeHasher {
 public:
  void Update(std::string_view bytes);
  /// Returns the digests. No call may follow.
  RangeDigests Finish();

 private:
  Hasher hasher_;
  std::uint64_t in_range_ = 0;
  RangeDigests digests_;
};

/// A reader that passes over a whole range hashes what it gives, and fails at the end of the range if the
/// digest is another one. A range of which readers took parts is read beside them and compared: when one of
/// them leaves it at its end, else by CompareRest. Safe from any thread.
class CheckedFile final : public ByteFile {
 public:
  struct Watch {
    /// Returns the failure of all readers and of CompareRest: the bytes from `begin` to `end` are other ones.
    std::function<Status(std::uint64_t begin, std::uint64_t end)> differs;
    /// A range was compared, and its bytes are the same.
    std::function<void(std::uint64_t range)> same;
  };

  /// `digests` has those of all ranges of `file`.
  CheckedFile(std::unique_ptr<const ByteFile> file, RangeDigests digests, Watch watch);

  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// Compares each range in which bytes were read since it was compared, unless the reader left it at its
  /// end. Call it when reading has ended, or before bytes that were read so far are relied on. Not OK: the
  /// failure of `differs`, of reading, or kCancelled.
  Status CompareRest(std::stop_token stop) const;

 private:
  class Reader;
  /// kBegun: bytes were read since it was compared. kComparing: none were since its comparison began.
  enum class State : std::uint8_t { kUnread, kBegun, kComparing, kCompared };

  std::uint64_t EndOf(std::uint64_t range) const;
  void Begin(std::uint64_t range) const;
  Status Settle(std::uint64_t range, const Digest& found, bool hashed_by_reader) const;
  Status Compare(std::uint64_t range, std::stop_token stop) const;

  const std::unique_ptr<const ByteFile> file_;
  const RangeDigests digests_;
  const Watch watch_;
  mutable Mutex mutex_;
  mutable std::vector<State> states_ GUARDED_BY(mutex_);
  mutable Status failed_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
