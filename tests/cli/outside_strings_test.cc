// Strings that people, scripts and schedulers use: commands, options, exit codes, variables of the
// environment, names of files, and the JSON that commands print.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/terminal/command_table.h"
#include "cli/workspace/source_files.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;

void AddCommand(OutsideStrings& strings, const CommandEntry& command) {
  strings.Add("command", command.name);
  for (const CommandWord& word : command.words) {
    for (const std::string& flag : word.flags) strings.Add(StrCat("option of ", command.name), flag);
    for (const std::string& choice : word.choices) strings.Add(StrCat("choice of ", command.name), choice);
  }
}

/// Returns the first group of every match of `pattern` in the sources of the program and of the trainer.
std::vector<std::string> FoundInSources(const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex expression(pattern);
  for (const std::string folder : {"base", "storage", "text", "formats", "dag", "stages", "plugins", "cli"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(SourceDir()) / folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".cc" && kind != ".h" && kind != ".c" && kind != ".py") continue;
      const std::string source = ReadFile(entry.path());
      for (std::sregex_iterator at(source.begin(), source.end(), expression), end; at != end; ++at)
        found.push_back((*at)[1]);
    }
  return found;
}

TEST(OutsideStringsOfCommandsTest, CommandsExitCodesAndEnvironment) {
  OutsideStrings strings;
  for (const CommandEntry& command : CommandTableOf(Commands()).commands) AddCommand(strings, command);
  const std::vector<std::string> codes = FoundInSources(R"(kExit(\w+ = \d+),)");
  EXPECT_GT(codes.size(), 10u);
  for (const std::string& code : codes) strings.Add("exit code", code);
  for (const std::string& name :
       FoundInSources(R"re(["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|HOME|TMPDIR)["'=])re"))
    strings.Add("variable or other name in capitals", name);
  for (const std::string& line : FoundInSources(R"re("(pipe [a-z ]+ v?[0-9]+))re"))
    strings.Add("front of hashed bytes or of a file", line);
  strings.Add("front of hashed bytes or of a file", kRemoteFileKind);
  strings.Add("front of hashed bytes or of a file", kPinnedFileKind);
  EXPECT_TRUE(ArePinned(strings, "commands"));
}

/// A pipeline whose run leaves a file of each kind.
class SmallRun {
 public:
  SmallRun() {
    std::string text;
    for (int document = 0; document < 40; ++document) text += StrCat("line ", document, "\nx\n\n");
    WriteFile(dir_ / "corpus.txt", text);
    WriteFile(dir_ / "p.yaml", R"(pipe: 1
name: small
stages:
  source: { type: download, url: corpus.txt }
  lines: { type: decompress, rules: "1", input: source, partition: 300 }
  good: { type: filter, input: lines, min_chars: 3 }
  docs: { type: split, input: good, splits: { train: rest, validation: 0.2 }, keep: true }
  rows: { type: write_jsonl, input: docs, shards: 1, out: out/rows }
  text: { type: write_tfds, input: docs, name: small, version: 1.0.0, shards: 1, out: out }
)");
  }

  /// Returns the output of the command, whose exit code must be 0.
  std::string Pipe(std::vector<std::string> words) {
    words.insert(words.begin(), BuiltProgram());
    const auto child = ChildProcess::Start({.argv = words, .directory = dir_.path().string()});
    EXPECT_TRUE(child.ok()) << child.status().message();
    std::string out, buffer(1 << 16, '\0');
    for (;;) {
      const Result<std::size_t> got = (*child)->Read(buffer, {});
      if (!got.ok() || *got == 0) break;
      out += buffer.substr(0, *got);
    }
    const Result<ChildExit> exit = (*child)->Wait({}, std::chrono::seconds(1));
    EXPECT_TRUE(exit.ok() && exit->ok()) << words[1] << ": " << (*child)->StderrTail();
    return out;
  }

  /// Adds the name of each file below `folder`; numbers that differ from run to run are replaced.
  void AddFiles(OutsideStrings& strings, const std::string& folder) const {
    static const std::regex run("[0-9]{13}-[0-9]+"), digest("[0-9a-f]{32}|(?=.{16}-)[0-9a-f]{16}"),
        lease("lease/[0-9]{8}");
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / folder)) {
      if (!entry.is_regular_file()) continue;
      std::string name = entry.path().lexically_relative(dir_.path()).string();
      name = std::regex_replace(name, run, "<run>");
      if (name.find("log/") != std::string::npos || name.find("names/") != std::string::npos)
        name = std::regex_replace(name, digest, "<digest>");
      strings.Add("file", std::regex_replace(name, lease, "lease/<number>"));
    }
  }

  std::vector<std::string> Find(std::string_view suffix) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path()))
      if (entry.is_regular_file() && entry.path().string().ends_with(suffix))
        found.push_back(entry.path().string());
    return found;
  }

 private:
  TempDir dir_;
};

/// Adds the members of each line, or of the whole text if it is one JSON value.
void AddPrinted(OutsideStrings& strings, const std::string& command, const std::string& printed) {
  if (const Result<Json> whole = Json::Parse(printed); whole.ok()) {
    strings.AddMembers(StrCat("member that ", command, " prints"), *whole);
    return;
  }
  EXPECT_FALSE(printed.empty()) << command;
  for (std::size_t at = 0; at < printed.size(); at = printed.find('\n', at) + 1) {
    const Result<Json> line = Json::Parse(printed.substr(at, printed.find('\n', at) - at));
    ASSERT_TRUE(line.ok()) << command << ": " << printed.substr(at, 200);
    strings.AddMembers(StrCat("member that ", command, " prints"), *line);
  }
}

TEST(OutsideStringsOfCommandsTest, FilesOfARunAndWhatCommandsPrint) {
  SmallRun run;
  OutsideStrings strings;
  run.Pipe({"plan", "p.yaml", "--work", "planned", "-o", "plan"});
  run.AddFiles(strings, "plan");
  run.AddFiles(strings, "planned");
  run.Pipe({"run", "p.yaml", "--work", "work", "-j", "1", "--keep-intermediates"});
  run.AddFiles(strings, "work");
  run.AddFiles(strings, "out");

  AddPrinted(strings, "status --json", run.Pipe({"status", "p.yaml", "--work", "work", "--json"}));
  AddPrinted(strings, "runs --json", run.Pipe({"runs", "p.yaml", "--work", "work", "--json"}));
  AddPrinted(strings, "stats --json", run.Pipe({"stats", "out/rows", "--json"}));
  for (const std::string_view kind : {".part", ".spill", ".jsonl", "run.log", "train.json"}) {
    const std::vector<std::string> files = run.Find(kind);
    ASSERT_FALSE(files.empty()) << kind;
    const auto quarantine = std::find_if(files.begin(), files.end(), [&](const std::string& file) {
      return kind != ".jsonl" || file.find("quarantine") != std::string::npos;
    });
    ASSERT_NE(quarantine, files.end());
    AddPrinted(strings, StrCat("cat --json of ", kind), run.Pipe({"cat", *quarantine, "--json"}));
  }
  EXPECT_TRUE(ArePinned(strings, "files_and_output"));
}

}  // namespace
}  // namespace pipeline
