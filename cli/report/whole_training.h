// Joins the events of one training over all runs that continued it.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_record.h"
#include "cli/report/training_record.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

/// The trainings of the run `id`, whose record is `now`. If one resumed from a checkpoint, adds its events
/// from earlier runs in this work directory, with the same stage and recipe.
std::vector<RecordedTraining> FindTrainings(const WorkDir& work, const RunLog& log, const std::string& id,
                                            const RunRecord& now);

}  // namespace pipeline
