#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/live/status_display.h"
#include "cli/terminal/args.h"
#include "cli/terminal/command_table.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/plugins.h"
#include "dag/pipeline_file/mistake.h"
#include "dag/pipeline_file/stage_type.h"
#include "plugins/native/storage.h"
#include "plugins/plugin_view.h"

namespace pipeline {

namespace {

/// Null: the plugin has no command of that name.
const CommandEntry* FindCommand(const Plugin& plugin, const std::string& name) {
  const auto& commands = plugin.description().commands;
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandEntry& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

/// Returns {"stages": [...]}: the stages of the plugin `name` in the file that `request` names. Mistakes in
/// the file go to standard error. No other plugin that the file names by a path is loaded.
Result<Json> StagesForPlugin(const std::string& name, const Json& request) {
  PipelineOptions options;
  options.file = request["file"].AsString();
  for (const auto& [var, value] : request["set"].AsObject())
    options.set.emplace_back(var, std::string(value.AsString()));
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options, LoadPurpose::kCheck);
  if (!loaded)
    return Status(Code::kInvalidArgument, StrCat(options.file, ": cannot be read, or has mistakes"));
  Json stages{Json::Array{}};
  const std::string prefix = StrCat(name, ".");
  for (const NodeId node : loaded->graph.nodes().ids())
    if (std::string_view(loaded->graph[node].spec->type->name).starts_with(prefix))
      stages.Append(StageForPlugin(loaded->graph, node));
  Json answer;
  answer["stages"] = std::move(stages);
  return answer;
}

/// Shows how far a command of a plugin is: a line on a terminal, and in a pipe a line every ten seconds.
class CommandProgress {
 public:
  void Take(const Json& event) {
    const std::string_view text = event["text"].AsString();
    const bool ends =
        text.empty() || (event["of"].AsInt() > 0 && event["done"].AsInt() >= event["of"].AsInt());
    const Lock lock(mutex_);
    if (!display_) display_.emplace(/*json=*/false);
    if (display_->has_terminal()) {
      Draw(text, ends);
      return;
    }
    const std::chrono::nanoseconds now = SystemClock().Monotonic();
    if (ends || now - told_ < kPeriod) return;
    told_ = now;
    LogInfo(text);
  }

 private:
  static constexpr std::chrono::seconds kPeriod{10};
  static constexpr std::size_t kMostText = 500;  // bytes; one line

  /// At the end nothing stays: the command may print its result now.
  void Draw(std::string_view text, bool ends) REQUIRES(mutex_) {
    display_->Show({Readable(text, kMostText)});
    if (ends && drawing_) display_->Stop();
    if (!ends && !drawing_) display_->Start();
    drawing_ = !ends;
  }

