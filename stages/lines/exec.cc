#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "stages/lines/exec_source.h"
#include "stages/lines/line_stages.h"

namespace pipeline {

namespace {

std::vector<std::string> Texts(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.AsArray()) texts.emplace_back(text.AsString());
  return texts;
}

Status RefuseExec(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

Status CheckExec(const Json& config, Schema& schema) {
  const std::vector<std::string> command = Texts(config["command"]);
  if (command.empty() || command.front().empty())
    return RefuseExec("command: names no program; write a list such as [python3, clean.py]");
  for (const std::string& word : command)
    if (word.find('\0') != std::string::npos) return RefuseExec("command: a word holds a NUL");
  const double timeout = config["timeout"].AsDouble();
  if (!(timeout > 0 && timeout <= 1e6))
    return RefuseExec("timeout: must be above 0 and at most 1000000 seconds");
  if (config["max_output"].AsInt() == 0) return RefuseExec("max_output: must be above 0");
  for (const std::string_view column : {"cuts", "ids", "fields"})
    if (schema.columns.count(column) != 0)
      return RefuseExec(StrCat("a command gives other text than the column '", column,
                               "' points into; put it in front of the stage that makes '", column, "'"));
  for (const std::string_view column : {"split", "label"})
    if (config["lines"].AsString() == "any" && schema.columns.count(column) != 0)
      return RefuseExec(StrCat("with `lines: any` the record of a line is unknown, so the column '", column,
                               "' is lost; put it in front of the stage that makes '", column, "'"));
  return {};
}

bool IsInterpreter(std::string_view program) {
  constexpr std::array<std::string_view, 9> kNames = {"bash",   "dash", "node", "perl",   "pypy3",
                                                      "python", "ruby", "sh",   "Rscript"};
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return name.starts_with("python3") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Returns the file that `command` runs: a program with a path, or the script behind an interpreter. Empty:
/// it is searched in PATH, or it is unknown, as behind options with a value.
std::string_view FileOf(const std::vector<std::string>& command) {
  if (command.front().find('/') != std::string::npos && !IsInterpreter(command.front()))
    return command.front();
  if (!IsInterpreter(command.front())) return {};
  for (std::size_t at = 1; at < command.size(); ++at) {
    const std::string_view word = command[at];
    if (!word.starts_with('-')) return word;
    if (word.size() != 2 || std::string_view("uBsEIOS").find(word[1]) == std::string_view::npos) return {};
  }
  return {};
}

/// Says that the command is absent before hours are spent on its input.
Status PrepareExec(const Json& config) {
  const std::vector<std::string> command = Texts(config["command"]);
  const std::string file(FileOf(command));
  if (file.empty()) return {};
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return Status(Code::kNotFound, StrCat("command: ", file,
                                          " is not there; a path counts from the directory in which "
                                          "pipe is called: ",
                                          std::filesystem::current_path(error).string()));
  if (file == command.front() && access(file.c_str(), X_OK) != 0)
    return RefuseExec(StrCat("command: ", file, " may not be run: chmod +x ", file));
  return {};
}

class Exec final : public ReaderStage {
 public:
  explicit Exec(ExecRule rule) : rule_(std::move(rule)) {}
  Result<std::unique_ptr<Source>> Wrap(ReaderRequest request) const override {
    return OpenExecSource(rule_, std::move(request));
  }

 private:
  const ExecRule rule_;
};

}  // namespace

StageType ExecType() {
  StageType type;
  type.name = "exec";
  type.help = "Sends the lines of each partition through a command and takes its lines for records.";
  type.keys = {
      {"command", ValueType::kStrings, "", "The program and its arguments, as a list; no shell takes part."},
      {"version", ValueType::kString, "1",
       "Raise it when the command gives other lines than before and nothing else here says so."},
      {"files", ValueType::kStrings, "[]",
       "Scripts and models that the command reads; their contents are part of the recipe, their paths are "
       "not.",
       Effect::kNone},
      Choice("lines", "same", {"same", "any"},
             "Whether each line answers one record, in order, or any line may come of any record."),
      Choice(
          "framing", "lines", {"lines", "json"},
          "How a record is a line: as it is, or as a JSON object with a `text`, which may hold line ends."),
      {"deterministic", ValueType::kBoolean, "false",
       "Whether the same records always give the same lines; if not, readers depend on the actual lines.",
       Effect::kNone},
      {"timeout", ValueType::kNumber, "600",
       "Seconds without a byte read or written after which the command counts as hanging.", Effect::kNone},
      {"max_output", ValueType::kBytes, "4GiB", "How much the command may write for one partition.",
       Effect::kNone},
  };
  type.reads = {"text"};
  type.check = CheckExec;
  type.prepare = PrepareExec;
  type.files = [](const Json& config) -> Result<std::vector<StageFile>> {
    std::vector<StageFile> files;
    for (std::string& path : Texts(config["files"])) {
      std::string name = StrCat("file ", files.size());  // by position, because a path is in no key
      files.push_back({std::move(name), std::move(path), false});
    }
    return files;
  };
  type.reasons = {{"invalid_utf8", "Invalid UTF-8 in the output of the command became U+FFFD."},
                  {"nul", "A NUL in the output of the command became U+FFFD."}};
  type.kind = ReaderKind{
      .make = [](const StageContext& context) -> Result<std::unique_ptr<ReaderStage>> {
        const Json& config = context.config;
        ExecRule rule;
        rule.stage = context.name;
        rule.command = Texts(config["command"]);
        rule.framing = config["framing"].AsString() == "json" ? ExecFraming::kJson : ExecFraming::kLines;
        rule.same_lines = config["lines"].AsString() != "any";
        rule.timeout = std::chrono::milliseconds(std::llround(config["timeout"].AsDouble() * 1000));
        rule.max_output = static_cast<std::uint64_t>(config["max_output"].AsInt());
        return std::make_unique<Exec>(std::move(rule));
      },
      .varies = [](const Json& config) { return !config["deterministic"].AsBool(); }};
  return type;
}

}  // namespace pipeline
