// One file that lies at several addresses.
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
#include "remote/ranged_file.h"
#include "remote/retry.h"

namespace pipeline {

/// Readers go on at the next address, at the byte where they are, when one fails; in a circle, for as long as
/// `means` allow without progress. An address that fails for good is asked no more; one that is slow is asked
/// again where no other is left, and then however slow it is. That the bytes are the same everywhere must be
/// checked at the end: then see Distrust. An address whose file has another size is passed over: see
/// TakeOtherSize.
class MirroredFile final : public RangedFile {
 public:
  /// Opens the file at an address, which should have `size` bytes. Not `is_last`: others stand behind it, so
  /// that it fails soon, and with SlowServer where it is slow.
  using OpenAddress = std::function<Result<std::shared_ptr<const RangedFile>>(
      const std::string& url, std::uint64_t size, bool is_last, std::stop_token stop)>;
  /// One line for people.
  using Note = std::function<void(std::string_view line)>;

  /// `urls` in the order in which they are asked, at least one. Nobody is asked before the first read.
  MirroredFile(std::vector<std::string> urls, std::uint64_t size, OpenAddress open, Note note,
               const RetryMeans& means = {});

  std::uint64_t size() const override { return size_; }
  /// While nobody reads: the size of this file is another from now on, the next one that an address named and
  /// that was not taken before. False: there is none.
  bool TakeOtherSize();
  /// The addresses that have the file encoded only.
  std::vector<std::string> EncodedAddresses() const;
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  /// What came is not the file. Where all of it came now, and from one address, that is asked no more. False:
  /// fetching it again would give the same.
  bool Distrust(bool all_came_from_here);

 private:
  class Reader;
  struct Address {
    std::string url;
    std::shared_ptr<const RangedFile> file;  // null before it was asked, and where it has changed
    Status dead;                             // why it is asked no more
    bool gave = false;                       // bytes, since the last Distrust
    bool slow = false;
    bool tolerated = false;                   // is asked however slow it is
    std::optional<std::uint64_t> other_size;  // that it named
  };

  Result<std::shared_ptr<const RangedFile>> FileAt(std::size_t address, std::stop_token stop) const;
  std::size_t Current() const;
  std::string UrlOf(std::size_t address) const;
  /// Where to go on after `failure` of an address; absent where none is left.
  std::optional<std::size_t> After(std::size_t address, const Status& failure) const;
  void Gave(std::size_t address) const;

  std::atomic<std::uint64_t> size_;
  const std::size_t count_;        // of addresses
  std::set<std::uint64_t> sizes_;  // that were taken
  const OpenAddress open_;
  const Note note_;
  const RetryMeans means_;
  mutable Mutex mutex_;
  mutable std::vector<Address> addresses_ GUARDED_BY(mutex_);
  mutable std::size_t current_ GUARDED_BY(mutex_) = 0;
  std::size_t mixed_ GUARDED_BY(mutex_) = 0;  // how often the bytes of several were not the file
};

}  // namespace pipeline
