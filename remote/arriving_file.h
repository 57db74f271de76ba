// A file of another machine that can be read here while it is still arriving.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/mutex.h"
#include "base/result.h"
#include "remote/checksum_hasher.h"
#include "remote/encoded_file.h"
#include "remote/part_file.h"

namespace pipeline {

/// Why a reader failed: not for what the bytes are.
struct NotArrived final : StatusDetail {};

struct Arrival {
  std::string name;                     // for messages: a URL without what must stay secret
  std::string path;                     // of the part file
  std::string identity;                 // of this state of the remote file
  bool whole_first = false;             // nothing is given before all of it is here and checked
  std::optional<std::uint32_t> crc32c;  // of the whole, where its server said what it must be
  std::optional<Checksum> pin = {};     // of the whole, where a person said it; as `whole_first`
  /// The part file lies where others work, too: PartFile::OpenAmongOthers, and what an earlier process left
  /// is read again and held against its journal before it counts.
  bool among_others = false;
  /// Asked where the whole is not what it is pinned to: whether fetching it again may give another. Empty:
  /// no.
  std::function<bool(bool all_came_now)> distrust = {};
  /// Asked where what is pinned failed: whether the remote file has another size from now on, with which it
  /// is worth another attempt. Empty: no.
  std::function<bool()> resize = {};
  /// Asked where fetching failed: how the file can be had otherwise, whole and decoded; null: not at all. May
  /// be empty.
  std::function<std::unique_ptr<EncodedFile>(const Status& failure)> decoded = {};
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
  /// What is whole here stays, whatever size `remote` has.
  static Result<std::unique_ptr<ArrivingFile>> Begin(std::shared_ptr<const ByteFile> remote, Arrival arrival);
  ~ArrivingFile() override;

  /// Until size() is what it will stay: at once where all is here, for what is pinned or encoded when all of
  /// it is, else when the first byte came. Or why that will never be.
  Status WaitUntilSized(std::stop_token stop) const;
  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// Until the whole file is here and is what it should be; or why it never will be. kDataLoss: its crc32c or
  /// what it is pinned to is another; the next one fetches it anew.
  Status WaitUntilWhole(std::stop_token stop) const;

 private:
  class Reader;

  ArrivingFile(std::shared_ptr<const ByteFile> remote, Arrival arrival, std::unique_ptr<PartFile> part);
  void Fetch(std::stop_token stop);
  /// Drops what is kept and no longer what arrived.
  Status CheckKept(const std::stop_token& stop);
  Status FetchWhole(std::stop_token stop);
  Status FetchRest(std::optional<ChecksumHasher>& hasher, std::stop_token stop);
  /// All of it by `encoded`; what was here is dropped.
  Status FetchDecoded(EncodedFile& encoded, const std::stop_token& stop);
  std::unique_ptr<EncodedFile> Otherwise(const Status& failure) const;
  /// The crc32c of what is here; `hasher`, where there is one, takes the same bytes.
  Result<std::uint32_t> HashWhatIsHere(ChecksumHasher* hasher, const std::stop_token& stop) const;
  Status CheckWhole();
  void Publish(std::uint64_t bytes);

  const std::shared_ptr<const ByteFile> remote_;
  const Arrival arrival_;
  const std::unique_ptr<PartFile> part_;
  std::atomic<std::uint64_t> size_;

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::uint64_t here_ GUARDED_BY(mutex_) = 0;  // bytes that readers may take from the part file
  bool sized_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;  // the thread has; `failure_` says how
  Status failure_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last: it uses what stands above
};

}  // namespace pipeline
