#include "cli/terminal/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <concepts>
#include <deque>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/str.h"
#include "cli/terminal/command_table.h"
#include "cli/terminal/vars_file.h"

namespace pipeline {

namespace {

/// The values of a NAME=VALUE word as typed.
struct TypedAssignments {
  const Word& word;
  Assignments& to;
  std::vector<std::string> values;
};
using AllAssignments = std::deque<TypedAssignments>;  // a deque, because CLI11 holds references to the values

/// Returns the names in the form that CLI11 expects: "-n,--dry-run", "FILE".
std::string NamesOf(const Word& word) {
  if (word.flags.empty()) return word.value;
  std::string names;
  for (const std::string& flag : word.flags) names += StrCat(names.empty() ? "" : ",", flag);
  return names;
}

/// Returns the vector in which CLI11 stores the values.
std::vector<std::string>& Typed(const Word& word, Assignments& to, AllAssignments& assignments) {
  assignments.push_back({word, to, {}});
  return assignments.back().values;
}

template <class T>
T* TargetOf(T* target) {
  return target;
}
const AssignmentsOfFiles* TargetOf(const AssignmentsOfFiles& files) { return &files; }

CLI::Option* AddOption(CLI::App& command, const Word& word, AllAssignments& assignments) {
  const std::string names = NamesOf(word);
  return std::visit(
      [&](const auto& held) {
        auto* const target = TargetOf(held);
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::same_as<Target, bool>)
          return command.add_flag(names, *target, word.help);
        else if constexpr (std::same_as<Target, const AssignmentsOfFiles>)
          return command.add_option(names, Typed(word, *target->to, assignments), word.help);
        else if constexpr (std::same_as<Target, Assignments>)
          return command.add_option(names, Typed(word, *target, assignments), word.help);
        else
          return command.add_option(names, *target, word.help);
      },
      word.to);
}

void AddWord(CLI::App& command, const Word& word, AllAssignments& assignments) {
  CLI::Option* const option = AddOption(command, word, assignments);
  option->required(word.required);
  if (word.hidden) option->group("");
  if (!word.flags.empty() && !std::holds_alternative<bool*>(word.to)) option->type_name(word.value);
  if (!word.environment.empty()) option->envname(word.environment);
  if (!word.choices.empty()) option->check(CLI::IsMember(word.choices));
  if (word.range) option->check(CLI::Range(word.range->least, word.range->most));
  if (word.positive) option->check(CLI::PositiveNumber);
  if (word.refusal != nullptr) option->check(CLI::Validator(word.refusal, ""));
}

/// `assignments` outlives `app`.
void Define(CLI::App& app, const std::vector<Command>& commands, const std::function<std::string()>& version,
            AllAssignments& assignments) {
  app.name("pipe");
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer(std::string(kProgramFooter));
  app.get_formatter()->column_width(kHelpColumn);
  for (const Command& command : commands) {
    CLI::App* const parsed = app.add_subcommand(command.name, command.help);
    if (command.hidden) parsed->group("");
    if (!command.exit_statuses.empty()) parsed->footer(command.exit_statuses);
    for (const Word& word : command.words) AddWord(*parsed, word, assignments);
  }
}

/// Null if there is no command of that name.
const Command* Find(const std::vector<Command>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

/// The call of a command that the program does not have; CLI11 would only say that a command is missing.
Call CallOfPlugin(const std::vector<Command>& commands, std::vector<std::string> words) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string_view nearest = NearestWord(words.front(), names);
  std::string otherwise =
      StrCat("pipe: there is no command '", words.front(), "'",
             nearest.empty() ? std::string("; see pipe --help") : StrCat("; did you mean '", nearest, "'?"));
  return {commands, nullptr, std::move(words), std::move(otherwise)};
}

bool AreFiles(const TypedAssignments& typed) {
  return std::holds_alternative<AssignmentsOfFiles>(typed.word.to);
}

/// Puts the assignments of files in front of those that are there already. Returns the message if a file
/// cannot be read; empty: all were stored.
std::string AssignFromFiles(const AllAssignments& assignments) {
  for (const TypedAssignments& typed : assignments) {
    if (!AreFiles(typed)) continue;
    Assignments all;
    for (const std::string& file : typed.values) {
      const Result<Assignments> read = ReadVarsFile(file);
      if (!read.ok()) return StrCat("pipe: ", typed.word.flags.back(), " ", read.status().message(), "\n");
      all.insert(all.end(), read->begin(), read->end());
    }
    typed.to.insert(typed.to.begin(), all.begin(), all.end());
  }
  return {};
}

/// Stores the assignments. Returns the message if one has no name; empty: all were stored.
std::string Assign(const AllAssignments& assignments) {
  for (const TypedAssignments& typed : assignments) {
    if (AreFiles(typed)) continue;
    for (const std::string& value : typed.values) {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0)
        return StrCat("pipe: ", typed.word.flags.back(), " ", value, ": expected NAME=VALUE\n");
      typed.to.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
  }
  return AssignFromFiles(assignments);
}

/// `pipe help COMMAND` and `pipe --help COMMAND` are `pipe COMMAND --help`, `pipe --help` is `pipe help`.
std::vector<std::string> WithHelpAsked(std::vector<std::string> words) {
  if (words.empty()) return words;
  const bool flag = words.front() == "--help" || words.front() == "-h";
  if (!flag && words.front() != kHelpCommand) return words;
  const bool named = words.size() > 1 && !words[1].starts_with('-');
  if (!named && flag) return {std::string(kHelpCommand)};
  if (!named) return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

}  // namespace

std::variant<Call, Reply> ParseArgs(const std::vector<Command>& commands,
                                    const std::function<std::string()>& version, int argc, char** argv) {
  const std::vector<std::string> words = WithHelpAsked({argv + 1, argv + argc});
  const Command* const named = words.empty() ? nullptr : Find(commands, words.front());
  if (!words.empty() && !words.front().starts_with('-') && named == nullptr)
    return CallOfPlugin(commands, words);

  AllAssignments assignments;
  CLI::App app{std::string(kProgramHelp)};
  Define(app, commands, version, assignments);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (code == 0) return Reply{out.str(), kExitDone};
    return Reply{err.str(), named != nullptr ? named->wrong_words_exit : kExitRefused};
  }
  if (std::string wrong = Assign(assignments); !wrong.empty()) return Reply{std::move(wrong), kExitRefused};
  return Call{commands, Find(commands, app.get_subcommands().front()->get_name()), words, {}};
}

}  // namespace pipeline
