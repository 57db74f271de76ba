// One file with several addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "storage/remote/http/ranged_file.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// If an address fails, readers continue at the next one, from the same byte, in a cycle, until `means`
/// allows no more attempts without progress. An address that fails for good is not asked again. A slow one
/// is asked again if no other is left, and is then accepted at any speed. The bytes may differ between
/// addresses, so the caller must check the whole file: see Invalidate. An address with another size is
/// skipped: see TakeOtherSize.
class MirroredFile final : public RangedFile {
 public:
  /// Opens the file at an address, which should have `size` bytes. If not `is_last`, others follow: it must
  /// fail soon, and with SlowServer if it is slow.
  using OpenAddress = std::function<Result<std::shared_ptr<const RangedFile>>(
      const std::string& url, std::uint64_t size, bool is_last, std::stop_token stop)>;
  /// Prints one line for people.
  using Note = std::function<void(std::string_view line)>;

  /// `urls`: tried in this order; at least one. Sends no request before the first read.
  MirroredFile(std::vector<std::string> urls, std::uint64_t size, OpenAddress open, Note note,
               const RetryMeans& means = {});

  std::uint64_t size() const override { return size_; }
  /// Call while nobody reads. Changes the size to the next size that an address named and that was not used
  /// before. False: there is none.
  bool TakeOtherSize();
  /// The addresses that serve the file only encoded.
  std::vector<std::string> EncodedAddresses() const;
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  /// Reports that the downloaded bytes are wrong. If all came in this download and from one address, that
  /// address is not asked again. False: another download would give the same bytes.
  bool Invalidate(bool all_came_from_here);

 private:
  class Reader;
  struct Address {
    std::shared_ptr<const RangedFile> file;  // null before it is opened, and after it changed
    Status dead;                             // why it is not asked again
    bool gave = false;                       // sent bytes since the last Invalidate
    bool slow = false;
    bool tolerated = false;                   // is asked even if it is slow
    std::optional<std::uint64_t> other_size;  // the size that it named
  };

  Result<std::shared_ptr<const RangedFile>> FileAt(std::size_t address, std::stop_token stop) const;
  std::size_t Current() const;
  /// The address to continue at after `failure`; absent: none is left.
  std::optional<std::size_t> After(std::size_t address, const Status& failure) const;
  void Gave(std::size_t address) const;

  std::atomic<std::uint64_t> size_;
  const std::vector<std::string> urls_;
  std::set<std::uint64_t> sizes_;  // sizes used so far
  const OpenAddress open_;
  const Note note_;
  const RetryMeans means_;
  mutable Mutex mutex_;
  mutable std::vector<Address> addresses_ GUARDED_BY(mutex_);  // by URL
  mutable std::size_t current_ GUARDED_BY(mutex_) = 0;
  std::size_t mixed_ GUARDED_BY(mutex_) = 0;  // how often bytes from several addresses were wrong
};

}  // namespace pipeline
