// A training from its first step, whichever run took it how far.
#pragma once

#include <string>
#include <vector>

#include "cli/run_record.h"
#include "cli/training_record.h"
#include "dag/run_log.h"
#include "dag/work_dir.h"

namespace pipeline {

/// The trainings of the run `id`, whose record is `now`. One that went on from a checkpoint has what the runs
/// before it in this work directory said of the same stage with the same recipe.
std::vector<RecordedTraining> FindTrainings(const WorkDir& work, const RunLog& log, const std::string& id,
                                            const RunRecord& now);

}  // namespace pipeline
