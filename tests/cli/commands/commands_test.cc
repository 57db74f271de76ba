#include "cli/commands/commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "cli/terminal/args.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

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

/// Returns the reply to a line of a shell without quotes; empty: the program would run it.
std::string ReplyTo(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word && word[0] != '>';) {
    if (const std::size_t at = word.find("BUCKET"); at != std::string::npos) word.replace(at, 6, "bucket");
    words.push_back(word);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const std::vector<Command> commands = Commands();
  const std::variant<Call, Reply> parsed =
      ParseArgs(commands, VersionText, static_cast<int>(argv.size()), argv.data());
  return std::holds_alternative<Call>(parsed) ? std::string() : std::get<Reply>(parsed).text;
}

TEST(CommandsTest, PagesAboutEnginesHaveCommandsThatThisProgramKnows) {
  int commands = 0;
  for (const auto& page :
       std::filesystem::directory_iterator(std::filesystem::path(SourceDir()) / "cli/submit")) {
    if (page.path().extension() != ".md") continue;
    std::istringstream in(ReadFile(page.path()));
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("pipe ")) continue;
      ++commands;
      EXPECT_EQ(ReplyTo(line), "") << page.path() << ": " << line;
    }
  }
  EXPECT_GE(commands, 20);
  EXPECT_NE(ReplyTo("pipe submit a.yaml --until b --nothing"), "");
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

TEST(VersionTextTest, NamesTheCommitTheAbiTheLibrariesAndTheForms) {
  const std::string text = VersionText();
  EXPECT_TRUE(text.starts_with("pipe ")) << text;
  for (const std::string_view part :
       {"\ncommit ", "\nplugin ABI 1.", "\nlibraries in recipes: icu ", ", mecab ", ", sentencepiece ",
        ", unigram_trainer ", "\nother libraries: libarchive ", ", libcurl ", ", liblzma ", ", zstd ",
        "\nformats: pipeline file "})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace pipeline
