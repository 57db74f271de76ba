#include "cli/submit/kept_engine.h"

#include "base/str.h"
#include "cli/submit/detached.h"
#include "cli/submit/engine_tool.h"
#include "cli/submit/local_script.h"
#include "cli/submit/ray_program.h"

namespace pipeline {

namespace {

/// A program on this machine keeps the workers.
class KeptEngine : public Engine {
 public:
  KeptEngine(EngineOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  Result<EngineState> State(const std::string& job, const std::stop_token& /*stop*/) override {
    ASSIGN_OR_RETURN(const DetachedState found, StateOfDetached(job, options_.directory, name_));
    EngineState state;
    state.over = !found.runs;
    state.code = found.code;
    state.told = found.runs ? "running" : "ended";
    return state;
  }

  Status Cancel(const std::string& job, const std::stop_token& /*stop*/) override {
    return StopDetached(job);
  }

  std::string Messages() const override { return options_.directory; }

 protected:
  const EngineOptions options_;
  const std::string name_;  // of the program, in the names of its files
};

class LocalEngine final : public KeptEngine {
 public:
  explicit LocalEngine(EngineOptions options) : KeptEngine(std::move(options), "workers") {}

  Result<std::string> Start(const WorkerSet& set, const std::stop_token& /*stop*/) override {
    const std::string script = StrCat(options_.directory, "/workers.sh");
    RETURN_IF_ERROR(WriteEngineFile(script, LocalScript(set)));
    return StartDetached({"/bin/bash", script}, options_.directory, name_);
  }
};

constexpr const char* kFindRay =
    "import importlib.util, sys; sys.exit(None if importlib.util.find_spec('ray') else 'has no Ray')";

class RayEngine final : public KeptEngine {
 public:
  explicit RayEngine(EngineOptions options) : KeptEngine(std::move(options), "ray_workers") {}

  Result<std::string> Start(const WorkerSet& set, const std::stop_token& stop) override {
    const Result<std::string> found = CallTool({options_.python, "-c", kFindRay}, stop);
    if (found.status().code() == Code::kCancelled) return found.status();
    if (!found.ok())
      return Status(Code::kNotFound, StrCat(found.status().message(),
                                            "; name a Python that has it, in the version of "
                                            "the cluster's hosts"));
    const std::string program = StrCat(options_.directory, "/ray_workers.py");
    RETURN_IF_ERROR(WriteEngineFile(program, RayProgram()));
    return StartDetached(RayWords(set, options_, program), options_.directory, name_);
  }
};

}  // namespace

std::unique_ptr<Engine> NewLocalEngine(EngineOptions options) {
  return std::make_unique<LocalEngine>(std::move(options));
}

std::unique_ptr<Engine> NewRayEngine(EngineOptions options) {
  return std::make_unique<RayEngine>(std::move(options));
}

}  // namespace pipeline
