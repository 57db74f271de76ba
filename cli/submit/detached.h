// A program of this machine that goes on when we end.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/submit/engine.h"

namespace pipeline {

/// Detail of a failure: only another machine knows the program.
struct OnOtherMachine final : StatusDetail {};

/// Starts `argv` in a session of its own; its output is appended to DIRECTORY/NAME.log. Returns its name,
/// which only programs on this machine understand, until it starts again.
Result<std::string> StartDetached(const std::vector<std::string>& argv, const std::string& directory,
                                  const std::string& name);
/// It is over once none of its processes lives; the code is that of the program, if it has ended by itself.
/// kFailedPrecondition with OnOtherMachine: it runs on another machine; the message names it.
Result<EngineState> StateOfDetached(const std::string& id, const std::string& directory,
                                    const std::string& name);
/// Sends SIGTERM to all its processes; OK if there is none.
Status StopDetached(const std::string& id);

}  // namespace pipeline
