// What the stage `train` is asked to do. Form: plugins/ABI.md, section 7; keys: CONTRACT.md, section 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct TrainJob {
  std::string stage;
  std::string recipe;
  std::string run_uri;  // absolute paths, or of a bucket, as all of these
  std::string data_uri;
  std::string tokenizer_uri;
  std::string data_manifest;
  std::string tokenizer_manifest;
  std::string run_dir;  // paths on this machine; of an input in a bucket empty until it is brought here
  std::string data_dir;
  std::string tokenizer_dir;
  std::string kept;  // path of the directory for copies; empty: the host gives none
  Json settings;     // every key of the stage with its value

  std::int64_t steps() const { return settings["steps"].AsInt(); }
  std::int64_t processes() const { return settings["processes"].AsInt(1); }
  std::int64_t restarts() const { return settings["restarts"].AsInt(3); }
  std::int64_t grace_s() const { return settings["grace"].AsInt(30); }
  double patience() const { return settings["patience"].AsDouble(1); }
  bool stops_early() const {
    return settings["early_stop"].is_object() && !settings["early_stop"].AsObject().empty();
  }
  std::string environment() const { return std::string(settings["environment"].AsString()); }
  int threads = 1;
};

/// Whether it is no path of this machine.
bool IsElsewhere(std::string_view uri);

/// Judges what the table of keys cannot; reads nothing.
Status CheckSettings(const Json& settings);

/// kInvalidArgument for a place that is neither a directory of this machine nor one of a bucket.
Result<TrainJob> ParseTrainJob(std::string_view request);

}  // namespace pipeline
