// A remote file that can be read while it is being downloaded.
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
#include "storage/remote/http/checksum_hasher.h"
#include "storage/remote/http/encoded_file.h"
#include "storage/remote/http/part_file.h"

namespace pipeline {

/// A reader failed because the download failed, not because the bytes are bad.
struct NotArrived final : StatusDetail {};

struct Download {
  std::string name;                     // for messages: a URL without secrets
  std::string path;                     // of the part file
  std::string identity;                 // names this state of the remote file
  bool whole_first = false;             // readers get nothing until the file is complete and checked
  std::optional<std::uint32_t> crc32c;  // of the whole file, if its server named it
  std::optional<Checksum> pin = {};     // of the whole file, as the user gave it; implies `whole_first`
  /// The part file is in a directory that others use, too: opened by PartFile::OpenAmongOthers, and bytes
  /// of an earlier process are compared with its journal before use.
  bool among_others = false;
  /// Called if the whole file does not match `pin`. True: another download may give other bytes. Empty:
  /// never.
  std::function<bool(bool all_came_now)> invalidate = {};
  /// Called if the download of a pinned file failed. True: the remote file now has another size and another
  /// attempt is worth it. Empty: never.
  std::function<bool()> resize = {};
  /// Called if the download failed; returns another way to get the whole file, decoded. Null: there is
  /// none. May be empty.
  std::function<std::unique_ptr<EncodedFile>(const Status& failure)> decoded = {};
  /// Source for reads near the end of the file while the front is downloading; null: the remote file.
  std::shared_ptr<const ByteFile> ahead = {};
  /// Called by the download thread at its start, after each read and at its end, with the bytes here and
  /// the total size. May be empty.
  std::function<void(std::uint64_t here, std::uint64_t of, bool ended)> progress = {};
};

/// A thread downloads the file front to back into a part file; it stops when the object is destroyed, and
/// the next object with the same identity resumes. Readers get the bytes that are here, wait for the
/// others, and fetch the last MiB themselves (the index of an archive). Safe from any thread.
class ArrivingFile final : public ByteFile {
 public:
  /// `remote` resumes broken transfers itself; its errors are final. A complete part file of this identity
  /// is kept, whatever size `remote` has.
  static Result<std::unique_ptr<ArrivingFile>> Begin(std::shared_ptr<const ByteFile> remote,
                                                     Download download);
  ~ArrivingFile() override;

  /// Waits until size() is final. A complete file: at once. A pinned or encoded file: when it is complete.
  /// Other files: when the first byte arrived. Returns the error if the download fails.
  Status WaitUntilSized(std::stop_token stop) const;
  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// Waits until the file is complete and checked, or returns the error. kDataLoss: the crc32c or `pin`
  /// does not match, and the next object downloads the file again.
  Status WaitUntilWhole(std::stop_token stop) const;

 private:
  class Reader;

  ArrivingFile(std::shared_ptr<const ByteFile> remote, Download download, std::unique_ptr<PartFile> part);
  void Fetch(std::stop_token stop);
  /// Compares the kept bytes with their journal and drops them if they differ.
  Status CheckKept(const std::stop_token& stop);
  /// Opens the remote file where the kept bytes end. If an earlier process downloaded them, their end is
  /// fetched again and compared first.
  Result<std::unique_ptr<ByteReader>> OpenRest(std::stop_token stop);
  Status FetchWhole(std::stop_token stop);
  Status FetchRest(std::optional<ChecksumHasher>& hasher, std::stop_token stop);
  /// Downloads the whole file through `encoded`, after dropping the bytes that are here.
  Status FetchDecoded(const EncodedFile& encoded, const std::stop_token& stop);
  std::unique_ptr<EncodedFile> Otherwise(const Status& failure) const;
  /// Returns the crc32c of the bytes that are here; also feeds them to `hasher` unless it is null.
  Result<std::uint32_t> HashWhatIsHere(ChecksumHasher* hasher, const std::stop_token& stop) const;
  Status CheckWhole();
  void Publish(std::uint64_t bytes);

  const std::shared_ptr<const ByteFile> remote_;
  const Download download_;
  const std::unique_ptr<PartFile> part_;
  std::uint64_t unproved_;  // kept bytes that the server has not shown to be of the version that it names
  std::atomic<std::uint64_t> size_;

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::uint64_t here_ GUARDED_BY(mutex_) = 0;  // bytes that readers may take from the part file
  bool sized_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;  // the thread ended; `failure_` has its outcome
  Status failure_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last: it uses the members above
};

}  // namespace pipeline
