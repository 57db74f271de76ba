// Verifies an input of a job before the job begins: `verify` of plugins/ABI.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "dag/records/job_stage.h"
#include "storage/store.h"

namespace pipeline {

/// Verifies the artifact in `directory`. `uri` and `named_input`: its names in messages and in the job.
/// Objects that the record beside it lists as verified are not read. kDataLoss, in one line: something is
/// wrong; kCancelled after `request.stop`. `note` receives a summary.
Status VerifyInput(std::string_view named_input, Store& directory, const std::string& uri,
                   const JobRequest& request, const std::function<void(std::string_view text)>& note);

}  // namespace pipeline
