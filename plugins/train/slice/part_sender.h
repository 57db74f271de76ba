// Sends this host's parts of checkpoints to the location that all hosts share. hosts/checkpoints.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "plugins/native/services.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/hosts/host_card.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

/// A thread sends one part at a time: its files, then its record. Every function may be called from any
/// thread and returns at once, except the destructor, which ends after the file that is being sent.
class PartSender {
 public:
  /// `uri`: of checkpoints/. The references outlive it.
  PartSender(std::string uri, const RunDirectory& directory, const PluginServices& call);

  /// Asks for the part of this checkpoint, if it is on this disk. Another checkpoint replaces it.
  void Send(const LocalCheckpoint& checkpoint);
  /// True if the record of this host's part of it is written.
  bool Sent(const LocalCheckpoint& checkpoint) const;

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // step, attempt
  void Loop(const std::stop_token& stop);
  Status SendPart(const Key& key, const std::stop_token& stop);
  /// Links the files of the part, and compares them with their digests.
  Status Link(const LocalPart& part, const std::string& outgoing) const;
  bool Wanted(const Key& key) const;

  const RunDirectory& directory_;
  const PluginServices& call_;
  const PluginStorage& storage_;
  BucketCheckpoints bucket_;  // for the thread

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::optional<Key> wanted_ GUARDED_BY(mutex_);
  std::optional<Key> sent_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

}  // namespace pipeline
