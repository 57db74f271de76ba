// The checkpoints of a run in a bucket: CONTRACT.md, section 10.
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

/// One writer at a time: the holder of the run's lease. One thread at a time.
class BucketCheckpoints {
 public:
  /// `uri`: of checkpoints/. `storage` outlives it.
  BucketCheckpoints(std::string uri, std::int64_t keep, const HostStorage& storage);

  /// Lists the checkpoints that have a marker, newest first, as they exist now.
  Result<std::vector<CheckpointName>> Committed();
  /// Reads the marker and compares it with the objects that Committed saw. kDataLoss: the checkpoint is
  /// unusable, and no longer counts as kept.
  Result<CheckpointMarker> Open(const CheckpointName& name);
  /// Marks a checkpoint as unusable.
  void Pass(const CheckpointName& name) { unusable_.insert(name.Path()); }

  /// The pinned checkpoints among those that Committed saw, by step: one per pin name.
  Result<std::vector<CheckpointName>> Pinned();
  /// The pin names of a checkpoint that Committed saw.
  Result<std::vector<std::string>> PinsOf(const CheckpointName& name);

  /// Uploads the files below `directory`, which must not change meanwhile, then the marker. Objects of the
  /// same checkpoint that already exist are not sent again; its marker is replaced if the pins differ.
  /// kCancelled once `give_up` returns true.
  Status Commit(const CheckpointMarker& marker, const std::string& directory,
                const std::function<bool()>& give_up);
  /// Call after Commit. Removes all checkpoints except the newest `keep` and the pinned ones, and the
  /// objects of incomplete ones.
  Status Prune();
  /// Removes the checkpoints of later steps, because the training resumes before them; returns the newest
  /// one left.
  Result<CheckpointName> RemoveBeyond(std::int64_t step);

  std::string Uri(const CheckpointName& name) const { return uri_ + "/" + name.Path(); }
  const std::string& uri() const { return uri_; }

 private:
  Status Look();
  /// The newest checkpoint for each pin name. `committed`: newest first.
  Result<std::map<std::string, CheckpointName>> PinnedOf(const std::vector<CheckpointName>& committed);
  Status Mark(const CheckpointMarker& marker);
  Status Unpin(const CheckpointName& name, const std::map<std::string, CheckpointName>& pinned);
  Status RemoveAllBut(const std::vector<CheckpointName>& committed, const std::set<std::string>& kept);

  const std::string uri_;
  const std::size_t keep_;
  const HostStorage& storage_;
  std::map<std::string, std::uint64_t> objects_;          // ours, below uri_, as Look saw them
  std::set<std::string> unusable_;                        // paths of checkpoints
  std::map<std::string, std::vector<std::string>> pins_;  // by path; only for markers read so far
};

}  // namespace pipeline
