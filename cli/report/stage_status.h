// The state of each stage as the log of runs and the record of the last one tell it, for `pipe status`.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "cli/report/run_status.h"
#include "dag/books/run_log.h"
#include "dag/pipeline_file/pipeline_file.h"

namespace pipeline {

/// The work of one stage according to the log, and its state in the last run.
struct StageStatus {
  std::uint64_t partitions = 0;
  std::uint64_t partitions_of = 0;  // as far as they are known; never fewer than `partitions`
  bool more_to_come = false;        // an input was not read to its end
  std::uint64_t inputs = 0;         // read to their end
  std::uint64_t shards = 0;
  std::uint64_t records = 0;  // in partitions
  bool job_done = false;
  std::map<std::string, std::string> failures;  // unit -> reason
  std::string location;
  std::string state;        // in the last run, by its record; empty: it has no record
  std::string passes_with;  // the other stage at whose end its records are kept; empty: none
  bool logged = false;
  std::uint32_t segment = 0;  // the newest of its lines that are done
  std::string with;           // keys of what is done that the file asks otherwise: "vocab_size 276"
  std::string asks;           // what the file asks: "8000"
};

/// Returns the stages of `log`, by name, with what the file `spec` asks otherwise.
std::map<std::string, StageStatus> StagesIn(const RunLog& log, const PipelineSpec& spec);

/// Adds the state of `stage` in the ended run `last`, which has a record. Failures before a successful run no
/// longer count: the stage became complete in that run, or was complete already.
void AddState(const RunStatus& last, const RecordedStage& stage, StageStatus& status);

Json ToJson(const StageStatus& status);
std::string ToText(const StageStatus& status);

}  // namespace pipeline
