// A command of the program: its name, its words, the variables that their values go to, and the function that
// runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace pipeline {

using Assignments = std::vector<std::pair<std::string, std::string>>;  // NAME=VALUE

/// The variable that receives the value of a word. Its type decides which values there are. bool: a flag
/// without a value; a vector: the word has one value or more, and repeats.
using WordTarget =
    std::variant<bool*, int*, std::uint64_t*, std::string*, std::vector<std::string>*, Assignments*>;

struct WordRange {
  int least;
  int most;
};

/// One word that a command accepts.
struct Word {
  std::vector<std::string> flags = {};  // "-n", "--dry-run"; empty: a positional word
  std::string value = {};               // the name of its value: "N", "FILE"; empty: help names none
  std::string help;
  bool required = false;
  std::vector<std::string> choices = {};          // all allowed values; empty: any value
  std::optional<WordRange> range = std::nullopt;  // of a number; absent: any number
  bool positive = false;                          // of a number: above 0
  /// The environment variable whose value counts if the word is absent; empty: none.
  std::string environment = {};
  /// Returns why a value is refused; empty: it is accepted. Null: every value is accepted.
  std::string (*refusal)(const std::string& value) = nullptr;
  WordTarget to;  // unchanged if the word is absent; `Command::run` owns the variable
};

struct Command;

/// The command line. ParseArgs has stored the values of its words.
struct Call {
  const std::vector<Command>& commands;  // all commands of the program
  const Command* command = nullptr;      // one of `commands`; null: a plugin may have the command
  std::vector<std::string> words;        // as typed, from the command on
  std::string otherwise;                 // `command` is null: the message if no plugin has it
};

struct Command {
  std::string name;
  std::string help = {};
  bool hidden = false;                  // not in help, completion and manual
  int wrong_words_exit = kExitRefused;  // the exit status if the words are wrong
  std::vector<Word> words = {};         // in the order of the help
  /// Returns the exit status. It owns the variables that the words store to, so that a copy of a command
  /// shares them with the command.
  std::function<int(const Call&)> run;
};

/// `words`, and `more` behind them.
std::vector<Word> Joined(std::vector<Word> words, std::vector<Word> more);

}  // namespace pipeline
