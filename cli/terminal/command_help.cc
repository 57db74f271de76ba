#include <string_view>

#include "base/enumeration.h"
#include "base/str.h"
#include "cli/terminal/command_table.h"

namespace pipeline {

namespace {

std::string Row(const std::string& front, std::string_view help) {
  std::string row = StrCat("  ", front);
  row.append(row.size() < kHelpColumn ? kHelpColumn - row.size() : 1, ' ');
  return StrCat(row, help, "\n");
}

std::string Front(const CommandWord& word) {
  std::string front = Join(word.flags, ",");
  const std::string value = word.choices.empty() ? word.value : Join(word.choices, "|");
  if (!value.empty()) front += StrCat(front.empty() ? "" : " ", value);
  return StrCat(front, word.repeats ? " ..." : "", word.flags.empty() && word.required ? " REQUIRED" : "");
}

}  // namespace

std::string CommandHelp(const CommandEntry& command, const std::string& called) {
  std::string usage = StrCat(called, command.name, " [OPTIONS]");
  std::string locations, options = Row("-h,--help", "Print this help message and exit"), commands;
  for (const CommandWord& word : command.words) {
    if (word.flags.empty()) usage += StrCat(" ", word.value, word.repeats ? "..." : "");
    (word.flags.empty() ? locations : options) += Row(Front(word), word.help);
  }
  for (const CommandEntry& below : command.commands) commands += Row(below.name, below.help);
  if (!commands.empty()) usage += " COMMAND";
  return StrCat(command.help, "\nUsage: ", usage, "\n", locations.empty() ? "" : "\nPositionals:\n",
                locations, "\nOptions:\n", options, commands.empty() ? "" : "\nSubcommands:\n", commands);
}

std::string ProgramHelp(const CommandTable& table) {
  const CommandWord version{{"--version"}, {}, {}, "Display program version information and exit"};
  const CommandEntry program{"pipe", table.help, {version}, table.commands};
  return StrCat(CommandHelp(program, ""), "\n", table.footer, "\n");
}

}  // namespace pipeline
