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
  std::string run_dir;  // absolute paths, all three
  std::string data_dir;
  std::string tokenizer_dir;
  std::string data_manifest;  // URIs
  std::string tokenizer_manifest;
  Json settings;  // every key of the stage with its value

  std::int64_t steps() const { return settings["steps"].AsInt(); }
  std::int64_t processes() const { return settings["processes"].AsInt(1); }
  std::int64_t restarts() const { return settings["restarts"].AsInt(3); }
  std::int64_t grace_s() const { return settings["grace"].AsInt(30); }
  double patience() const { return settings["patience"].AsDouble(1); }
  std::string environment() const { return std::string(settings["environment"].AsString()); }
  int threads = 1;
};

/// Judges what the table of keys cannot; reads nothing.
Status CheckSettings(const Json& settings);

/// kInvalidArgument for a place that is no directory of this machine.
Result<TrainJob> ParseTrainJob(std::string_view request);

}  // namespace pipeline
