#include "cli/terminal/args.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/terminal/command_table.h"

namespace pipeline {
namespace {

/// The variables of a command that has a word of each kind.
struct Bound {
  bool flag = false;
  int number = 7;
  std::uint64_t bytes = 8;
  std::string one = "absent";
  std::string choice;
  std::vector<std::string> many;
  Assignments set;
};

std::string RefuseBad(const std::string& value) { return value == "bad" ? "bad is refused" : ""; }

std::vector<Command> Table(Bound& bound) {
  return {
      {.name = "shape",
       .help = "Shape something",
       .words =
           {{.flags = {"-f", "--flag"}, .help = "A flag", .to = &bound.flag},
            {.value = "MANY", .help = "Things", .required = true, .to = &bound.many},
            {.flags = {"-n", "--number"},
             .value = "N",
             .help = "A number",
             .range = WordRange{1, 10},
             .to = &bound.number},
            {.flags = {"--bytes"}, .value = "BYTES", .help = "A size", .positive = true, .to = &bound.bytes},
            {.flags = {"--one"},
             .value = "ONE",
             .help = "One",
             .environment = "PIPE_ARGS_TEST_ONE",
             .refusal = RefuseBad,
             .to = &bound.one},
            {.flags = {"--choice"},
             .value = "WHICH",
             .help = "A choice",
             .choices = {"red", "blue"},
             .to = &bound.choice},
            {.flags = {"--set"}, .value = "NAME=VALUE", .help = "Set", .to = &bound.set}},
       .run = [](const Call&) { return 0; }},
      {.name = "hide",
       .help = "Hide",
       .hidden = true,
       .wrong_words_exit = 64,
       .run = [](const Call&) { return 3; }},
      {.name = "help", .help = "Help", .run = [](const Call&) { return 0; }}};
}

std::variant<Call, Reply> Parse(const std::vector<Command>& commands, std::vector<std::string> words) {
  words.insert(words.begin(), "pipe");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return ParseArgs(
      commands, [] { return std::string("pipe 9.9"); }, static_cast<int>(argv.size()), argv.data());
}

/// Returns the reply to words that are wrong or ask for help.
Reply ReplyTo(std::vector<std::string> words) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  const std::variant<Call, Reply> parsed = Parse(commands, std::move(words));
  const Reply* const reply = std::get_if<Reply>(&parsed);
  return reply == nullptr ? Reply{"a call", -1} : *reply;
}

TEST(ArgsTest, ValuesGoToTheVariables) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  const std::variant<Call, Reply> parsed =
      Parse(commands, {"shape", "a", "b", "-f", "--number", "10", "--bytes=5000000000", "--one", "x",
                       "--choice", "red", "--set", "k=v", "l=m=n", "--set", "o="});
  const Call* const call = std::get_if<Call>(&parsed);
  ASSERT_NE(call, nullptr) << std::get<Reply>(parsed).text;
  EXPECT_EQ(call->command, &commands.front());
  EXPECT_EQ(call->words.size(), 16u);
  EXPECT_EQ(call->words.front(), "shape");
  EXPECT_TRUE(bound.flag);
  EXPECT_EQ(bound.number, 10);
  EXPECT_EQ(bound.bytes, 5'000'000'000u);
  EXPECT_EQ(bound.one, "x");
  EXPECT_EQ(bound.choice, "red");
  EXPECT_EQ(bound.many, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bound.set, (Assignments{{"k", "v"}, {"l", "m=n"}, {"o", ""}}));
}

TEST(ArgsTest, AbsentWordsLeaveTheVariables) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  ASSERT_TRUE(std::holds_alternative<Call>(Parse(commands, {"shape", "a"})));
  EXPECT_FALSE(bound.flag);
  EXPECT_EQ(bound.number, 7);
  EXPECT_EQ(bound.bytes, 8u);
  EXPECT_EQ(bound.one, "absent");
  EXPECT_TRUE(bound.choice.empty());
  EXPECT_TRUE(bound.set.empty());
}

TEST(ArgsTest, AnEnvironmentVariableStandsForAnAbsentWord) {
  setenv("PIPE_ARGS_TEST_ONE", "from outside", 1);
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  EXPECT_TRUE(std::holds_alternative<Call>(Parse(commands, {"shape", "a"})));
  EXPECT_EQ(bound.one, "from outside");
  EXPECT_TRUE(std::holds_alternative<Call>(Parse(commands, {"shape", "a", "--one", "typed"})));
  EXPECT_EQ(bound.one, "typed");
  unsetenv("PIPE_ARGS_TEST_ONE");
}

