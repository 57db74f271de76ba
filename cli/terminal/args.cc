#include "cli/terminal/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <concepts>
#include <deque>
#include <sstream>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "cli/terminal/command_table.h"
#include "cli/terminal/typed_file.h"

namespace pipeline {

namespace {

/// The values of a NAME=VALUE word as typed.
struct TypedAssignments {
  const Word& word;
  std::vector<std::string> values;
};
using AllAssignments = std::deque<TypedAssignments>;  // a deque, because CLI11 holds references to the values

/// Returns the names in the form that CLI11 expects: "-n,--dry-run", "FILE".
std::string NamesOf(const Word& word) { return word.flags.empty() ? word.value : Join(word.flags, ","); }

CLI::Option* AddOption(CLI::App& command, const Word& word, AllAssignments& assignments) {
  const std::string names = NamesOf(word);
  return std::visit(
      [&]<class To>(const To& to) {
        if constexpr (std::same_as<To, bool*>)
          return command.add_flag(names, *to, word.help);
        else if constexpr (std::same_as<To, Assignments*> || std::same_as<To, AssignmentsOfFiles>)
          return command.add_option(names, assignments.emplace_back(TypedAssignments{word, {}}).values,
                                    word.help);
        else
          return command.add_option(names, *to, word.help);
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

/// Stores the assignments, those of files in front. Returns the message if one has no name, or if a file
/// cannot be read; empty: all were stored.
std::string Assign(const AllAssignments& assignments) {
  for (const auto& [word, values] : assignments) {
    const AssignmentsOfFiles* const files = std::get_if<AssignmentsOfFiles>(&word.to);
    Assignments all;
    for (const std::string& value : values) {
      if (files != nullptr) {
        const Result<Assignments> read = ReadVarsFile(value);
        if (!read.ok()) return StrCat("pipe: ", word.flags.back(), " ", read.status().message(), "\n");
        all.insert(all.end(), read->begin(), read->end());
        continue;
      }
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0)
        return StrCat("pipe: ", word.flags.back(), " ", value, ": expected NAME=VALUE\n");
      all.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
    Assignments& to = files != nullptr ? *files->to : *std::get<Assignments*>(word.to);
    to.insert(files != nullptr ? to.begin() : to.end(), all.begin(), all.end());
  }
  return {};
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
