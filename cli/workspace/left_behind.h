// Removes what runs that were killed left on this machine.
#pragma once

#include "cli/workspace/workspace.h"
#include "dag/pipeline_file/graph.h"

namespace pipeline {

/// Removes temporaries of dead processes (storage/local_names.h) in the work directory and beside the
/// artifacts of `graph` on this machine, the upload sessions that they left open, and the locations of
/// recipes at which nothing was made. The workspace was opened to write. A failure is a warning: what stays
/// harms nobody, and the next run tries again.
void RemoveLeftBehind(const Workspace& workspace, const Graph& graph);

}  // namespace pipeline
