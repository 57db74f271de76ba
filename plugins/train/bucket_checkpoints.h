// The checkpoints of a run in a bucket, and how one becomes a checkpoint of this disk: CONTRACT.md,
// section 10.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/object_files.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// One writer at a time: the holder of the run's lease. One thread at a time.
class BucketCheckpoints {
 public:
  /// `uri`: of checkpoints/. `storage` outlives it.
  BucketCheckpoints(std::string uri, std::int64_t keep, const PluginStorage& storage);

  /// Lists the checkpoints that have a marker, newest first, as they exist now.
  Result<std::vector<CheckpointName>> Committed();
  /// Reads the marker and compares it with the objects that Committed saw. kDataLoss: the checkpoint is
  /// unusable, and no longer counts as kept.
  Result<CheckpointMarker> Open(const CheckpointName& name);
  /// False: it is known as unusable, by this object or by a host that said so with Condemn.
  bool Usable(const CheckpointName& name) const { return !unusable_.contains(name.Path()); }
  /// Tells all hosts that the checkpoint is damaged, by an object beside its marker.
  Status Condemn(const CheckpointName& name);
  /// Marks a checkpoint as unusable, for this object.
  void Pass(const CheckpointName& name) { unusable_.insert(name.Path()); }

  /// The pinned checkpoints among those that Committed saw, by step: one per pin name.
  Result<std::vector<CheckpointName>> Pinned();
  /// The pin names of a checkpoint that Committed saw.
  Result<std::vector<std::string>> PinsOf(const CheckpointName& name);

  /// Uploads the files below `directory`, which must not change meanwhile, then the marker. Objects of the
  /// same checkpoint that already exist are not sent again; its marker is replaced if the pins differ.
  /// kCancelled once `give_up` returns true. `before_marker`: called when the files are there.
  Status Commit(const CheckpointMarker& marker, const std::string& directory,
                const std::function<bool()>& give_up, const std::function<void()>& before_marker = {});
  /// Uploads the files of a host's part likewise, then its record. kDataLoss: another start of this host has
  /// sent another part.
  Status SendPart(const PartRecord& record, const std::string& directory,
                  const std::function<bool()>& give_up);
  /// Writes the marker of a checkpoint whose parts the hosts have sent, if it is not there yet.
  Status MarkParts(const CheckpointMarker& marker);
  /// Copies the newest usable checkpoint of a single host below `directory`, RUN/checkpoints, and the pinned
  /// ones, except those that are here: hosts/checkpoints.md, "Restoring". OK also if there are none.
  /// kDataLoss: there are some, and all are damaged or without a list of their files.
  Status CopyFrom(const std::string& directory, const PluginServices& call);
  /// From now on nothing of these steps is removed, and no object without a marker from `unmarked_from` on:
  /// other hosts read them, or send them.
  void Protect(std::set<std::int64_t> steps, std::int64_t unmarked_from);
  /// Call after Commit. Removes all checkpoints except the newest `keep` and the pinned ones, and the
  /// objects of incomplete ones.
  Status Prune();
  /// Removes the checkpoints of later steps, because the training resumes before them; returns the newest
  /// one left.
  Result<CheckpointName> RemoveBeyond(std::int64_t step);

  std::string Uri(const CheckpointName& name) const { return uri_ + "/" + name.Path(); }
  const std::string& uri() const { return uri_; }

 private:
  /// Lists the objects of a folder below uri_; empty: all.
  Status Look(const std::string& folder = {});
  /// Uploads the files that Look did not see, or saw with another length.
  Status Send(const std::string& folder, const std::vector<FileFacts>& files, const std::string& directory,
              const std::function<bool()>& give_up);
  /// kDataLoss names an object of the checkpoint that is gone or has another length.
  Status CheckObjects(const CheckpointMarker& marker) const;
  /// The facts of a marker that decide about removals.
  struct Known {
    std::vector<std::string> pins;
    std::vector<std::string> folders;  // of its files
  };
  /// Unreadable: no pins, and the folder of its own name.
  Result<Known> KnownOf(const CheckpointName& name);
  void Learn(const CheckpointMarker& marker);
  /// The newest checkpoint for each pin name. `committed`: newest first.
  Result<std::map<std::string, CheckpointName>> PinnedOf(const std::vector<CheckpointName>& committed);
  Status Mark(const CheckpointMarker& marker);
  /// The same, unless there is a marker with these pins.
  Status MarkChanged(const CheckpointMarker& marker);
  Status Unpin(const CheckpointName& name, const std::map<std::string, CheckpointName>& pinned);
  Status RemoveAllBut(const std::vector<CheckpointName>& committed, const std::set<std::string>& kept);

  const std::string uri_;
  const std::size_t keep_;
  const PluginStorage& storage_;
  std::map<std::string, std::uint64_t> objects_;  // ours, below uri_, as Look saw them
  std::map<std::string, std::int64_t> records_;   // steps of the part records, likewise
  std::set<std::string> unusable_;                // paths of checkpoints
  std::map<std::string, Known> known_;            // by path; only for markers read so far
  std::set<std::int64_t> protected_;              // steps
  std::int64_t unmarked_from_ = std::numeric_limits<std::int64_t>::max();
};

/// Decides about a file by its name in the checkpoint.
using FileTest = std::function<bool(const std::string& name)>;

/// Downloads the files of `marker` for which `wanted` is true (empty: all) into `directory`, with their
/// names; files that are there and correct are not downloaded again. `uri`: of checkpoints/. Errors as of
/// FetchFiles. Returns the bytes of these files.
Result<std::uint64_t> FetchCheckpoint(const CheckpointMarker& marker, const std::string& uri,
                                      const std::string& directory, const PluginServices& call,
                                      const FileTest& wanted = {},
                                      const std::function<bool()>& given_up = {});

/// With the id of a checkpoint behind it: the directory of the run directory into which it is downloaded.
inline constexpr const char* kIncoming = "incoming-";

/// True if the failure to open or to fetch a checkpoint shows that it can never be used.
inline bool IsUseless(const Status& failure) {
  return failure.code() == Code::kDataLoss || failure.code() == Code::kNotFound;
}

/// With the step behind it: where a directory lies until it is replaced.
inline constexpr const char* kAside = "aside-";
/// Ends what a kill inside InstallCheckpoint has left.
Status ReturnAside(const RunDirectory& run);

/// Replaces checkpoints/STEP of the run directory by the directory `incoming`, with `list` as STEP.json. A
/// kill leaves no new directory without its list.
Status InstallCheckpoint(const RunDirectory& run, std::int64_t step, const Json& list,
                         const std::string& incoming);

}  // namespace pipeline
