#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/whole_file.h"
#include "plugins/train/command_table.h"
#include "plugins/train/model/model_commands.h"
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

/// Lines of UTF-8 on their way to the trainer, which would answer to damaged bytes, too. One thread at a
/// time.
class CleanLines {
 public:
  /// `name`: the input, for messages. `remedy`: what a person does who has other text.
  CleanLines(std::string name, std::string remedy) : name_(std::move(name)), remedy_(std::move(remedy)) {}

  /// Takes the next bytes of the input, none at its end; returns the lines that they complete.
  /// kInvalidArgument names a line that is no UTF-8 or has a NUL, or a text whose lines end with CR.
  Result<std::string> Take(std::string_view bytes);

 private:
  Status Wrong(std::uint64_t line, std::string_view why) const;

  const std::string name_, remedy_;
  std::string held_;         // of the line that has no end yet
  std::uint64_t lines_ = 0;  // that were returned
};

Status CleanLines::Wrong(std::uint64_t line, std::string_view why) const {
  return Status(Code::kInvalidArgument, StrCat(name_, ": line ", line, ": ", why, "; ", remedy_));
}

Result<std::string> CleanLines::Take(std::string_view bytes) {
  // A file without text may have no line end, either: the whole of it need not be held to see that.
  if (bytes.find('\0') < bytes.find('\n')) return Wrong(lines_ + 1, "has a NUL, and is no text of UTF-8");
  const std::size_t end = bytes.empty() ? 0 : bytes.rfind('\n') + 1;
  if (!bytes.empty() && end == 0) {
    held_ += bytes;
    return std::string();
  }
  std::string whole = std::move(held_);
  whole += bytes.substr(0, end);
  held_ = bytes.substr(end);
  if (lines_ == 0 && bytes.empty() && whole.find_first_not_of('\r', whole.find('\r')) != std::string::npos)
    return Wrong(1, "has CR and no LF, so that the whole text is one line");
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    ++lines_;
    if (line.find('\0') != std::string_view::npos) return Wrong(lines_, "has a NUL, and is no text of UTF-8");
    if (!IsUtf8(line)) return Wrong(lines_, "has bytes that are not UTF-8");
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return whole;
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
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(command, arguments));
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
