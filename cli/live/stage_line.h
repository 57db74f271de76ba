// "stage 3 of 7: tokenizer": names the stages that are running.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// One thread at a time.
class StageLine {
 public:
  /// Empty: Text returns nothing.
  StageLine() = default;
  /// The stages that `plan` runs, numbered in the order of the file.
  StageLine(const std::vector<StageSpec>& file, const Graph& graph, const Plan& plan);

  /// `stage` is the last of its segment.
  void Began(std::string_view stage);
  void Done(std::string_view stage);

  /// "stage 3 of 7: tokenizer", "stages 1-4 of 7: lines … text", "4 of 7 stages done"; empty: nothing runs.
  std::string Text() const;

 private:
  struct Segment {
    std::string last;
    std::vector<std::size_t> stages;  // positions in names_
    bool began = false, done = false;
  };

  std::vector<std::string> names_;  // of the stages that run, in the order of the file
  std::vector<Segment> segments_;
};

}  // namespace pipeline
