#include "cli/terminal/command_table.h"

#include <variant>

namespace pipeline {

namespace {

CommandWord WordOf(const Word& word) {
  CommandWord shown{word.flags, word.value, word.choices, word.help, word.required};
  if (!word.flags.empty() && !word.choices.empty()) shown.value = "WORD";
  shown.repeats = std::holds_alternative<std::vector<std::string>*>(word.to) ||
                  std::holds_alternative<Assignments*>(word.to) ||
                  std::holds_alternative<AssignmentsOfFiles>(word.to);
  return shown;
}

}  // namespace

CommandTable CommandTableOf(const std::vector<Command>& commands) {
  CommandTable table{std::string(kProgramHelp), std::string(kProgramFooter), {}};
  for (const Command& command : commands) {
    if (command.hidden) continue;
    CommandEntry entry{command.name, command.help, {}, {}, command.exit_statuses};
    for (const bool positional : {true, false})
      for (const Word& word : command.words)
        if (!word.hidden && word.flags.empty() == positional) entry.words.push_back(WordOf(word));
    table.commands.push_back(std::move(entry));
  }
  return table;
}

}  // namespace pipeline
