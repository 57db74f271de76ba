// The keys of `trainer: external`: external.md, section 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/external/line_pattern.h"

namespace pipeline {

/// How a checkpoint of the program is recognised.
struct CheckpointRule {
  std::string directory;  // below the program's directory; ".": that directory
  LinePattern step;       // of the name of an entry
  std::string commit;     // a file inside; empty: the files must stay unchanged
};

/// The TensorBoard events of a program.
struct EventsRule {
  std::string directory;  // below the program's directory; ".": that directory
  std::string tag;        // of the loss
};

struct ExternalSettings {
  std::vector<std::string> command;  // with placeholders
  std::optional<LinePattern> step;   // of a line; absent: no steps are recognised
  std::optional<LinePattern> loss;   // of a line
  std::optional<EventsRule> events;  // absent: the lines of the output are read
  std::optional<CheckpointRule> checkpoint;
  std::vector<std::string> success;  // patterns of names; empty: a checkpoint at `steps` counts
  std::vector<int> fatal;            // exit codes
  std::chrono::seconds silence{1800};
  std::chrono::seconds settle{30};
};

bool IsExternal(const Json& settings);

/// `settings` are all keys of the stage. kInvalidArgument begins with the name of the key. With
/// `trainer: bundled` it only checks that no key of an external trainer is there.
Status CheckExternal(const Json& settings);

/// For `trainer: external`.
Result<ExternalSettings> ParseExternal(const Json& settings);

/// The keys that belong to the recipe, as in the file: a member of job.json, and config.json.
Json ExternalRecipe(const Json& settings);

}  // namespace pipeline
