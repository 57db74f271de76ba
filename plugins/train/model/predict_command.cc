#include "plugins/train/model/predict_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/command_table.h"
#include "plugins/train/command_words.h"
#include "plugins/train/link_files.h"
#include "plugins/train/model/clean_lines.h"
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

std::string Remedy(const std::string& file, const std::string& run) {
  if (file == kStandard)
    return "mend or remove the line; `pipe cat FILE` reads files in other encodings, with CR and compressed "
           "ones";
  return StrCat("`pipe cat ", Quoted(file), " | pipe predict ", Quoted(run),
                " -` reads files in other encodings, with CR and compressed ones");
}

Status CheckLines(const std::string& file, CleanLines lines, const PluginServices& call) {
  std::ifstream input(file, std::ios::binary);
  std::string bytes(1 << 20, '\0');
  while (input) {
    if (call.stopped()) return Status(Code::kCancelled, "stopped");
    input.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const std::string_view read(bytes.data(), static_cast<std::size_t>(input.gcount()));
    if (!read.empty()) RETURN_IF_ERROR(lines.Take(read).status());
  }
  return lines.Take({}).status();
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

Status RunPredict(const std::vector<std::string>& arguments, const PluginServices& call) {
  const CommandEntry& command = TrainCommandOf("predict");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(arguments, FlagsOf(command)));
  if (words.alone.empty() || words.alone.size() > 2) return Status(Code::kInvalidArgument, UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--length", 1, 1'000'000, true));
  RETURN_IF_ERROR(CheckTarget(words, "--out"));
  const std::string file = words.alone.size() == 2 ? words.alone.back() : kStandard;
  RETURN_IF_ERROR(CheckInput(file));
  CleanLines lines(file == kStandard ? "standard input" : file, Remedy(file, words.alone.front()));
  std::error_code error;
  const bool streams = file == kStandard || !fs::is_regular_file(file, error);
  if (!streams) RETURN_IF_ERROR(CheckLines(file, lines, call));
  ASSIGN_OR_RETURN(const NamedRun run, BringRun(words.alone.front(), words, call));
  const auto ask = [&](const std::string& out) {
    std::vector<std::string> asked = {"-m",
                                      "pipe_trainer.predict",
                                      "--run",
                                      run.directory,
                                      StrCat("--in=", streams ? kStandard : file),
                                      StrCat("--out=", out)};
    if (words.flags.contains("--length")) asked.push_back(StrCat("--length=", words.Flag("--length", "")));
    if (!streams) return PrintTrainer(run.python, std::move(asked), {}, call);
    const FileDescriptor opened(file == kStandard ? -1 : open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (file != kStandard && !opened.is_open()) return SystemError(file, errno);
    return StreamTrainer(
        run.python, std::move(asked), opened.is_open() ? opened.get() : STDIN_FILENO,
        [&lines](std::string_view bytes) { return lines.Take(bytes); }, call);
  };
  if (!words.flags.contains("--out")) return ask(kStandard);
  const UnfinishedFile answers(words.Flag("--out", ""));
  RETURN_IF_ERROR(ask(answers.path()));
  return answers.Finish();
}

}  // namespace pipeline
