// Input of a job that is held against its manifest before the job begins: `verify` of plugins/ABI.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "records/job_stage.h"
#include "storage/store.h"

namespace pipeline {

/// Verifies the artifact in `directory`, which people know as `uri` and the job as `port`; what the record
/// beside it knows to be good is not read. kDataLoss, in one line, where something is wrong; kCancelled once
/// `request.stop` is set. `note` gets what was done.
Status VerifyInput(std::string_view port, Store& directory, const std::string& uri, const JobRequest& request,
                   const std::function<void(std::string_view text)>& note);

}  // namespace pipeline
