#include "cli/commands/commands.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/commands/version_text.h"
#include "cli/terminal/args.h"

namespace pipeline {
namespace {

TEST(CommandsTest, EachNameAndEachWordOfACommandIsThereOnce) {
  std::set<std::string> names;
  for (const Command& command : Commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_TRUE(command.hidden || !command.help.empty()) << command.name;
    EXPECT_TRUE(command.run) << command.name;
    std::set<std::string> words = {"-h", "--help"};
    for (const Word& word : command.words) {
      EXPECT_TRUE(word.flags.empty() || (word.flags.size() == 1) == word.flags.front().starts_with("--"))
          << command.name << " " << word.flags.front();
      for (const std::string& flag : word.flags)
        EXPECT_TRUE(words.insert(flag).second) << command.name << " " << flag;
    }
  }
  EXPECT_TRUE(names.contains("run") && names.contains("__probe-plugin"));
}

/// Whether `--json` of `pipe cat` was given.
bool CatsJson(const std::vector<Command>& commands) {
  for (const Command& command : commands)
    for (const Word& word : command.words)
      if (command.name == "cat" && word.flags == std::vector<std::string>{"--json"})
        return *std::get<bool*>(word.to);
  ADD_FAILURE() << "there is no pipe cat --json";
  return false;
}

TEST(CommandsTest, TwoTablesShareNoValues) {
  const std::vector<Command> one = Commands(), other = Commands();
  std::string pipe = "pipe", cat = "cat", where = "somewhere", json = "--json";
  std::vector<char*> argv = {pipe.data(), cat.data(), where.data(), json.data()};
  ASSERT_TRUE(std::holds_alternative<Call>(ParseArgs(one, VersionText, 4, argv.data())));
  EXPECT_TRUE(CatsJson(one));
  EXPECT_FALSE(CatsJson(other));
}

TEST(VersionTextTest, NamesTheCommitTheAbiAndTheLibrariesOfRecipes) {
  const std::string text = VersionText();
  EXPECT_TRUE(text.starts_with("pipe ")) << text;
  for (const std::string_view line :
       {"\ncommit ", "\nplugin ABI 1.", "\nicu ", "\nmecab ", "\nsentencepiece "})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace pipeline
