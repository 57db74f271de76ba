#include "cli/workspace/pipeline_words.h"

#include "base/str.h"

namespace pipeline {

namespace {

/// Returns the reason why `path` cannot be a work directory. Empty: it can. Without this check the program
/// would create a directory of that name.
std::string WhyNoWork(const std::string& path) {
  if (path.find("://") != std::string::npos)
    return StrCat(path, ": a work directory lies on a disk of this machine; give a path");
  if (path.starts_with('~')) return StrCat(path, ": no shell replaced the ~; write the path in full");
  return {};
}

}  // namespace

std::vector<Word> PipelineWords(PipelineOptions& options) {
  return Joined({{.value = "FILE", .help = "The pipeline file", .required = true, .to = &options.file}},
                PipelineFlags(options));
}

std::vector<Word> PipelineFlags(PipelineOptions& options) {
  return {
      {.flags = {"--set"},
       .value = "NAME=VALUE",
       .help = "Set a var, stages.STAGE.KEY or limits.KEY (limits.memory=8GiB) to another value",
       .to = &options.set},
      {.flags = {"--subset"},
       .value = "N|P%",
       .help =
           "A trial: the first N documents of each file, or a share of all; output is below OUT/subset-VALUE",
       .to = &options.subset},
      {.flags = {"--allow-plugin"},
       .help = "Load a plugin that the file names by its path, even if nothing runs",
       .to = &options.allow_plugin},
      {.flags = {"--work"},
       .value = "DIR",
       .help = "Work directory (default ./.pipe/NAME)",
       .environment = "PIPE_WORK",
       .refusal = WhyNoWork,
       .to = &options.work},
  };
}

Word FromLogWord(bool& from_log) {
  return {.flags = {"--from-log"},
          .help = "Publish again from a source that is gone, with the log of earlier runs",
          .to = &from_log};
}

}  // namespace pipeline
