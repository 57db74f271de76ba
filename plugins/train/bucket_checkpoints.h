// The checkpoints of a run that lie in a bucket: CONTRACT.md, section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/host_storage.h"

namespace pipeline {

/// One writer at a time: whoever holds the run. One thread at a time.
class BucketCheckpoints {
 public:
  /// `uri`: of checkpoints/. `storage` outlives it.
  BucketCheckpoints(std::string uri, std::int64_t keep, const HostStorage& storage);

  /// Those with a marker, newest first, as they lie there now.
  Result<std::vector<CheckpointName>> Committed();
  /// Its marker, held against the objects that Committed saw. kDataLoss: it cannot be used, and is not
  /// counted among those that are kept any more.
  Result<CheckpointMarker> Open(const CheckpointName& name);
  /// From now on it counts as one that cannot be used.
  void Pass(const CheckpointName& name) { unusable_.insert(name.Path()); }

  /// Of those that Committed saw, which are kept under a name, by step: one for each name.
  Result<std::vector<CheckpointName>> Pinned();
  /// The names that one which Committed saw is pinned under.
  Result<std::vector<std::string>> PinsOf(const CheckpointName& name);

  /// Brings the files below `directory`, which nobody changes meanwhile, then the marker. What lies there
  /// already of the same checkpoint is not sent again; its marker is replaced where it is pinned otherwise
  /// now. kCancelled once `give_up` says so.
  Status Commit(const CheckpointMarker& marker, const std::string& directory,
                const std::function<bool()>& give_up);
  /// Removes all but the newest `keep` and those that are pinned, and what never became one. After a Commit.
  Status Prune();
  /// Removes those of later steps, which are not gone on from; the newest that is left.
  Result<CheckpointName> RemoveBeyond(std::int64_t step);

  std::string Uri(const CheckpointName& name) const { return uri_ + "/" + name.Path(); }
  const std::string& uri() const { return uri_; }

 private:
  Status Look();
  /// The newest with each name, of `committed`, which are newest first.
  Result<std::map<std::string, CheckpointName>> PinnedOf(const std::vector<CheckpointName>& committed);
  Status Mark(const CheckpointMarker& marker);
  Status Unpin(const CheckpointName& name, const std::map<std::string, CheckpointName>& pinned);
  Status RemoveAllBut(const std::vector<CheckpointName>& committed, const std::set<std::string>& kept);

  const std::string uri_;
  const std::size_t keep_;
  const HostStorage& storage_;
  std::map<std::string, std::uint64_t> objects_;          // ours, below uri_, as Look saw them
  std::set<std::string> unusable_;                        // paths of checkpoints
  std::map<std::string, std::vector<std::string>> pins_;  // by path, as far as markers were read
};

}  // namespace pipeline
