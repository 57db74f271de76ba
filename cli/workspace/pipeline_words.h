// The words that the commands on a pipeline file share.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

struct PipelineOptions {
  std::string file;           // the pipeline file
  Assignments set;            // --set
  std::string subset;         // --subset; empty: the whole corpus
  bool allow_plugin = false;  // --allow-plugin: load plugins named by a path also if nothing runs
  std::string work;           // --work; empty: PIPE_WORK, else ./.pipe/NAME
};

/// FILE, --set, --subset, --allow-plugin and --work.
std::vector<Word> PipelineWords(PipelineOptions& options);

/// As PipelineWords, without FILE.
std::vector<Word> PipelineFlags(PipelineOptions& options);

/// --from-log.
Word FromLogWord(bool& from_log);

}  // namespace pipeline