TEST(ArgsTest, WrongValuesAreRefusedWithTheirWord) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"shape"}, "MANY is required"},
      {{"shape", "a", "--number", "11"}, "--number: Value 11 not in range"},
      {{"shape", "a", "--number", "x"}, "--number"},
      {{"shape", "a", "--bytes", "0"}, "--bytes: Value 0 not in range"},
      {{"shape", "a", "--one", "bad"}, "--one: bad is refused"},
      {{"shape", "a", "--choice", "green"}, "--choice: green not in {red,blue}"},
      {{"shape", "a", "--set", "k=v", "l"}, "pipe: --set l: expected NAME=VALUE"},
      {{"shape", "a", "--set", "=v"}, "pipe: --set =v: expected NAME=VALUE"},
      {{"shape", "a", "--other"}, "--other"},
      {{}, "subcommand is required"},
  };
  for (const auto& [words, text] : wrong) {
    const Reply reply = ReplyTo(words);
    EXPECT_EQ(reply.exit_code, kExitRefused) << text;
    EXPECT_NE(reply.text.find(text), std::string::npos) << reply.text;
  }
}

TEST(ArgsTest, ACommandHasAnExitStatusOfItsOwnForWrongWords) {
  EXPECT_EQ(ReplyTo({"hide", "--other"}).exit_code, 64);
}

TEST(ArgsTest, HelpOfACommandNamesItsWords) {
  const Reply help = ReplyTo({"help", "shape"});
  EXPECT_EQ(help.exit_code, kExitDone);
  EXPECT_EQ(help.text, ReplyTo({"shape", "--help"}).text);
  for (const char* text : {"Shape something", "MANY", "-f,--flag", "--number N", "[1 - 10]", "--choice WHICH",
                           "{red,blue}", "PIPE_ARGS_TEST_ONE"})
    EXPECT_NE(help.text.find(text), std::string::npos) << text << " is not in " << help.text;
}

TEST(ArgsTest, HelpOfTheProgramIsACommand) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  for (const char* asked : {"help", "--help", "-h"}) {
    const std::variant<Call, Reply> parsed = Parse(commands, {asked});
    ASSERT_TRUE(std::holds_alternative<Call>(parsed)) << asked;
    EXPECT_EQ(std::get<Call>(parsed).command->name, "help") << asked;
  }
  EXPECT_EQ(ReplyTo({"--help", "shape"}).text, ReplyTo({"shape", "--help"}).text);
}

TEST(ArgsTest, AHiddenCommandIsNotInHelpAndRuns) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  const std::string help = ProgramHelp(CommandTableOf(commands));
  EXPECT_NE(help.find("shape"), std::string::npos) << help;
  EXPECT_EQ(help.find("hide"), std::string::npos) << help;
  const std::variant<Call, Reply> parsed = Parse(commands, {"hide"});
  ASSERT_TRUE(std::holds_alternative<Call>(parsed));
  EXPECT_EQ(std::get<Call>(parsed).command->run(std::get<Call>(parsed)), 3);
}

TEST(ArgsTest, AnUnknownCommandIsLeftToPlugins) {
  Bound bound;
  const std::vector<Command> commands = Table(bound);
  const std::variant<Call, Reply> parsed = Parse(commands, {"shapes", "--anything", "x"});
  const Call* const call = std::get_if<Call>(&parsed);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->command, nullptr);
  EXPECT_EQ(call->words, (std::vector<std::string>{"shapes", "--anything", "x"}));
  EXPECT_EQ(call->otherwise, "pipe: there is no command 'shapes'; did you mean 'shape'?");
}

TEST(CommandTableTest, HasPositionalWordsFirstAndNoHiddenCommand) {
  Bound bound;
  const CommandTable table = CommandTableOf(Table(bound));
  ASSERT_EQ(table.commands.size(), 2u);
  EXPECT_EQ(table.commands.back().name, "help");
  const std::vector<CommandWord>& words = table.commands.front().words;
  ASSERT_EQ(words.size(), 7u);
  EXPECT_TRUE(words[0].flags.empty());
  EXPECT_EQ(words[0].value, "MANY");
  EXPECT_TRUE(words[0].required && words[0].repeats);
  EXPECT_EQ(words[1].flags, (std::vector<std::string>{"-f", "--flag"}));
  EXPECT_TRUE(words[1].value.empty() && !words[1].repeats);
  EXPECT_EQ(words[5].value, "WORD");
  EXPECT_EQ(words[5].choices, (std::vector<std::string>{"red", "blue"}));
  EXPECT_TRUE(words[6].repeats);
}

}  // namespace
}  // namespace pipeline
