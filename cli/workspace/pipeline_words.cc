#include "cli/workspace/pipeline_words.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/str.h"
#include "base/words.h"
#include "dag/pipeline_file/config.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the reason why `path` cannot be a directory of this machine. Empty: it can. Without this check the
/// program would create a directory of that name.
std::string WhyNoDirectory(const std::string& path) {
  if (path.find("://") != std::string::npos)
    return StrCat(path, ": is no directory of this machine; give a path");
  if (path.starts_with('~')) return StrCat(path, ": no shell replaced the ~; write the path in full");
  return {};
}

/// The same for a work directory, or a home in a bucket.
std::string WhyNoWork(const std::string& path) {
  if (path.find("://") == std::string::npos) return WhyNoDirectory(path);
  const Result<Uri> uri = Uri::Parse(path);
  if (!uri.ok()) return std::string(uri.status().message());
  if (uri->is_local()) return StrCat(path, ": give the path alone, without file://");
  if (!uri->scheme->writable)
    return StrCat(ShownUrl(path), ": nothing can be written there; give a path, or gs://BUCKET/NAME");
  std::string_view name = uri->path;
  while (name.ends_with('/')) name.remove_suffix(1);
  if (name.empty()) return StrCat(path, ": is a whole bucket; name a prefix in it, gs://BUCKET/NAME");
  return {};
}

std::string WhyNoSize(const std::string& size) {
  const Result<std::uint64_t> bytes = ParseBytes(size);
  return bytes.ok() ? std::string() : std::string(bytes.status().message());
}

std::string WhyNoMemory(const std::string& size) {
  const Result<std::uint64_t> bytes = ParseBytes(size);
  return bytes.ok() && *bytes == 0 ? StrCat(size, ": no unit runs without memory") : WhyNoSize(size);
}

std::string WhyNoTime(const std::string& word) {
  return ParseTimeWord(word) ? "" : "is no time such as 90s, 30m or 2h";
}

}  // namespace

std::vector<Word> PipelineWords(PipelineOptions& options) {
  return Joined({{.value = "FILE",
                  .help = "The pipeline file; pipelines/NAME.yaml, where none is here, is the program's own",
                  .required = true,
                  .to = &options.file}},
                PipelineFlags(options));
}

std::vector<Word> PipelineFlags(PipelineOptions& options) {
  return {
      {.flags = {"--set"},
       .value = "NAME=VALUE",
       .help = "Set a var, stages.STAGE.KEY or limits.KEY (limits.memory=8GiB) to another value",
       .to = &options.set},
      {.flags = {"--vars"},
       .value = "FILE",
       .help = "Take what --set would set from a file of lines NAME: VALUE; --set comes after it",
       .to = AssignmentsOfFiles{&options.set}},
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
       .help = "Work directory (default ./.pipe/NAME), or gs://BUCKET/NAME: a home for runs on any machine",
       .environment = "PIPE_WORK",
       .refusal = WhyNoWork,
       .to = &options.work},
      {.flags = {"--scratch"},
       .value = "DIR",
       .help = "With a home in a bucket: directory of this machine (default ./.pipe/NAME.scratch)",
       .environment = "PIPE_SCRATCH",
       .refusal = WhyNoDirectory,
       .to = &options.scratch},
      {.flags = {"--scratch-size"},
       .value = "SIZE",
       .help = "Most bytes of the scratch for copies of objects (default: half of the free disk)",
       .refusal = WhyNoSize,
       .to = &options.scratch_size},
  };
}

Word UntilWord(std::string& stage) {
  return {
      .flags = {"--until"}, .value = "STAGE", .help = "Run this stage and all that it needs", .to = &stage};
}

Word MemoryWord(std::string& memory, std::string help, std::string environment) {
  return {.flags = {"--memory"},
          .value = "SIZE",
          .help = std::move(help),
          .environment = std::move(environment),
          .refusal = WhyNoMemory,
          .to = &memory};
}

Word TimeWord(std::string& time, std::string help) {
  return {.flags = {"--for"}, .value = "TIME", .help = std::move(help), .refusal = WhyNoTime, .to = &time};
}

std::optional<std::chrono::seconds> ParseTimeWord(std::string_view word) {
  if (word.empty()) return std::nullopt;
  const char unit = word.back();
  word.remove_suffix(1);
  const int number = ParseNumber<int>(word).value_or(0);
  if (number <= 0 || number > 1'000'000) return std::nullopt;
  switch (unit) {
    case 's': return std::chrono::seconds(number);
    case 'm': return std::chrono::minutes(number);
    case 'h': return std::chrono::hours(number);
    default: return std::nullopt;
  }
}

Word CheckWord(bool& check) {
  return {.flags = {"--check"},
          .help = "Read all local sources again, also those with the same size and times as before",
          .to = &check};
}

Word FromLogWord(bool& from_log) {
  return {.flags = {"--from-log"},
          .help = "Publish again from a source that is gone, with the log of earlier runs",
          .to = &from_log};
}

Word ThreadsWord(int& threads) {
  return {.flags = {"-j", "--jobs"},
          .value = "N",
          .help = "Threads for processing (default: cores)",
          .range = WordRange{1, 1024},
          .to = &threads};
}

int ThreadCount(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace pipeline
