// What stages said of a training while a run went on: the events of plugin_events.jsonl that a report shows.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace pipeline {

/// What one stage said. Numbers that were not said are NaN.
struct RecordedTraining {
  struct Step {
    std::int64_t step = 0;
    double loss = 0;
    double tokens_per_s = 0;
  };
  struct Score {
    std::int64_t step = 0;  // of an evaluation
    std::string name;       // the split, or the baseline
    double loss = 0;        // nats per token
    double bits_per_byte = 0;
    double bits_per_char = 0;
  };
  struct Sample {
    std::int64_t step = 0;
    std::string prompt;
    std::string text;
  };

  std::string stage;
  std::int64_t restored = -1;  // the step of the checkpoint that it went on from, at first; -1: none
  std::vector<Step> steps;     // thinned out where there are many
  std::vector<Score> evaluations;
  std::vector<Score> baselines;
  std::vector<Sample> samples;            // the last ones
  std::map<std::string, double> goodput;  // seconds, or shares, by what the time went to
};

/// What came after `step` in `training` counts no longer: it went back there.
void GoBack(std::int64_t step, RecordedTraining& training);

/// `training` with what came of it in an earlier run, up to the checkpoint that it went on from.
void Prepend(RecordedTraining earlier, RecordedTraining& training);

/// Reads lines of EventFile; passes over what is none, and over what it does not know. By stage, only those
/// that trained. Memory does not depend on how many there are.
std::vector<RecordedTraining> ReadTrainings(std::istream& lines);

}  // namespace pipeline
