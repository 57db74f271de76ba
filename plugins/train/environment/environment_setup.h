// Creates the trainer's Python environment: CONTRACT.md, section 9.
#pragma once

#include <string>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

struct EnvironmentSetup {
  std::string directory;
  std::string extra = "cpu";
  std::string python;  // as ChoosePython takes it; empty: a suitable one is searched
  std::string wheels;  // a directory of FetchWheels; empty: pip's index
};

/// True: the environment was ready already. kFailedPrecondition: the directory belongs to somebody else.
Result<bool> SetUpEnvironment(const EnvironmentSetup& setup, const PluginServices& call);

struct WheelFetch {
  std::string directory;
  std::string extra = "cpu";
  std::string python;   // runs pip; as in EnvironmentSetup
  std::string version;  // of the Python that the wheels are for, such as 3.12; empty: of `python`
};

/// Fetches the wheels of an environment, for a machine without a network. Files that are there stay.
Status FetchWheels(const WheelFetch& fetch, const PluginServices& call);

/// In the place of the extra in `made-from`, for requirements of other people.
inline constexpr const char* kLocked = "locked";

/// The directory of the environment that is made from a file of requirements, by its content.
/// kInvalidArgument: the file has no digests.
Result<std::string> LockedDirectory(const std::string& requirements);

/// Creates that environment if it is not ready, and returns its directory. Waits for another creator.
Result<std::string> SetUpLocked(const std::string& requirements, const PluginServices& call);

}  // namespace pipeline
