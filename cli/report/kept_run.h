// Keeps a run: its lines in the log, a record of its events, and at the end a report page.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"
#include "cli/report/run_record.h"
#include "cli/report/run_recorder.h"
#include "cli/report/sample_collector.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/run/executor.h"

namespace pipeline {

/// Returns the line of a run of this process that begins now.
RunLine NewRunLine(std::string command);
/// The time of SendRecord after a run that nobody stopped.
inline constexpr std::chrono::seconds kMostSending{60};

/// With a home in a bucket: sends the end of the log and the files of the run `id` there, within `most`. All
/// of it is only for people: a failure is a warning.
void SendRecord(Workspace& workspace, const std::string& id, std::chrono::seconds most);

/// One run. Only the thread that began it calls its functions.
class KeptRun {
 public:
  /// Both outlive it; the recorder also receives events from other code.
  KeptRun(Workspace& location, RunRecorder& recorder) : location_(location), recorder_(recorder) {}

  /// An error means that the log cannot be written.
  Status Begin(const std::string& command, const LoadedPipeline& loaded, const Plan& plan,
               const Snapshot& snapshot, const RunOptions& options);
  /// The name of its directory below runs/; valid after Begin.
  const std::string& id() const { return line_.id; }
  /// Ends the record and prints the path of the page. All of it is only for people: a write error causes a
  /// warning and does not change the outcome.
  void End(const std::string& outcome, const RunOutcome& run, SampleCollector& samples);

 private:
  Workspace& location_;
  RunRecorder& recorder_;
  RunLine line_;
  RunRecord record_;  // as it begins, and at the end the outcome
};

}  // namespace pipeline
