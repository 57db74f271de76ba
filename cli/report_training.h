// How trainings went: the loss as a curve, evaluations beside baselines, what the model wrote, where the time
// went.
#pragma once

#include <string>
#include <vector>

#include "cli/training_record.h"

namespace pipeline {

/// The section's content; empty where nothing was trained.
std::string TrainingSection(const std::vector<RecordedTraining>& trainings);

}  // namespace pipeline
