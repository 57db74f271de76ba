#include "plugins/train/model/predict_command.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/random_name.h"
#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/command_words.h"
#include "plugins/train/link_files.h"
#include "plugins/train/model/named_run.h"
#include "plugins/train/trainer_output.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStandard = "-";  // the standard input or output

Status CheckInput(const std::string& file) {
  std::error_code error;
  if (file == kStandard || (fs::exists(file, error) && !fs::is_directory(file, error))) return {};
  return Status(Code::kNotFound, StrCat(file, ": is no file; name one with a text on each line"));
}

/// Where answers are until all are there; removed with this object.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& target) {
    std::error_code error;
    target_ = fs::is_symlink(target, error) ? fs::weakly_canonical(target, error) : fs::path(target);
    part_ = target_;
    part_ += StrCat(".", RandomName(8), ".part");
  }
  ~UnfinishedFile() {
    std::error_code error;
    fs::remove(part_, error);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  std::string path() const { return part_.string(); }
  Status Finish() const {
    RETURN_IF_ERROR(SyncFile(part_.string()));
    return std::rename(part_.c_str(), target_.c_str()) == 0 ? Status() : SystemError(target_.string(), errno);
  }

 private:
  fs::path target_, part_;
};

}  // namespace

Status RunPredict(const std::vector<std::string>& arguments, const HostCall& call) {
  const TrainCommand& command = TrainCommandOf("predict");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(arguments, FlagsOf(command)));
  if (words.alone.empty() || words.alone.size() > 2) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--length", 1, 1'000'000, true));
  RETURN_IF_ERROR(CheckTarget(words, "--out"));
  const std::string file = words.alone.size() == 2 ? words.alone.back() : kStandard;
  RETURN_IF_ERROR(CheckInput(file));
  ASSIGN_OR_RETURN(const NamedRun run, BringRun(words.alone.front(), words, call));
  const auto ask = [&](const std::string& out) {
    std::vector<std::string> asked = {"-m",          "pipe_trainer.predict", "--run",
                                      run.directory, StrCat("--in=", file),  StrCat("--out=", out)};
    if (words.flags.contains("--length")) asked.push_back(StrCat("--length=", words.Flag("--length", "")));
    return file == kStandard ? StreamTrainer(run.python, std::move(asked), call)
                             : PrintTrainer(run.python, std::move(asked), {}, call);
  };
  if (!words.flags.contains("--out")) return ask(kStandard);
  const UnfinishedFile answers(words.Flag("--out", ""));
  RETURN_IF_ERROR(ask(answers.path()));
  return answers.Finish();
}

}  // namespace pipeline
