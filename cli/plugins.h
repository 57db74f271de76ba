// The plugins of one command: where they are looked for, and what they are given.
#pragma once

#include <memory>
#include <string>
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

  /// From now on events of jobs go to `events`, and notes to `progress`. Both outlive the jobs; before any
  /// starts.
  void TellTo(EventFile& events, Progress& progress);

 private:
  PluginHost host_;
  PluginLoader loader_;
  PluginStages stages_;
};

}  // namespace pipeline
