// One job of a plugin: makes its request and handles its answer.
#pragma once

#include <memory>

#include "dag/pipeline_file/stage_type.h"
#include "dag/records/job_stage.h"
#include "plugins/native/plugin.h"
#include "plugins/plugin_stage.h"

namespace pipeline {

/// The request members for `check` and `forecast`: type, version, config.
Json PluginRequest(const StageType& type, const Json& config);

/// `type` belongs to `plugin`. All arguments except `context` outlive the job.
std::unique_ptr<JobStage> MakePluginJob(std::shared_ptr<const Plugin> plugin, const StageType& type,
                                        const StageContext& context, const PluginHost& host);

}  // namespace pipeline
