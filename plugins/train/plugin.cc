// The one exported symbol. No exception leaves it: plugins/ABI.md, section 2.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/plugin_abi.h"
#include "plugins/train/commands.h"
#include "plugins/train/config/check_config.h"
#include "plugins/train/config/cpu_time.h"
#include "plugins/train/description.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/external_training.h"
#include "plugins/train/external/preset_expansion.h"
#include "plugins/train/fit_question.h"
#include "plugins/train/host_call.h"
#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/input_check.h"
#include "plugins/train/slice/find_position.h"
#include "plugins/train/train_job.h"
#include "plugins/train/trainer_environment.h"
#include "plugins/train/training.h"

namespace pipeline {
namespace {

/// Runs `body`, which returns a Status; an exception for lack of memory becomes a failure.
template <class Body>
pipe_code Guarded(const pipe_call* call, const Body& body) {
  try {
    const HostCall host(*call);
    const Status status = body(host);
    return status.ok() ? PIPE_OK : host.Fail(status);
  } catch (...) {
    call->fail(call->ctx, TextOf("out of memory, or a bug of the plugin `train`"));
    return PIPE_INTERNAL;
  }
}

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

pipe_code Describe(const pipe_call* call) {
  call->reply(call->ctx, TextOf(Description()));
  return PIPE_OK;
}

pipe_code Check(const pipe_call* call, pipe_text request) {
  return Guarded(call, [&](const HostCall&) -> Status {
    ASSIGN_OR_RETURN(const Json asked, Json::Parse(ViewOf(request)));
    RETURN_IF_ERROR(CheckSettings(asked["config"]));
    return CheckMakers(asked["config"], asked["makers"]);
  });
}

pipe_code Forecast(const pipe_call* call, pipe_text) {
  // Memory of this process: logs, lines, one tokenizer, transfers between this machine and a bucket. It does
  // not
  // include the trainer's own memory, which belongs to another process.
  call->reply(call->ctx, TextOf(R"({"memory": 134217728})"));
  return PIPE_OK;
}

/// In a dry run, names the position of this machine if it is one of several hosts.
Status TellPosition(const Json& settings, const Json& dry_run, const HostCall& host) {
  if (!dry_run.is_object()) return {};
  ASSIGN_OR_RETURN(const HostPosition position, FindPosition(settings, Variable, host));
  if (position.hosts > 1)
    host.Log(Level::kInfo, StrCat("stage '", dry_run["stage"].AsString(), "': this is host ", position.host,
                                  " of ", position.hosts, ", by ", position.source));
  return {};
}

Status PrepareExternal(const Json& settings, const Json& dry_run, const HostCall& host) {
  if (dry_run.is_object())
    host.Log(Level::kInfo, StrCat("stage '", dry_run["stage"].AsString(), "': ", CommandLine(settings)));
  RETURN_IF_ERROR(TellPosition(settings, dry_run, host));
  ASSIGN_OR_RETURN(const ExternalSettings external, ParseExternal(settings));
  ASSIGN_OR_RETURN(const std::string warning, CheckCheckout(settings));
  if (!warning.empty()) host.Log(Level::kWarning, warning);
  return CheckProgram(EnvironmentOf(settings), external.command.front());
}

/// Names a training that takes years here, before it begins. `stage`: as in plugins/ABI.md, section 12; null:
/// an older host does not tell.
void WarnOfCpu(const Json& settings, const Json& stage, const HostCall& host) {
  const std::string environment = EnvironmentOf(settings);
  const std::string extra = ExtraOf(environment);
  if (!stage.is_object() || IsSomebodysOwn(environment) || (extra != "cpu" && !extra.empty())) return;
  const std::optional<CpuTime> time = CpuTimeOf(FitQuestion(stage), UsableCores());
  const std::string warning = time ? CpuWarning(*time, UsableCores()) : std::string();
  if (!warning.empty())
    host.Log(Level::kWarning, StrCat("stage '", stage["stage"].AsString(), "': ", warning));
}

pipe_code Prepare(const pipe_call* call, pipe_text request) {
  return Guarded(call, [&](const HostCall& host) -> Status {
    ASSIGN_OR_RETURN(const Json asked, Json::Parse(ViewOf(request)));
    const Json& settings = asked["config"];
    if (IsExternal(settings)) return PrepareExternal(settings, asked["dry_run"], host);
    WarnOfCpu(settings, asked["dry_run"].is_object() ? asked["dry_run"] : asked["stage"], host);
    if (asked["dry_run"].is_object()) {
      RETURN_IF_ERROR(TellPosition(settings, asked["dry_run"], host));
      for (const std::string& line : KeptFit(asked["dry_run"])) host.Log(Level::kInfo, line);
    }
    return FindPython(EnvironmentOf(settings)).status();
  });
}

pipe_code Expand(const pipe_call* call, pipe_text request) {
  return Guarded(call, [&](const HostCall& host) -> Status {
    ASSIGN_OR_RETURN(const Json asked, Json::Parse(ViewOf(request)));
    std::vector<std::string> named_inputs;
    for (const Json& name : asked["named_inputs"].AsArray()) named_inputs.emplace_back(name.AsString());
    const Json& settings = asked["config"];
    if (!IsExternal(settings) && !IsSomebodysOwn(EnvironmentOf(settings))) {
      const bool has_init =
          std::find(named_inputs.begin(), named_inputs.end(), "init_from") != named_inputs.end();
      RETURN_IF_ERROR(CheckTrainerConfig(settings["config"], has_init));
    }
    ASSIGN_OR_RETURN(const Json answer, ExpandKeys(settings, named_inputs));
    host.Reply(answer);
    return {};
  });
}

pipe_code FindHostOf(const pipe_call* call, pipe_text request) {
  return Guarded(call, [&](const HostCall& host) -> Status {
    ASSIGN_OR_RETURN(const Json asked, Json::Parse(ViewOf(request)));
    ASSIGN_OR_RETURN(const HostPosition position, FindPosition(asked["config"], Variable, host));
    host.Reply(PositionToJson(position));
    return {};
  });
}

pipe_code Run(const pipe_call* call, pipe_text request) {
  return Guarded(call, [&](const HostCall& host) -> Status {
    ASSIGN_OR_RETURN(TrainJob job, ParseTrainJob(ViewOf(request)));
    if (!job.has_position) RETURN_IF_ERROR(CheckAlone(job.settings, Variable, host));
    ASSIGN_OR_RETURN(const HostTiming timing,
                     TimingFor(std::chrono::minutes(job.hosts_wait_min()), Variable("PIPE_TEST_HOST_TIMES")));
    ASSIGN_OR_RETURN(const Json answer, Train(std::move(job), timing, host));
    host.Reply(answer);
    return {};
  });
}

std::int32_t RunCommand(const pipe_call* call, std::int32_t argc, const char* const* argv) {
  std::int32_t code = 1;
  const pipe_code guarded = Guarded(call, [&](const HostCall& host) -> Status {
    std::string why;
    code = RunTrainCommand(std::vector<std::string>(argv, argv + argc), host, why);
    return why.empty() ? Status() : Status(Code::kInvalidArgument, why);
  });
  return guarded == PIPE_INTERNAL ? 1 : code;
}

const void* Extension(const char* id) {
  static const pipe_commands_1 commands = {sizeof(pipe_commands_1), 0, RunCommand};
  static const pipe_prepare_1 prepare = {sizeof(pipe_prepare_1), 0, Prepare};
  const std::string_view wanted = id;
  static const pipe_hosts_1 hosts = {sizeof(pipe_hosts_1), 0, FindHostOf};
  static const pipe_expand_1 expand = {sizeof(pipe_expand_1), 0, Expand};
  if (wanted == PIPE_EXPAND_1) return &expand;
  if (wanted == PIPE_PREPARE_1) return &prepare;
  if (wanted == PIPE_HOSTS_1) return &hosts;
  return wanted == PIPE_COMMANDS_1 ? &commands : nullptr;
}

}  // namespace
}  // namespace pipeline

extern "C" const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin),
                                     PIPE_ABI_MAJOR,
                                     PIPE_ABI_MINOR,
                                     0,
                                     "train",
                                     "1.0.0",
                                     pipeline::Describe,
                                     pipeline::Check,
                                     pipeline::Forecast,
                                     pipeline::Run,
                                     pipeline::Extension};
  return &plugin;
}
