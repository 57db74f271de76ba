// The request to the stage `train`. Format: plugins/ABI.md, section 7; keys: CONTRACT.md, section 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/hosts/host_position.h"
#include "plugins/train/watchdog.h"

namespace pipeline {

/// The directory `environment`. With `trainer: external`, empty: the programs of this machine, which the
/// default stands for, because an external trainer has no use for the environment of the bundled one.
std::string EnvironmentOf(const Json& settings);

struct TrainJob {
  std::string stage;
  std::string recipe;
  std::string run_uri;  // an absolute path or a URI in a bucket, as the next five
  std::string data_uri;
  std::string tokenizer_uri;
  std::string init_uri;  // a run directory or a file; empty: fresh parameters
  std::string data_manifest;
  std::string tokenizer_manifest;  // empty: it is no artifact
  std::string tokenizer_file;      // the name of its file in tokenizer_uri
  std::string
      data_set_uri;  // an external trainer's own data; empty: none, as the two above and the rows then
  std::string data_set_manifest;
  std::string run_dir;  // local paths; empty for an input in a bucket until it is downloaded
  std::string data_dir;
  std::string tokenizer_dir;
  std::string init_from;
  std::string init_manifest;  // empty: it is no artifact
  std::string kept;           // local directory for copies; empty: the host gives none
  Json settings;              // all keys of the stage, with values
  HostPosition position;      // of this machine; host 0 of 1 if the request has none
  bool has_position = false;

  std::int64_t steps() const { return settings["steps"].AsInt(); }
  std::int64_t processes() const { return settings["processes"].AsInt(1); }
  std::int64_t restarts() const { return settings["restarts"].AsInt(3); }
  /// Absent: as long as two steps and a save take.
  std::optional<std::chrono::seconds> grace() const {
    if (!settings["grace"].is_int()) return std::nullopt;
    return std::chrono::seconds(settings["grace"].AsInt());
  }
  /// The same for what measures no steps.
  std::chrono::seconds grace_or_least() const { return grace().value_or(kLeastGrace); }
  std::int64_t hosts_wait_min() const { return settings["hosts_wait"].AsInt(30); }
  double patience() const { return settings["patience"].AsDouble(1); }
  bool stops_early() const {
    return settings["early_stop"].is_object() && !settings["early_stop"].AsObject().empty();
  }
  /// A result with fewer steps may be whole.
  bool may_stop_early() const { return stops_early() || settings["ends_early"].AsBool(); }
  std::string environment() const { return EnvironmentOf(settings); }
  int threads = 1;
};

/// True if it is not a path on this machine.
bool IsElsewhere(std::string_view uri);

/// The local run directory of a run whose location is another one.
std::string KeptRun(const TrainJob& job);

/// Checks rules that the table of keys cannot express; reads nothing.
Status CheckSettings(const Json& settings);

/// kInvalidArgument if a location is neither a local directory nor in a bucket.
Result<TrainJob> ParseTrainJob(const Json& request);

/// The failure of a training that would begin at step 0 and replace a finished model of so many steps
/// unasked.
Status NoBeginningBeside(const TrainJob& job, std::int64_t finished);

}  // namespace pipeline
