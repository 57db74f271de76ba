#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/str.h"
#include "cli/terminal/exit_code.h"
#include "tests/cli/run_pipe.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class NothingThereTest : public testing::Test {
 protected:
  NothingThereTest() {
    WriteFile(file_,
              StrCat("pipe: 1\nname: mine\nstages:\n  source: {type: download, url: ",
                     (dir_ / "corpus.txt").string(),
                     "}\n  lines: {type: decompress, input: source}\n  out: {type: write_jsonl, input: "
                     "lines, out: ",
                     (dir_ / "out").string(), "}\n"));
    WriteFile(dir_ / "corpus.txt", "a\n\nb\n");
    std::filesystem::create_directory(dir_ / "empty");
  }

  Ran OfFile(const std::string& command, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {command, file_, "--work", (dir_ / "work").string()});
    return RunPipe(std::move(more));
  }

  TempDir dir_;
  const std::string file_ = (dir_ / "mine.yaml").string();
};

TEST_F(NothingThereTest, CommandsAboutRunsEndWith2WhereNothingRan) {
  for (const char* command : {"status", "report", "runs", "retry", "clean"}) {
    const Ran ran = OfFile(command);
    EXPECT_EQ(ran.exit_code, kExitRefused) << command;
    EXPECT_NE((ran.out + ran.err).find("`pipe run "), std::string::npos) << command << ran.out << ran.err;
  }
  EXPECT_EQ(OfFile("status", {"--json"}).exit_code, kExitRefused);
  EXPECT_EQ(OfFile("runs", {"--json"}).exit_code, kExitRefused);
  EXPECT_EQ(OfFile("submit", {"--cancel"}).exit_code, kExitRefused);
}

TEST_F(NothingThereTest, WhatIsDoneAlreadyIsDone) {
  ASSERT_EQ(OfFile("run").exit_code, kExitDone);
  for (const char* command : {"run", "status", "report", "runs", "clean"})
    EXPECT_EQ(OfFile(command).exit_code, kExitDone) << command;
  EXPECT_EQ(OfFile("retry").exit_code, kExitRefused) << "nothing failed";
}

TEST_F(NothingThereTest, CommandsAboutPlacesEndWith2WhereNothingIs) {
  const std::string absent = (dir_ / "absent").string(), empty = (dir_ / "empty").string();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"verify", absent},
                                             {"verify", empty},
                                             {"cat", absent},
                                             {"cat", empty},
                                             {"stats", absent},
                                             {"stats", empty},
                                             {"ls", absent},
                                             {"cp", absent, empty},
                                             {"cp", "-r", absent, empty},
                                             {"cp", "-r", empty, absent}}) {
    const Ran ran = RunPipe(words);
    EXPECT_EQ(ran.exit_code, kExitRefused) << words.front() << " " << words[1] << ran.out << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_EQ(RunPipe({"ls", empty}).exit_code, kExitDone) << "the directory is there";
}

}  // namespace
}  // namespace pipeline
