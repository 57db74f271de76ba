// The plugin, and the two symbols of its library.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/native/build_id.h"
#include "plugins/native/entry.h"
#include "plugins/train/commands.h"
#include "plugins/train/config/check_config.h"
#include "plugins/train/config/cpu_time.h"
#include "plugins/train/description.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/external_training.h"
#include "plugins/train/external/preset_expansion.h"
#include "plugins/train/fit_question.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/input_check.h"
#include "plugins/train/slice/find_position.h"
#include "plugins/train/train_job.h"
#include "plugins/train/training.h"

namespace pipeline {
namespace {

/// Memory of this process: logs, lines, one tokenizer, transfers between this machine and a bucket. It does
/// not include the trainer's own memory, which belongs to another process.
constexpr std::int64_t kMemory = 128 << 20;

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

/// In a dry run, names the position of this machine if it is one of several hosts.
Status TellPosition(const Json& settings, const Json& dry_run, const PluginServices& call) {
  if (!dry_run.is_object()) return {};
  ASSIGN_OR_RETURN(const HostPosition position, FindPosition(settings, Variable, call));
  if (position.hosts > 1)
    call.log(Level::kInfo, StrCat("stage '", dry_run["stage"].AsString(), "': this is host ", position.host,
                                  " of ", position.hosts, ", by ", position.source));
  return {};
}

Status PrepareExternal(const Json& settings, const Json& dry_run, const PluginServices& call) {
  if (dry_run.is_object())
    call.log(Level::kInfo, StrCat("stage '", dry_run["stage"].AsString(), "': ", CommandLine(settings)));
  RETURN_IF_ERROR(TellPosition(settings, dry_run, call));
  ASSIGN_OR_RETURN(const ExternalSettings external, ParseExternal(settings));
  ASSIGN_OR_RETURN(const std::string warning, CheckCheckout(settings));
  if (!warning.empty()) call.log(Level::kWarning, warning);
  return CheckProgram(EnvironmentOf(settings), external.command.front());
}

/// Names a training that takes years here, before it begins. `stage`: as in plugins/ABI.md, section 12; null:
/// only the stage is prepared, without a run.
void WarnOfCpu(const Json& settings, const Json& stage, const PluginServices& call) {
  const std::string environment = EnvironmentOf(settings);
  const std::string extra = ExtraOf(environment);
  if (!stage.is_object() || IsSomebodysOwn(environment) || (extra != "cpu" && !extra.empty())) return;
  const std::optional<CpuTime> time = CpuTimeOf(FitQuestion(stage), UsableCores());
  const std::string warning = time ? CpuWarning(*time, UsableCores()) : std::string();
  if (!warning.empty())
    call.log(Level::kWarning, StrCat("stage '", stage["stage"].AsString(), "': ", warning));
}

class TrainPlugin final : public Plugin {
 public:
  explicit TrainPlugin(const std::string& path) : Plugin("train", "1.0.0", path, Description()) {}

  Status Check(const Json& request, const PluginServices&) const override {
    RETURN_IF_ERROR(CheckSettings(request["config"]));
    return CheckMakers(request["config"], request["makers"]);
  }

  Result<Json> Forecast(const Json&, const PluginServices&) const override {
    return Json(Json::Object{{"memory", kMemory}});
  }

  Status Prepare(const Json& request, const PluginServices& call) const override {
    const Json& settings = request["config"];
    const Json& dry_run = request["dry_run"];
    if (IsExternal(settings)) return PrepareExternal(settings, dry_run, call);
    WarnOfCpu(settings, dry_run.is_object() ? dry_run : request["stage"], call);
    if (dry_run.is_object()) {
      RETURN_IF_ERROR(TellPosition(settings, dry_run, call));
      for (const std::string& line : KeptFit(dry_run)) call.log(Level::kInfo, line);
    }
    return FindPython(EnvironmentOf(settings)).status();
  }

  Result<Json> FindHost(const Json& request, const PluginServices& call) const override {
    ASSIGN_OR_RETURN(const HostPosition position, FindPosition(request["config"], Variable, call));
    return PositionToJson(position);
  }

  Result<Json> Expand(const Json& request, const PluginServices&) const override {
    std::vector<std::string> named_inputs;
    for (const Json& name : request["named_inputs"].AsArray()) named_inputs.emplace_back(name.AsString());
    const Json& settings = request["config"];
    if (!IsExternal(settings) && !IsSomebodysOwn(EnvironmentOf(settings))) {
      const bool has_init =
          std::find(named_inputs.begin(), named_inputs.end(), "init_from") != named_inputs.end();
      RETURN_IF_ERROR(CheckTrainerConfig(settings["config"], has_init));
    }
    return ExpandKeys(settings, named_inputs);
  }

  Result<Json> Run(const Json& request, const PluginServices& call) const override {
    ASSIGN_OR_RETURN(TrainJob job, ParseTrainJob(request));
    if (!job.has_position) RETURN_IF_ERROR(CheckAlone(job.settings, Variable, call));
    ASSIGN_OR_RETURN(const HostTiming timing,
                     TimingFor(std::chrono::minutes(job.hosts_wait_min()), Variable("PIPE_TEST_HOST_TIMES")));
    return Train(std::move(job), timing, call);
  }

  Result<int> RunCommand(const std::vector<std::string>& words, const PluginServices& call) const override {
    return RunTrainCommand(words, call);
  }
};

}  // namespace
}  // namespace pipeline

extern "C" const char pipe_native_build[] = PIPE_BUILD_ID;

extern "C" void pipe_native_plugin(const std::string& path, std::unique_ptr<const pipeline::Plugin>& made) {
  made = std::make_unique<pipeline::TrainPlugin>(path);
}
