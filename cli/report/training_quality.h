// How good a trained model is, in a sentence for people who have seen no such number before.
#pragma once

#include <string>

#include "cli/report/training_record.h"

namespace pipeline {

/// Compares the last evaluation with the best that knows no more than simple counts, and says which direction
/// is better. Empty: the events tell no score of the model.
std::string QualityOf(const RecordedTraining& training);

}  // namespace pipeline
