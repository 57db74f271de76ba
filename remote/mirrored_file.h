// One file that lies at several addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "remote/ranged_file.h"
#include "remote/retry.h"

namespace pipeline {

/// Readers go on at the next address, at the byte where they are, when one fails; in a circle, for as long as
/// `means` allow without progress. An address that fails for good, or has a file of another size, is asked no
/// more. That the bytes are the same everywhere must be checked at the end: then see Distrust.
class MirroredFile final : public RangedFile {
 public:
  /// Asks the server of an address; fails soon where others stand behind it.
  using OpenAddress =
      std::function<Result<std::shared_ptr<const RangedFile>>(const std::string& url, std::stop_token stop)>;
  /// One line for people.
  using Note = std::function<void(std::string_view line)>;

  /// `urls` in the order in which they are asked, at least one. Nobody is asked before the first read.
  MirroredFile(std::vector<std::string> urls, std::uint64_t size, OpenAddress open, Note note,
               const RetryMeans& means = {});

  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  /// What came is not the file. Where all of it came from one address, that is asked no more. False: fetching
  /// it again would give the same.
  bool Distrust(bool all_came_from_here);

 private:
  class Reader;
  struct Address {
    std::string url;
    std::shared_ptr<const RangedFile> file;  // null before it was asked, and where it has changed
    Status dead;                             // why it is asked no more
    bool gave = false;                       // bytes, since the last Distrust
  };

  Result<std::shared_ptr<const RangedFile>> FileAt(std::size_t address, std::stop_token stop) const;
  std::size_t Current() const;
  /// Where to go on after `failure` of an address; absent where none is left.
  std::optional<std::size_t> After(std::size_t address, const Status& failure) const;
  void Gave(std::size_t address) const;

  const std::uint64_t size_;
  const OpenAddress open_;
  const Note note_;
  const RetryMeans means_;
  mutable std::mutex mutex_;  // for what follows
  mutable std::vector<Address> addresses_;
  mutable std::size_t current_ = 0;
  std::size_t mixed_ = 0;  // how often the bytes of several were not the file
};

}  // namespace pipeline
