// The request of `pipe run` and `pipe retry`, and its words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/plan/selection.h"

namespace pipeline {

struct RunRequest {
  PipelineOptions pipeline;
  Selection selection;       // `failed` is empty: the log of the last run has them
  bool only_failed = false;  // `pipe retry`
  bool dry_run = false;      // -n
  bool ask = false;          // -n: also ask servers
  bool explain = false;
  bool check = false;                     // all local sources are read again
  bool keep_intermediates = false;        // also those that nothing unfinished needs
  int keep_going = 1;                     // -k
  int threads = 0;                        // -j; 0: as many as there are cores
  std::uint64_t batch_bytes = 256 << 10;  // --batch-bytes
  std::string log_format = "text";        // or "json"
};

/// All words that `pipe run` and `pipe retry` share.
std::vector<Word> RunWords(RunRequest& request);

}  // namespace pipeline
