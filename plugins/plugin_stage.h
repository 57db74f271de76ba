// A plugin's stage as a stage type of ours.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "plugins/loader.h"
#include "spec/registry.h"
#include "storage/store.h"

namespace pipeline {

/// What the program gives to all plugins. Its functions are called from any thread.
struct PluginHost {
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store;
  std::function<void(Level level, std::string_view line)> log;
  /// An event of a job, for the run's own file; empty: nobody keeps them.
  std::function<void(std::string_view stage, const Json& event)> event = {};
  /// The text of a `note`, for whoever looks on; empty: nobody does.
  std::function<void(std::string_view stage, std::string_view text)> note = {};
};

/// The stage types that the pipeline file asks for with `plugin: NAME`. One thread at a time; what it gives
/// stays where it is, and refers to it.
class PluginStages {
 public:
  /// `loader` and `host` outlive it, and every stage that is made of its types.
  PluginStages(PluginLoader& loader, const PluginHost& host) : loader_(loader), host_(host) {}
  PluginStages(const PluginStages&) = delete;
  PluginStages& operator=(const PluginStages&) = delete;

  /// The type that the plugin calls `type`; a message says which there are.
  Result<const StageType*> Find(const std::string& plugin, const std::string& type);

 private:
  PluginLoader& loader_;
  const PluginHost& host_;
  std::deque<StageType> types_;
};

}  // namespace pipeline
