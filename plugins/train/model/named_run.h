// The run whose model a command uses: its directory on this machine, with an export that was checked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/native/services.h"
#include "plugins/train/command_table.h"

namespace pipeline {

/// The directory of `--cache`: artifacts from buckets, by their content.
std::string CacheOf(const CommandWords& words);

/// The run directories of a location: `place` itself if it is one, else those below `place`/runs.
std::vector<std::string> RunsHere(const std::string& place);
/// Finds the run directory for a location: `place` itself, or the newest below `place`/runs. kNotFound:
/// there is none.
Result<std::string> FindRun(const std::string& place);
/// The run that is meant where a location has several.
enum class Meant { kFinished, kGoingOn };
/// As FindRun, in a bucket, which does not tell which run is the newest: the only one of those that are
/// `meant`, else the only one of all. kInvalidArgument names the existing ones; kNotFound: there is none.
Result<std::string> FindRunElsewhere(const std::string& place, Meant meant, const PluginStorage& storage);

/// The interpreter of `--environment`. kNotFound: there is no such environment, or it is not complete.
Result<std::string> FindPythonFor(const CommandWords& words);

struct NamedRun {
  std::string directory;  // absolute; of a run, or an export
  std::string python;     // the interpreter of `--environment`
};
/// The run at `place`, or an export without a run. The export of a run in a bucket is brought into the cache;
/// that of a local one is checked against its manifest.
Result<NamedRun> BringRun(const std::string& place, const CommandWords& words, const PluginServices& call);

/// Checks whether a file that a manifest lists is wanted.
using WantedFile = std::function<bool(std::string_view name)>;
/// Compares the wanted files below `directory` with MANIFEST.json there, as downloaded ones are compared; a
/// warning: there is none, so `what` is not checked. kDataLoss: one differs; the message ends with `remedy`.
Status CheckFiles(const std::string& directory, const WantedFile& wanted, std::string_view what,
                  std::string_view remedy, const PluginServices& call);

}  // namespace pipeline
