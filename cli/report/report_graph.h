// Draws the stages of a run as a graph from left to right, with the amounts passed between them.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// An <svg> with its own size. Each stage links to "#stage-N"; N is its index in the record.
std::string GraphDrawing(const RunRecord& record);

}  // namespace pipeline
