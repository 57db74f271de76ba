// One job of a plugin: what it is asked, and what becomes of its answer.
#pragma once

#include <memory>
#include <string>

#include "plugins/plugin.h"
#include "plugins/plugin_stage.h"
#include "spec/registry.h"

namespace pipeline {

/// The members of a request that `check` and `forecast` get: type, version, config.
Json PluginRequest(const StageType& type, const Json& config);

/// `type` is one of `plugin`'s. All but `context` outlive the job.
std::unique_ptr<JobStage> MakePluginJob(std::shared_ptr<const Plugin> plugin, const StageType& type,
                                        const StageContext& context, const PluginHost& host);

}  // namespace pipeline
