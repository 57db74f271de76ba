// The scores of labels in a report: evaluations, the confusion, the documents with the least likely labels.
#pragma once

#include <string>

#include "cli/report/training_labels.h"

namespace pipeline {

/// HTML; empty if the training has no scores of labels.
std::string LabelsSection(const RecordedLabels& labels);

}  // namespace pipeline
