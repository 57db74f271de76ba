// The keys of `trainer: external`: external.md, section 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/external/line_pattern.h"

namespace pipeline {

/// How a checkpoint of the program is recognised.
struct CheckpointRule {
  std::string directory;    // below the program's directory; ".": that directory
  LinePattern step;         // of the name of an entry
  std::string commit;       // a file inside; empty: the files must stay unchanged
  std::string beside = {};  // a file beside the entries that is kept with the newest; empty: none
};

/// The TensorBoard events of a program.
struct EventsRule {
  std::string directory;  // below the program's directory; ".": that directory
  std::string tag;        // of the loss
};

struct ExternalSettings {
  std::vector<std::string> command;              // with placeholders, as the next three
  std::map<std::string, std::string> variables;  // of its environment
  std::map<std::string, std::string> files;      // by names below {run_dir}: the files to copy there
  std::string directory;                         // where it runs; empty: that of `pipe`
  std::vector<std::string> fresh;                // names below {run_dir} that no attempt finds
  bool shared = false;                           // on several hosts, {run_dir} is one directory of all
  std::optional<LinePattern> step;               // of a line; absent: no steps are recognised
  std::optional<LinePattern> loss;               // of a line
  std::optional<EventsRule> events;              // absent: the lines of the output are read
  std::optional<CheckpointRule> checkpoint;
  std::vector<std::string> success;  // patterns of names; empty: a checkpoint at `steps` counts
  std::int64_t first_step = 1;       // the number that the program gives its first step
  bool ends_early = false;           // an end with 0 before `steps` is a success
  std::vector<int> fatal;            // exit codes
  std::chrono::seconds silence{1800};
  std::chrono::seconds settle{30};

  /// False: nothing tells how far the program is.
  bool SeesSteps() const { return step || events || checkpoint; }
};

/// True with `trainer: external` and with a preset.
bool IsExternal(const Json& settings);

/// Keys that only the bundled trainer reads, with their defaults: the host fills these in.
const std::vector<std::pair<std::string_view, Json>>& BundledKeys();

/// `settings` are all keys of the stage. kInvalidArgument begins with the name of the key. With
/// `trainer: bundled` it only checks that no key of an external trainer is there.
Status CheckExternal(const Json& settings);

/// For `trainer: external`.
Result<ExternalSettings> ParseExternal(const Json& settings);

/// The named inputs whose placeholders these settings have: "data", "tokenizer", "data_set".
std::vector<std::string> ExternalInputs(const Json& settings);

/// The keys that belong to the recipe, as in the file: a member of job.json, and config.json.
Json ExternalRecipe(const Json& settings);

}  // namespace pipeline
