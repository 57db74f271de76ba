#include "cli/workspace/last_settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/typed_file.h"
#include "cli/workspace/books.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/run_log.h"

namespace pipeline {

namespace {

constexpr std::string_view kSet = "--set", kVars = "--vars";

/// Commands whose line in the log tells the settings of a run.
constexpr std::array<std::string_view, 4> kRunning = {"run", "retry", "plan", "submit"};

struct Setting {
  std::string flag;  // --set or --vars
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// Returns the settings among `words`, in their order. A flag may have several values, and `--set=NAME=VALUE`
/// is one word.
std::vector<Setting> SettingsAmong(const std::vector<std::string>& words) {
  std::vector<Setting> settings;
  std::string_view flag;  // of the next word
  for (const std::string& word : words) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    const bool is_setting = name == kSet || name == kVars;
    if (is_setting && name.size() < word.size())
      settings.push_back({std::string(name), word.substr(name.size() + 1)});
    else if (!is_setting && !word.starts_with('-') && !flag.empty())
      settings.push_back({std::string(flag), word});
    flag = is_setting && name.size() == word.size() ? name
           : word.starts_with('-') || flag == kVars ? std::string_view()
                                                    : flag;
  }
  return settings;
}

/// Returns the settings of the last run that begins a run; none if there is no such run.
std::vector<Setting> SettingsOf(const std::vector<RunLine>& runs) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const std::vector<std::string> words = WordsOf(run->command);
    if (words.size() > 1 && std::find(kRunning.begin(), kRunning.end(), words[1]) != kRunning.end())
      return SettingsAmong(words);
  }
  return {};
}

/// Returns "the settings --set out=a", or "no --set".
std::string Shown(const std::vector<Setting>& settings) {
  std::vector<std::string> words;
  for (const Setting& setting : settings) words.insert(words.end(), {setting.flag, setting.value});
  return words.empty() ? StrCat("no ", kSet) : StrCat("the settings ", CommandLine(words));
}

}  // namespace

Result<Call> WithLastSettings(const Call& call, PipelineOptions& options, bool needs_all) {
  const std::vector<Setting> given = SettingsAmong(call.words);
  if (!given.empty() && needs_all) return call;
  const Attendance attendance({});
  PipelineSpec spec;
  spec.name = NameOfPipeline(options.file);
  if (spec.name.empty()) return call;  // the mistake is told when the file is loaded
  ASSIGN_OR_RETURN(const std::unique_ptr<RunLog> log, ReadRunLog(WorkPlaceOf(options, spec)));
  const std::vector<Setting> settings = SettingsOf(log->Runs());
  if (!given.empty()) {
    if (given != settings && !log->Runs().empty())
      LogInfo(StrCat("the last run had ", Shown(settings), "; this is its work"));
    return call;
  }
  std::vector<std::string> words, lacking;
  for (const Setting& setting : settings) {
    if (setting.value.find(kHiddenValue) != std::string::npos) {
      lacking.push_back(StrCat(kSet, " ", setting.value.substr(0, setting.value.find('=')), "=…"));
      continue;
    }
    words.insert(words.end(), {setting.flag, setting.value});
  }
  if (words.empty() && lacking.empty()) return call;
  std::string needed;
  for (const std::string& one : lacking) needed += StrCat(" ", one);
  const std::string shown = words.empty() ? std::string() : StrCat(" ", CommandLine(words));
  if (!lacking.empty()) {
    const std::string why =
        StrCat(options.file, ": the last run had", needed, ", whose value has a secret and is not kept");
    if (needs_all)
      return Status(Code::kFailedPrecondition,
                    StrCat(why, "; give", needed, shown.empty() ? "" : StrCat(" and", shown), " again"));
    LogWarning(StrCat(why, "; what depends on it is not looked at"));
  }
  for (std::size_t at = 0; at < words.size(); at += 2) {
    if (words[at] != kVars) continue;
    ASSIGN_OR_RETURN(const Assignments read, ReadVarsFile(words[at + 1]));
    options.set.insert(options.set.end(), read.begin(), read.end());
  }
  for (std::size_t at = 0; at < words.size(); at += 2)
    if (const std::size_t equals = words[at + 1].find('='); words[at] == kSet && equals != std::string::npos)
      options.set.emplace_back(words[at + 1].substr(0, equals), words[at + 1].substr(equals + 1));
  if (!words.empty()) LogInfo(StrCat("as in the last run:", shown, "; give --set to choose others"));
  Call with = call;
  with.words.insert(with.words.end(), words.begin(), words.end());
  return with;
}

}  // namespace pipeline
