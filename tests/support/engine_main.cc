// engine DIRECTORY slurm|ray|local start [OPTIONS] -- COMMAND...
// engine DIRECTORY slurm|ray|local state|release|cancel JOB
// Starts workers as `pipe submit` does and asks for them, for tests with real engines. DIRECTORY: of the
// engine's files.
//   --workers N, --cores N, --memory BYTES, --starts N   as in WorkerSet
//   --address HOST:PORT, --python FILE                    of Ray
//   --word WORD                                           for sbatch; repeated
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/str.h"
#include "cli/submit/engine.h"

namespace pipeline {
namespace {

int Fail(const Status& why) {
  std::fprintf(stderr, "%s\n", std::string(why.message()).c_str());
  return 1;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() < 4) return Fail(Status(Code::kInvalidArgument, "too few words"));
  EngineOptions options;
  options.directory = words[0];
  WorkerSet set;
  set.name = "test";
  std::size_t at = 3;
  for (; words[2] == "start" && at + 1 < words.size() && words[at] != "--"; at += 2) {
    const std::string& value = words[at + 1];
    if (words[at] == "--workers") set.workers = std::atoi(value.c_str());
    if (words[at] == "--cores") set.cores = std::atoi(value.c_str());
    if (words[at] == "--memory") set.memory = std::strtoull(value.c_str(), nullptr, 10);
    if (words[at] == "--starts") set.starts = std::atoi(value.c_str());
    if (words[at] == "--address") options.address = value;
    if (words[at] == "--python") options.python = value;
    if (words[at] == "--word") options.words.push_back(value);
  }
  const std::unique_ptr<Engine> engine = words[1] == "slurm" ? NewSlurmEngine(options)
                                         : words[1] == "ray" ? NewRayEngine(options)
                                                             : NewLocalEngine(options);
  if (words[2] == "start") {
    set.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    const Result<std::string> job = engine->Start(set, {});
    if (!job.ok()) return Fail(job.status());
    std::printf("%s\n", job->c_str());
    return 0;
  }
  if (words[2] == "cancel") {
    const Status done = engine->Cancel(words[3], {});
    return done.ok() ? 0 : Fail(done);
  }
  const Result<EngineState> state = engine->State(words[3], {});
  if (!state.ok()) return Fail(state.status());
  if (words[2] == "release") {
    const Status done = engine->Release(state->held, {});
    if (!done.ok()) return Fail(done);
    std::printf("%zu\n", state->held.size());
    return 0;
  }
  std::printf("%s%s: %s\n", state->over ? "over" : "going on",
              state->code ? StrCat(" with ", *state->code).c_str() : "", state->told.c_str());
  return 0;
}

}  // namespace
}  // namespace pipeline

int main(int argc, char** argv) { return pipeline::Run({argv + 1, argv + argc}); }
