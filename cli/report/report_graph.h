// Draws the stages of a run as a graph from left to right, with the amounts passed between them. A wide graph
// goes on below, like lines of text.
#pragma once

#include <string>

#include "cli/report/run_record.h"

namespace pipeline {

/// An <svg> with its own size; a graph that is wider than a phone is drawn twice, with the classes `broad`
/// and `narrow`, and the style shows one of the two. Each stage links to "#stage-N"; N is its index in the
/// record.
std::string GraphDrawing(const RunRecord& record);

}  // namespace pipeline
