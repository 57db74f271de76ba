// The plugins of one command: the search directories, and the services that plugins get.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cli/terminal/event_file.h"
#include "dag/progress.h"
#include "plugins/loader.h"
#include "plugins/plugin_stage.h"

namespace pipeline {

/// Loads a plugin when it is first requested: from the directories of PIPE_PLUGINS, from plugins/ beside the
/// program, or from ../lib/pipe/plugins.
class Plugins {
 public:
  Plugins();
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  PluginLoader& loader() { return loader_; }
  PluginStages& stages() { return stages_; }
  const PluginHost& host() const { return host_; }

  using OpenStoreAt = std::function<Result<std::unique_ptr<Store>>(const std::string& uri)>;
  /// Call before any job starts: gives plugins the stores of the run, so that their uploads to a bucket are
  /// spooled and swept with the others.
  void StoreWith(OpenStoreAt open) { host_.open_store = std::move(open); }
  /// Call before any job starts: sends events of jobs to `events` and notes to `progress`. Both outlive the
  /// jobs.
  void TellTo(EventFile& events, Progress& progress);
  /// The second half of TellTo.
  void ShowNotes(Progress& progress);

 private:
  PluginHost host_;
  PluginLoader loader_;
  PluginStages stages_;
};

}  // namespace pipeline
