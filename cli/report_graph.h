// The stages of a run as a drawing: who reads whom, from left to right, with what went along.
#pragma once

#include <string>

#include "cli/run_record.h"

namespace pipeline {

/// An <svg> of its own size. Each stage links to "#stage-N", its position in the record.
std::string GraphDrawing(const RunRecord& record);

}  // namespace pipeline