  Mutex mutex_;  // a plugin tells events from any thread
  std::optional<StatusDisplay> display_ GUARDED_BY(mutex_);
  bool drawing_ GUARDED_BY(mutex_) = false;
  std::chrono::nanoseconds told_ GUARDED_BY(mutex_) = SystemClock().Monotonic();
};

bool TakesValue(const CommandEntry& command, const std::string& flag) {
  const auto is_flag = [&flag](const CommandWord& word) {
    return !word.value.empty() && std::find(word.flags.begin(), word.flags.end(), flag) != word.flags.end();
  };
  return std::any_of(command.words.begin(), command.words.end(), is_flag) ||
         std::any_of(command.commands.begin(), command.commands.end(),
                     [&](const CommandEntry& below) { return TakesValue(below, flag); });
}

/// The value of a flag is no such word.
bool AsksForHelp(const CommandEntry& command, const std::vector<std::string>& words) {
  for (std::size_t at = 1; at < words.size(); ++at)
    if ((words[at] == "--help" || words[at] == "-h") && !TakesValue(command, words[at - 1])) return true;
  return false;
}

/// Returns the help of the command that `words` name, or of its subcommand.
std::string HelpFor(const CommandEntry& command, const std::vector<std::string>& words) {
  for (const CommandEntry& below : command.commands)
    if (words.size() > 1 && words[1] == below.name)
      return CommandHelp(below, StrCat("pipe ", command.name, " "));
  return CommandHelp(command, "pipe ");
}

/// The commands of the program, and behind them those of all plugins that are found.
CommandTable AllCommands(const Call& call) {
  CommandTable table = CommandTableOf(call.commands);
  Plugins plugins;
  for (const std::string& path : plugins.loader().List())
    if (const Result<std::shared_ptr<const Plugin>> plugin = plugins.loader().Load(path); plugin.ok())
      table.commands.insert(table.commands.end(), (*plugin)->description().commands.begin(),
                            (*plugin)->description().commands.end());
  return table;
}

int PrintCompletion(const std::string& shell, const Call& call) {
  const CommandTable table = AllCommands(call);
  if (shell == "zsh") return PrintText(ZshCompletion(table));
  return PrintText(shell == "fish" ? FishCompletion(table) : BashCompletion(table));
}

}  // namespace

/// ParseArgs turns `help COMMAND` into `COMMAND --help`, so this command prints the help of the program
/// alone.
Command HelpCommand() {
  return {
      .name = std::string(kHelpCommand),
      .help = "Print all commands, or the words of one: pipe help run, pipe help trainer setup",
      .run = [](const Call& call) { return PrintText(ProgramHelp(AllCommands(call))); },
  };
}

Command ManualCommand() {
  return {
      .name = "manual",
      .help = "Print the manual page: pipe manual | man -l -",
      .run = [](const Call& call) { return PrintText(ManualPage(AllCommands(call), PIPE_VERSION)); },
  };
}

Command CompletionCommand() {
  const auto shell = std::make_shared<std::string>();
  return {
      .name = "completion",
      .help = "Print the completion of these words for a shell: source <(pipe completion bash)",
      .words = {{.value = "SHELL",
                 .help = "bash, zsh or fish",
                 .required = true,
                 .choices = {"bash", "zsh", "fish"},
                 .to = shell.get()}},
      .run = [shell](const Call& call) { return PrintCompletion(*shell, call); },
  };
}

int RunPluginCommand(const Call& call) {
  SignalWatch signals;
  const Attendance attendance(signals.token());
  Plugins plugins;
  std::vector<std::string> refused, names;
  for (const std::string& path : plugins.loader().List()) {
    const Result<std::shared_ptr<const Plugin>> plugin = plugins.loader().Load(path);
    if (!plugin.ok()) {
      refused.emplace_back(plugin.status().message());
      continue;
    }
    for (const CommandEntry& known : (*plugin)->description().commands) names.push_back(known.name);
    const CommandEntry* const command = FindCommand(**plugin, call.words.front());
    if (command == nullptr) continue;
    if (command->has_words && AsksForHelp(*command, call.words)) {
      std::fputs(TerminalText(HelpFor(*command, call.words)).c_str(), stdout);
      return kExitDone;
    }
    PluginServices services;
    // The mistakes of a file were told where it was read; the plugin would only say that there are some.
    bool told = false;
    services.log = [&told, log = plugins.host().log](Level level, std::string_view line) {
      if (level != Level::kError || !told) log(level, line);
    };
    const PluginStorage storage({.open_store = plugins.host().open_store}, signals.token());
    services.storage = &storage;
    CommandProgress progress;
    services.event = [&](const Json& event) {
      if (event["kind"].AsString() == "note") services.log(Level::kInfo, event["text"].AsString());
      if (event["kind"].AsString() == "progress") progress.Take(event);
    };
    services.pipeline = [name = (*plugin)->name(), &told](const Json& request) {
      Result<Json> stages = StagesForPlugin(name, request);
      told = !stages.ok();
      return stages;
    };
    services.stop = signals.token();
    // The program that it started ends in its own time.
    const SignalWatch::Finishing finishing(signals);
    const Result<int> code = (*plugin)->RunCommand(call.words, services);
    if (code.ok()) return signals.exit_code() != 0 ? signals.exit_code() : *code;
    LogError(code.status().message());
    return kExitRefused;
  }
  // A refused plugin may be the one with this command.
  for (const std::string& message : refused) LogWarning(message);
  const std::string hint = DidYouMean(call.words.front(), names);
  const std::string why =
      hint.empty() ? call.otherwise : StrCat("pipe: there is no command '", call.words.front(), "'", hint);
  std::fprintf(stderr, "%s\n", TerminalText(why).c_str());
  return kExitRefused;
}

}  // namespace pipeline
