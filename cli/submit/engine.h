// An engine runs copies of one command on the hosts of a cluster and starts a copy again when it dies. It
// does nothing more for a run: workers find their units themselves, and what they did is in the work package.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// The workers of a run, as an engine starts them.
struct WorkerSet {
  std::string name = {};               // of the pipeline, for lists of jobs
  std::vector<std::string> argv = {};  // the command of one worker; argv[0] is an absolute path on every host
  int workers = 1;
  int cores = 1;                  // of each worker
  std::uint64_t memory = 0;       // bytes of each worker
  std::uint64_t most_memory = 0;  // bytes of one of them, for units that are larger; 0: all are alike
  int starts = 100;               // of each worker after its first one
};

struct EngineOptions {
  /// An absolute path, which exists: files of the engine and messages of the workers go there.
  std::string directory = {};
  bool everywhere = true;  // every host sees `directory`; false: perhaps none does
  /// Words for the engine's own program: "--partition=long" for sbatch; none for the others.
  std::vector<std::string> words = {};
  std::string address = {};        // of a Ray cluster, HOST:PORT; empty: the one that this host is part of
  std::string python = "python3";  // one that has Ray
};

struct EngineState {
  bool over = false;                       // no worker runs or will be started again
  std::optional<int> code = std::nullopt;  // exit code of all workers together, if the engine tells it
  std::string told = {};                   // for people: "5 running, 3 waiting (Resources)"
  std::vector<std::string> held = {};      // workers whose start failed; they wait for Release
};

/// Calls block until the engine has answered, or until `stop`: kCancelled. kNotFound: its programs are not on
/// this machine. kUnavailable: it does not answer now. kInvalidArgument: it refuses. Messages are one line.
///
/// An engine that knows how much memory a worker got tells it in PIPE_MEMORY, without the ninth that
/// libraries take. Only Slurm has workers that are not alike.
///
/// A worker is started again, WorkerSet::starts times at most, if it ended with 75 (try again), if a signal
/// ended it, or if its host was lost. It gets SIGTERM before the engine ends it, and has at least 20 seconds
/// then.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Starts the workers. Returns the name of the job, a line of text, by which any later process can ask for
  /// it.
  virtual Result<std::string> Start(const WorkerSet& set, const std::stop_token& stop) = 0;
  /// A job that the engine no longer knows is over.
  virtual Result<EngineState> State(const std::string& job, const std::stop_token& stop) = 0;
  /// Asks all workers to end, and starts none again. OK also if the job is over.
  virtual Status Cancel(const std::string& job, const std::stop_token& stop) = 0;
  /// Tries held workers again. Only Slurm holds some.
  virtual Status Release(const std::vector<std::string>& /*held*/, const std::stop_token& /*stop*/) {
    return {};
  }
  /// The place of the workers' messages, for people.
  virtual std::string Messages() const = 0;
};

/// Array jobs of Slurm, by sbatch, squeue and scancel of this machine.
std::unique_ptr<Engine> NewSlurmEngine(EngineOptions options);

/// The script for `sbatch --array`: each task of the array is one worker.
std::string SlurmScript(const WorkerSet& set, const EngineOptions& options);

/// The words of each call of sbatch that starts a part of the workers, if an array has at most `largest`
/// tasks. The larger worker has an array of its own, unless `words` choose the memory.
std::vector<std::vector<std::string>> SlurmArrays(const WorkerSet& set, const std::vector<std::string>& words,
                                                  int largest);

// Engines whose workers a program on this machine keeps alive, and these programs.

/// Tasks of Ray, by a program on this machine that goes on without us.
std::unique_ptr<Engine> NewRayEngine(EngineOptions options);
/// Processes of this machine, which go on without us.
std::unique_ptr<Engine> NewLocalEngine(EngineOptions options);

/// The script of the workers on this machine. Its exit code: 0, or the first other one with which a worker
/// ended for good.
std::string LocalScript(const WorkerSet& set);

/// The program that runs the workers as tasks of Ray, in Python. It needs Ray alone.
std::string_view RayProgram();

/// The command that runs it from the file `program`.
std::vector<std::string> RayWords(const WorkerSet& set, const EngineOptions& options,
                                  const std::string& program);

}  // namespace pipeline
