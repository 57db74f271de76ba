#include "plugins/train/fit_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/config/cpu_time.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/fit_question.h"
#include "plugins/train/object_files.h"
#include "plugins/train/rows/row_facts.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTpuEnvironment = ".pipe/trainer-tpu";
constexpr std::string_view kCpu = "cpu";

Status WrongQuestion(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

Result<Json> OneStage(const Json& stages, const std::string& file, const std::string& name) {
  std::string names;
  const Json* found = nullptr;
  std::size_t count = 0;
  for (const Json& stage : stages.AsArray()) {
    if (stage["type"].AsString() != "train") continue;
    names += StrCat(names.empty() ? "" : ", ", stage["stage"].AsString());
    if (!name.empty() && stage["stage"].AsString() != name) continue;
    found = &stage;
    ++count;
  }
  if (count == 1) return *found;
  if (names.empty()) return WrongQuestion(StrCat(file, ": has no stage `train`"));
  return WrongQuestion(StrCat(file, ": ",
                              name.empty() ? "has several stages `train`; name one by --stage: "
                                           : StrCat("has no stage `train` called ", name, "; there are: "),
                              names));
}

/// Existing rows tell facts that the keys do not: rows of the same length have the vocabulary that the model
/// will have.
void FillFromRows(Json& question, const Json& stage, const PluginServices& call) {
  const std::string out(stage["makers"]["data"]["out"].AsString());
  if (out.empty() || out.find("://") != std::string::npos) return;  // no server is asked
  const std::string place = fs::absolute(out).string();
  const Result<RowFacts> rows = ReadRowFacts(place, place + "/MANIFEST.json", ReaderOf(*call.storage));
  if (!rows.ok()) return;
  const std::int64_t length = rows->facts["seq_len"].AsInt();
  const std::int64_t vocab = rows->facts["tokenizer"]["vocab_size"].AsInt();
  if (length < 1 || vocab < 1 || question["seq_len"].AsInt(length) != length) return;
  question["seq_len"] = length;
  question["vocab"] = vocab;
}

/// Takes `cpu` out of the slices of --on, and returns whether it was there.
bool TakeCpu(std::string& slices) {
  std::string others;
  bool found = false;
  for (std::size_t at = 0; at <= slices.size();) {
    const std::size_t end = std::min(slices.find(',', at), slices.size());
    const std::string one = slices.substr(at, end - at);
    if (one == kCpu)
      found = true;
    else
      others += StrCat(others.empty() ? "" : ",", one);
    at = end + 1;
  }
  if (found) slices = std::move(others);
  return found;
}

Status AnswerForCpu(const Json& question) {
  const std::optional<CpuTime> time = CpuTimeOf(question, UsableCores());
  if (!time) return Status(Code::kInternal, "the question lacks the shape of the rows");
  std::fputs(CpuAnswer(*time, UsableCores()).c_str(), stdout);
  return {};
}

/// The interpreter of an environment with libtpu: the one that the user named, else the one for this command,
/// else that of the stage.
Result<std::string> PythonWithTpu(const std::string& named, std::string_view of_stage) {
  if (!named.empty()) return FindPython(named);
  std::error_code error;
  if (fs::exists(kTpuEnvironment, error)) return FindPython(kTpuEnvironment);
  const std::string own(of_stage.empty() ? kDefaultEnvironment : of_stage);
  if (ExtraOf(own) == "tpu") return FindPython(own);
  return Status(
      Code::kFailedPrecondition,
      StrCat("libtpu compiles for slices that are not here, and neither ", kTpuEnvironment, " nor ", own,
             " has it; make it with: pipe trainer setup --dir ", kTpuEnvironment, " --extra tpu"));
}

}  // namespace

Status RunFit(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("trainer", "fit");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
  ASSIGN_OR_RETURN(const Json set, SettingsOf(words));
  if (words.alone.size() != 1)
    return WrongQuestion(
        StrCat(UsageOf(command, "pipe trainer "), "; FILE is a pipeline file, or the job.json of a run"));
  const std::string& file = words.alone.front();
  std::vector<std::string> asked = {"-m", "pipe_trainer.fit"};
  std::string slices = words.Flag("--on", "");
  const bool for_cpu = TakeCpu(slices);
  std::string input;
  std::string environment;
  if (file.ends_with(".json")) {
    if (!set.AsObject().empty() || words.flags.contains("--stage"))
      return WrongQuestion(StrCat(file, ": is no pipeline file, so --set and --stage mean nothing"));
    if (for_cpu) return WrongQuestion(StrCat(file, ": --on cpu is answered for a pipeline file"));
    asked.push_back(fs::absolute(file).string());
  } else {
    Json request;
    request["file"] = file;
    request["set"] = set;
    ASSIGN_OR_RETURN(const Json answer, call.pipeline(request));
    ASSIGN_OR_RETURN(const Json stage, OneStage(answer["stages"], file, words.Flag("--stage", "")));
    environment = stage["config"]["environment"].AsString();
    if (IsExternal(stage["config"]))
      return WrongQuestion(
          StrCat(file, ": stage '", stage["stage"].AsString(),
                 "' has `trainer: external`; only the bundled trainer is compiled ahead of time"));
    Json question = FitQuestion(stage);
    const std::string answers = FitAnswers(question);
    FillFromRows(question, stage, call);
    for (const char* member : {"seq_len", "vocab"})
      if (!question.Has(member))
        return Status(Code::kFailedPrecondition,
                      StrCat(file, ": ", member,
                             " of the rows is not known before they are made: run the pipeline as far "
                             "as ",
                             stage["stage"].AsString()));
    if (for_cpu) {
      RETURN_IF_ERROR(AnswerForCpu(question));
      if (slices.empty()) return {};
    }
    input = question.Dump();
    asked.insert(asked.end(), {"-", "--keep", fs::absolute(answers).string(), "--mark", FitMark()});
  }
  if (words.flags.contains("--on")) asked.insert(asked.end(), {"--on", slices});
  if (words.flags.contains("--price")) asked.insert(asked.end(), {"--price", words.Flag("--price", "")});
  ASSIGN_OR_RETURN(const std::string python, PythonWithTpu(words.Flag("--environment", ""), environment));
  return PrintTrainer(python, std::move(asked), input, call);
}

}  // namespace pipeline
