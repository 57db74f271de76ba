// Calls programs of an engine, writes the files that they read, and starts programs that go on when we end.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/submit/engine.h"

namespace pipeline {

/// Runs a program to its end and returns its output. Errors as in Engine; a code other than 0 is
/// kInvalidArgument, with the program's own message in one line.
Result<std::string> CallTool(const std::vector<std::string>& argv, const std::stop_token& stop);

/// Writes or replaces a small file.
Status WriteEngineFile(const std::string& path, std::string_view text);

/// A command for a POSIX shell that has exactly these words.
std::string ShellWords(const std::vector<std::string>& argv);

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
