// The download of one source file: which address is asked when, what is kept on disk, and what is fetched
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/local_input.h"
#include "storage/remote/download/paced_file.h"
#include "storage/remote/http/arriving_file.h"
#include "storage/remote/scheme/remote_file.h"

namespace pipeline {

/// What the downloads of a run share. It outlives them and the files that they open.
struct SharedDownloads {
  const std::string directory;  // of the part files; created at the first download
  const bool may_ask = true;    // false: no server is asked
  /// Prints one line for people. Called from any thread, as the next one is.
  const std::function<void(std::string_view line)> note;
  /// As Download::progress, of the source file `name`.
  const std::function<void(const std::string& name, std::uint64_t here, std::uint64_t of, bool ended)>
      arriving;
  const EncodedFile::UndoCoding undo;  // as EncodedFile has it

  const std::shared_ptr<ServerGate> gate = std::make_shared<ServerGate>();
  Mutex mutex{};
  std::map<std::uint64_t, std::shared_ptr<RateLimit>> rates GUARDED_BY(mutex) = {};  // by bytes a second
  /// By path of the part file, shared by the units that are reading it: a pinned file has one for all its
  /// addresses.
  std::map<std::string, std::weak_ptr<ArrivingFile>> files GUARDED_BY(mutex) = {};
};

/// One remote file, identified by its address, size and version, or by its checksum if it is pinned. It is
/// downloaded to a part file while it is read, and the next run resumes the download. Owned by shared
/// pointers. Safe from any thread after Look.
class SourceDownload final : public std::enable_shared_from_this<SourceDownload> {
 public:
  SourceDownload(SharedDownloads& shared, LocalInput input);

  /// Finds identity() and the other facts; call it first, once. If no server may be asked, they come from the
  /// journal of an earlier run; kUnavailable if there is none.
  Status Look(std::stop_token stop);
  const LocalInput& input() const { return input_; }
  const std::string& identity() const { return identity_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t here() const { return here_; }  // bytes that an earlier run downloaded

  /// Opens the file. It must be as Look saw it; otherwise kDataLoss.
  Result<std::shared_ptr<ByteFile>> Open(std::stop_token stop);
  /// Makes the next Open fetch the bytes again that `why` names: DamagedBytes, OtherBytes or NoRange. Calls
  /// `before` first. Works once per state of the file, over all runs: a note beside the part file records
  /// it. Returns `why`, perhaps with more words, if nothing is dropped.
  Status DropDamaged(const Status& why, const std::function<void()>& before);

 private:
  bool is_pinned() const { return !input_.checksum.empty(); }
  Status LookAtPinned(const std::optional<PartState>& before, std::stop_token stop);
  Result<RemoteFile> Ask(const std::string& url, Patience patience, std::stop_token stop) const;
  Result<std::shared_ptr<ArrivingFile>> Share(const RemoteFile& found);
  Result<std::shared_ptr<ArrivingFile>> Begin(const RemoteFile& found);
  std::shared_ptr<const RangedFile> BeginPinned(Download& download);
  std::shared_ptr<const RangedFile> Paced(std::shared_ptr<const RangedFile> file, const std::string& url,
                                          bool is_last, bool may_reconnect) const;
  std::unique_ptr<EncodedFile> Decoded(std::vector<std::string> urls, std::optional<HttpFacts> wanted) const;

  SharedDownloads& shared_;
  const LocalInput input_;
  const std::string part_;           // path of the part file
  std::shared_ptr<RateLimit> rate_;  // null: none
  std::string identity_;
  std::uint64_t size_ = 0;
  std::uint64_t here_ = 0;
  bool is_dropped_ GUARDED_BY(shared_.mutex) = false;  // its bytes here must be dropped before it is opened
  /// Downloaded again since it was dropped, perhaps by an earlier run.
  bool came_anew_ GUARDED_BY(shared_.mutex) = false;
  /// Dropped in this run, because the server has other bytes now.
  bool has_changed_ GUARDED_BY(shared_.mutex) = false;
};

}  // namespace pipeline
