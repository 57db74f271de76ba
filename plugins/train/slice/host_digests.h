// Digests by which the hosts of a training recognise that they run the same programs.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "plugins/train/train_job.h"

namespace pipeline {

/// "program": `pipe`, this plugin and the trainer's code; "environment": the requirements and the version of
/// Python; "reader": the library that reads rows; "recipe": of the stage; "data": the manifest of the rows.
Result<std::map<std::string, std::string>> HostDigests(const TrainJob& job, const std::string& data_manifest);

}  // namespace pipeline
