// A file of another machine that can be read here while it is still arriving.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/result.h"
#include "remote/checksum_hasher.h"
#include "remote/part_file.h"

namespace pipeline {

struct Arrival {
  std::string name;                     // for messages: a URL without what must stay secret
  std::string path;                     // of the part file
  std::string identity;                 // of this state of the remote file
  bool whole_first = false;             // nothing is given before all of it is here and checked
  std::optional<std::uint32_t> crc32c;  // of the whole, where its server said what it must be
  std::optional<Checksum> pin = {};     // of the whole, where a person said it; as `whole_first`
  /// Asked where the whole is not what it is pinned to: whether fetching it again may give another. Empty:
  /// no.
  std::function<bool(bool all_came_now)> distrust = {};
  /// What a reader far ahead reads from; null: the remote file.
  std::shared_ptr<const ByteFile> ahead = {};
  /// Told by the arriving thread at its start, after each piece and at its end: bytes here, of all. May be
  /// empty.
  std::function<void(std::uint64_t here, std::uint64_t of, bool ended)> progress = {};
};

/// A thread of its own fetches the file front to back into a part file and ends with the object; the next one
/// of the same identity goes on from there. Readers are given what is here, wait for the rest, and fetch for
/// themselves what lies at the far end (the index of an archive). Safe from any thread.
class ArrivingFile final : public ByteFile {
 public:
  /// `remote` resumes by itself where a transfer broke off, and fails for good otherwise.
  static Result<std::unique_ptr<ArrivingFile>> Begin(std::shared_ptr<const ByteFile> remote, Arrival arrival);
  ~ArrivingFile() override;

  std::uint64_t size() const override { return remote_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// Until the whole file is here and is what it should be; or why it never will be. kDataLoss: its crc32c or
  /// what it is pinned to is another; the next one fetches it anew.
  Status WaitUntilWhole(std::stop_token stop) const;

 private:
  class Reader;

  ArrivingFile(std::shared_ptr<const ByteFile> remote, Arrival arrival, std::unique_ptr<PartFile> part);
  void Fetch(std::stop_token stop);
  Status FetchWhole(std::stop_token stop);
  Status FetchRest(std::optional<ChecksumHasher>& hasher, std::stop_token stop);
  Status HashWhatIsHere(ChecksumHasher& hasher, const std::stop_token& stop) const;
  Status CheckWhole();
  void Publish(std::uint64_t bytes);

  const std::shared_ptr<const ByteFile> remote_;
  const Arrival arrival_;
  const std::unique_ptr<PartFile> part_;

  mutable std::mutex mutex_;  // for what follows
  mutable std::condition_variable_any changed_;
  std::uint64_t here_ = 0;  // bytes that readers may take from the part file
  bool ended_ = false;      // the thread has; `failure_` says how
  Status failure_;

  std::jthread thread_;  // last: it uses what stands above
};

}  // namespace pipeline
