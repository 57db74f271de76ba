// The words that the commands on a pipeline file share: the file, --set, --vars, --subset, --allow-plugin,
// --work, --scratch and --scratch-size.
// Only some commands have --from-log.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

/// The values of these words.
struct PipelineOptions {
  std::string file;           // path of the pipeline file
  Assignments set;            // --set
  std::string subset;         // --subset: "5000" documents of each file, or "1%"; empty: the whole corpus
  bool allow_plugin = false;  // --allow-plugin: load plugins named by a path also if nothing runs
  std::string work;           // --work, else PIPE_WORK; empty: ./.pipe/NAME
  std::string scratch;        // --scratch, else PIPE_SCRATCH; empty: ./.pipe/NAME.scratch
  std::string scratch_size;   // --scratch-size, as it was given; empty: the default
};

/// Returns FILE, which is required, and PipelineFlags. The words store their values in `options`, which must
/// outlive them.
std::vector<Word> PipelineWords(PipelineOptions& options);

/// Returns --set, --subset, --allow-plugin, --work and its scratch, for a command that defines its own
/// positional words.
std::vector<Word> PipelineFlags(PipelineOptions& options);

/// Returns the flag --until. `stage` must outlive it.
Word UntilWord(std::string& stage);
/// Returns --memory, a size above 0 for ParseBytes. `memory` must outlive it. `environment`: as Word's.
Word MemoryWord(std::string& memory, std::string help, std::string environment = {});

/// Returns --for, a time for ParseTimeWord. `time` must outlive it.
Word TimeWord(std::string& time, std::string help);
/// 90s, 30m, 2h: a whole number from 1 to a million with s, m or h. Absent: the word is none.
std::optional<std::chrono::seconds> ParseTimeWord(std::string_view word);

/// Returns the flag --from-log: publish again from a source that is gone. `from_log` must outlive it.
Word FromLogWord(bool& from_log);
/// Returns the flag --check: read all local sources again. `check` must outlive it.
Word CheckWord(bool& check);

/// -j N: the number of threads that process text.
Word ThreadsWord(int& threads);

/// `threads`; 0: as many as this machine has cores.
int ThreadCount(int threads = 0);

}  // namespace pipeline
