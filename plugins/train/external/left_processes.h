// Processes that a trainer of somebody else has left behind: external/external.md, section 5.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/status.h"
#include "plugins/native/services.h"

namespace pipeline {

/// The variable in the environment of such a trainer, and of every process that it starts: RunMark of its run
/// directory.
inline constexpr std::string_view kRunVariable = "PIPE_RUN";

/// The path of a run directory, with its device and number: elsewhere, the same path is another directory.
std::string RunMark(const std::string& run_dir);

/// Ends the processes of this machine whose environment has the mark of `run_dir`, and waits for their ends.
/// Each gets SIGTERM, and SIGKILL after `grace`. A signal to the process group does not reach them: torchrun
/// starts each rank in a session of its own, and a rank outlives a torchrun or a `pipe` that was killed.
/// Processes of other users, and those that cleared their environment, are not found. kUnavailable: one lives
/// on after SIGKILL.
Status EndLeftProcesses(const std::string& run_dir, std::chrono::nanoseconds grace,
                        const PluginServices& call);

}  // namespace pipeline
