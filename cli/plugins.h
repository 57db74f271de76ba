// The plugins of one command: where they are looked for, and what they are given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/event_file.h"
#include "dag/progress.h"
#include "plugins/loader.h"
#include "plugins/plugin_stage.h"

namespace pipeline {

/// PIPE_PLUGINS, then plugins/ beside the program, then ../lib/pipe/plugins; the program itself is the probe.
PluginPlaces PluginPlacesOfProgram();

/// Loads nothing before it is asked.
class Plugins {
 public:
  Plugins();
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  PluginLoader& loader() { return loader_; }
  PluginStages& stages() { return stages_; }
  const PluginHost& host() const { return host_; }

  using OpenStoreAt = std::function<Result<std::unique_ptr<Store>>(const std::string& uri)>;
  /// Before any job starts: from now on its stores are those of the run, so that what it sends to a bucket is
  /// spooled and swept with the rest.
  void StoreWith(OpenStoreAt open) { host_.open_store = std::move(open); }
  /// From now on events of jobs go to `events`, and notes to `progress`. Both outlive the jobs; before any
  /// starts.
  void TellTo(EventFile& events, Progress& progress);

 private:
  PluginHost host_;
  PluginLoader loader_;
  PluginStages stages_;
};

}  // namespace pipeline
