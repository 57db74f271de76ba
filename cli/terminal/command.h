// A command of the program: its name, its words, the variables that receive their values, and the function
// that runs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace pipeline {

using Assignments = std::vector<std::pair<std::string, std::string>>;  // NAME=VALUE

/// Receives the assignments in the files that a word names, in front of those that are given one by one.
struct AssignmentsOfFiles {
  Assignments* to;
};

/// The variable that receives the value of a word. Its type decides the allowed values. bool: a flag without
/// a value; a vector: the word has one or more values, and may be given several times.
using WordTarget = std::variant<bool*, int*, std::uint64_t*, std::string*, std::vector<std::string>*,
                                Assignments*, AssignmentsOfFiles>;

/// Bounds of a number; both are allowed values.
struct WordRange {
  int least;
  int most;
};

/// One word that a command accepts.
struct Word {
  std::vector<std::string> flags = {};  // "-n", "--dry-run"; empty: a positional word
  std::string value = {};               // the name of its value in help: "N", "FILE"; empty: no name
  std::string help;
  bool required = false;
  bool hidden = false;                            // it is left out of help, completion and manual
  std::vector<std::string> choices = {};          // all allowed values; empty: any value
  std::optional<WordRange> range = std::nullopt;  // of a number; if absent: any number
  bool positive = false;                          // of a number: above 0
  /// The environment variable that gives the value if the word is absent; empty: none.
  std::string environment = {};
  /// Returns the reason for refusing `value`; empty: the value is accepted. If null: every value is accepted.
  std::string (*refusal)(const std::string& value) = nullptr;
  WordTarget to;  // `Command::run` owns the variable; if the word is absent: it keeps its value
};

struct Command;

/// The command line. ParseArgs has stored the values of its words.
struct Call {
  const std::vector<Command>& commands;  // all commands of the program
  const Command* command = nullptr;      // one of `commands`; null: a plugin may have the command
  std::vector<std::string> words;        // as typed, from the command on
  std::string otherwise;                 // if `command` is null: the error message if no plugin has it
};

struct Command {
  std::string name;
  std::string help = {};
  bool hidden = false;                  // it is left out of help, completion and manual
  int wrong_words_exit = kExitRefused;  // the exit status if the words are wrong
  /// The exit statuses of this command, as its help names them; empty: those of the program.
  std::string exit_statuses = {};
  std::vector<Word> words = {};  // in the order of the help
  /// Runs the command and returns the exit status. The function owns the variables that receive the values of
  /// the words, so copies of a command share these variables.
  std::function<int(const Call&)> run;
};

/// Returns `words`, followed by `more`.
inline std::vector<Word> Joined(std::vector<Word> words, std::vector<Word> more) {
  std::ranges::move(more, std::back_inserter(words));
  return words;
}

}  // namespace pipeline
