#include "base/enumeration.h"
#include "base/str.h"
#include "cli/terminal/command_table.h"

namespace pipeline {

namespace {

/// Returns one line of running text, in which roff takes no character for a request.
std::string Line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c == '\n' ? ' ' : c;
  }
  if (!out.empty() && (out.front() == '.' || out.front() == '\'')) out.insert(0, "\\&");
  return out + "\n";
}

/// "-n, --dry-run", "-k, --keep-going N", "FILE".
std::string Head(const CommandWord& word) {
  std::string head = Join(word.flags, ", ");
  if (!word.value.empty()) head += StrCat(head.empty() ? "" : " ", word.value);
  return head;
}

std::string Usage(const CommandEntry& command, std::string_view called) {
  std::string usage = StrCat(called, command.name);
  bool options = false;
  for (const CommandWord& word : command.words) {
    options = options || !word.flags.empty();
    if (!word.flags.empty()) continue;
    const std::string location = StrCat(word.value, word.repeats ? " ..." : "");
    usage += word.required ? StrCat(" ", location) : StrCat(" [", location, "]");
  }
  return StrCat(usage, options ? " [OPTION ...]" : "");
}

/// Returns the section of the command; of a command with subcommands, their sections instead.
std::string Section(const CommandEntry& command, std::string_view called) {
  std::string page;
  for (const CommandEntry& below : command.commands)
    page += Section(below, StrCat(called, command.name, " "));
  if (!page.empty()) return page;
  page = StrCat(".SS ", Line(Usage(command, called)), Line(StrCat(command.help, ".")));
  for (const CommandWord& word : command.words)
    page += StrCat(".TP\n.B ", Line(Head(word)), Line(StrCat(word.help, ".")));
  if (!command.exit_statuses.empty()) page += StrCat(".PP\n", Line(command.exit_statuses));
  return page;
}

}  // namespace

std::string ManualPage(const CommandTable& table, std::string_view version) {
  constexpr std::string_view kName = "pipe ";
  const std::string_view help = table.help;
  const std::string_view does = help.starts_with(kName) ? help.substr(kName.size()) : help;
  std::string page =
      StrCat(".TH PIPE 1 \"\" \"pipe ", version, "\" \"pipe\"\n.SH NAME\npipe \\- ", Line(does),
             ".SH SYNOPSIS\n.B pipe\n.I COMMAND\n[\n.I WORD\n\\&... ]\n.br\n.B pipe help\n[\n.I COMMAND\n]\n"
             ".SH COMMANDS\n");
  for (const CommandEntry& command : table.commands) page += Section(command, "pipe ");
  page += StrCat(".SH EXIT STATUS\n", Line(table.footer));
  page += StrCat(".SH ENVIRONMENT\n.TP\n.B PIPE_WORK\n", Line("The work directory, if --work is not given."),
                 ".TP\n.B PIPE_PLUGINS\n", Line("Directories of plugins, with colons between them."),
                 ".TP\n.B GOOGLE_APPLICATION_CREDENTIALS\n",
                 Line("Credentials for buckets; else those of gcloud."));
  page += StrCat(
      ".SH FILES\n.TP\n.B .pipe/NAME\n",
      Line("The work directory of the pipeline NAME: its log, intermediate files, reports of its runs."));
  page +=
      StrCat(".SH SEE ALSO\n",
             Line("`pipe reference` prints all stages and their keys, `pipe schema` a JSON Schema for "
                  "editors, `pipe completion SHELL` the completion of these words for bash, zsh or fish."));
  return page;
}

}  // namespace pipeline
