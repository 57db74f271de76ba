// The report section about trainings: the loss curve, evaluations beside baselines, the scores of labels, the
// documents with the least likely labels, samples of the model, and time by activity.
#pragma once

#include <string>
#include <vector>

#include "cli/report/training_record.h"

namespace pipeline {

/// The content of the section; empty: there was no training.
std::string TrainingSection(const std::vector<RecordedTraining>& trainings);

}  // namespace pipeline
