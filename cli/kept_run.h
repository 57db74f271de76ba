// What is kept of a run: its own lines in the log, a record of what happens, and in the end a page.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/pipeline_loader.h"
#include "cli/run_recorder.h"
#include "cli/sample_collector.h"
#include "cli/workplace.h"
#include "dag/executor.h"

namespace pipeline {

/// One run. The thread that began it calls.
class KeptRun {
 public:
  /// Both outlive it; the recorder hears of the run from others.
  KeptRun(Workplace& place, RunRecorder& recorder) : place_(place), recorder_(recorder) {}

  /// An error means that the log cannot be written.
  Status Begin(const std::string& command, const LoadedPipeline& loaded, const Plan& plan, const Facts& facts,
               const RunOptions& options);
  /// Names its directory below runs/, once it has begun.
  const std::string& id() const { return line_.id; }
  /// Says where the page is. All of this is for people: what cannot be written is warned of, and changes
  /// nothing of what was done.
  void End(const std::string& outcome, const RunOutcome& run, SampleCollector& samples);

 private:
  std::string Closing(SampleCollector& samples);

  Workplace& place_;
  RunRecorder& recorder_;
  RunLine line_;
  std::vector<RecordedStage> stages_;
  std::map<std::string, RecordedCounts> standing_;  // by stage, of what stood when it began
};

}  // namespace pipeline
