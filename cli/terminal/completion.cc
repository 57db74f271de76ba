#include <string_view>

#include "base/enumeration.h"
#include "base/str.h"
#include "cli/terminal/args.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/command_table.h"

namespace pipeline {

namespace {

/// Returns `text` with `before` in front of each character that is in `special`.
std::string Escaped(std::string_view text, std::string_view special, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += before;
    out += c;
  }
  return out;
}

bool IsPlace(const CommandWord& word) { return word.flags.empty(); }

std::vector<std::string> Names(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  for (const CommandEntry& command : commands) names.push_back(command.name);
  return names;
}

/// The cases of bash's script for each command: the values of options, and the options. `called` is the
/// command's name; for a subcommand, its parent's name and a hyphen come first.
struct BashCases {
  std::string values, options;

  void Add(const CommandEntry& command, const std::string& called) {
    std::vector<std::string> flags = {"--help"};
    for (const CommandWord& word : command.words) {
      std::vector<std::string> cases;
      for (const std::string& flag : word.flags) cases.push_back(StrCat(called, ":", flag));
      flags.insert(flags.end(), word.flags.begin(), word.flags.end());
      const std::string_view last = std::string_view(called).substr(called.rfind('-') + 1);
      if (IsPlace(word) && !word.choices.empty())
        values += StrCat("    ", called, ":", last, ") [[ $word == -* ]] || words='", Join(word.choices, " "),
                         "' ;;\n");
      if (word.value.empty() || cases.empty()) continue;
      if (!word.choices.empty())
        values += StrCat("    ", Join(cases, " | "), ") words='", Join(word.choices, " "), "' ;;\n");
      else
        values += StrCat("    ", Join(cases, " | "), ") return ;;\n");
    }
    options += StrCat("      ", called, ") words='", Join(flags, " "), "' ;;\n");
    for (const CommandEntry& below : command.commands) Add(below, StrCat(called, "-", below.name));
  }
};

/// Returns one alternative of _arguments; without its quotes: `*{-n,--dry-run}[help]:N:(a b)`.
std::string ZshSpec(const CommandWord& word) {
  const std::string help = Escaped(word.help, "[]:\\", "\\");
  std::string action = ":";
  if (!word.choices.empty())
    action = StrCat(":(", Join(word.choices, " "), ")");
  else if (IsPlace(word) || word.value == "DIR" || word.value == "PLACE")
    action = ":_files";
  if (IsPlace(word)) return ShellQuoted(StrCat(word.repeats ? "*" : "", ":", help, action));
  const std::string tail = StrCat("[", help, "]", word.value.empty() ? "" : StrCat(":", word.value, action));
  if (word.flags.size() == 1) return ShellQuoted(StrCat(word.repeats ? "*" : "", word.flags.front(), tail));
  const std::string both = StrCat("{", Join(word.flags, ","), "}");
  return word.repeats ? StrCat("'*'", both, ShellQuoted(tail))
                      : StrCat(ShellQuoted(StrCat("(", Join(word.flags, " "), ")")), both, ShellQuoted(tail));
}

std::string ZshArguments(const CommandEntry& command) {
  std::string text = StrCat("_arguments ", ShellQuoted("(- *)--help[Show the words of the command]"));
  for (const CommandWord& word : command.words) text += StrCat(" \\\n      ", ZshSpec(word));
  return text;
}

std::string FishQuoted(std::string_view text) { return StrCat("'", Escaped(text, "'\\", "\\"), "'"); }

/// Returns the completions of fish that apply if `condition` is true.
std::string FishWords(const CommandEntry& command, const std::string& condition) {
  std::string script;
  const std::string here = StrCat("complete -c pipe -n '", condition, "'");
  for (const CommandWord& word : command.words) {
    if (IsPlace(word)) {
      if (!word.choices.empty())
        script +=
            StrCat(here, " -f -a ", FishQuoted(Join(word.choices, " ")), " -d ", FishQuoted(word.help), "\n");
      continue;
    }
    std::string line = here;
    for (const std::string& flag : word.flags)
      line += flag.starts_with("--") ? StrCat(" -l ", flag.substr(2)) : StrCat(" -s ", flag.substr(1));
    if (!word.choices.empty())
      line += StrCat(" -x -a ", FishQuoted(Join(word.choices, " ")));
    else if (!word.value.empty())
      line += " -r";
    script += StrCat(line, " -d ", FishQuoted(word.help), "\n");
  }
  return script;
}

}  // namespace

std::string BashCompletion(const CommandTable& table) {
  BashCases cases;
  std::string groups;
  for (const CommandEntry& command : table.commands) {
    cases.Add(command, command.name);
    if (!command.commands.empty())
      groups += StrCat("    ", command.name, ") names='", Join(Names(command.commands), " "), "' ;;\n");
  }
  return StrCat(R"(# Completion of pipe for bash. To have it now: source <(pipe completion bash)
# For good: pipe completion bash > ~/.local/share/bash-completion/completions/pipe
_pipe() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} words= names=
  COMPREPLY=()
  # Commands that have others behind them.
  case $command in
)",
                groups, R"(  esac
  if [[ -n $names ]] && ((COMP_CWORD == 2)); then
    [[ $word == -* ]] && words=--help || words=$names
  elif [[ -n $names ]]; then
    command+=-${COMP_WORDS[2]}
  fi
  # A value is completed behind its option. A value without a list of words is a file: -o default.
  ((COMP_CWORD > 1)) && case $command:${COMP_WORDS[COMP_CWORD - 1]} in
)",
                cases.values, R"(  esac
  if ((COMP_CWORD == 1)); then
    words=')",
                Join(Names(table.commands), " "), R"( --help --version'
  elif [[ -z $words && $word == -* ]]; then
    case $command in
)",
                cases.options, R"(    esac
  fi
  local IFS=$' \n'
  [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -o bashdefault -F _pipe pipe
)");
}

std::string ZshCompletion(const CommandTable& table) {
  std::string commands, cases;
  for (const CommandEntry& command : table.commands) {
    commands += StrCat("    ", ShellQuoted(StrCat(command.name, ":", command.help)), "\n");
    if (command.name == kHelpCommand) {
      cases += StrCat("    ", command.name, ") _describe command commands ;;\n");
      continue;
    }
    if (command.commands.empty()) {
      cases += StrCat("    ", command.name, ") ", ZshArguments(command), " ;;\n");
      continue;
    }
    cases += StrCat("    ", command.name, ")\n      local -a below=(");
    for (const CommandEntry& below : command.commands)
      cases += StrCat(" ", ShellQuoted(StrCat(below.name, ":", below.help)));
    cases += StrCat(
        " )\n      if ((CURRENT == 2)); then\n        _describe command below\n        return\n      fi\n",
        "      local under=$words[2]\n      shift words\n      ((CURRENT--))\n      case $under in\n");
    for (const CommandEntry& below : command.commands)
      cases += StrCat("      ", below.name, ") ", ZshArguments(below), " ;;\n");
    cases += "      esac ;;\n";
  }
  return StrCat(R"(#compdef pipe
# Completion of pipe for zsh. To have it now: source <(pipe completion zsh)
# For good: pipe completion zsh > DIRECTORY/_pipe, where DIRECTORY is in fpath
_pipe() {
  local -a commands=(
)",
                commands, R"(  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
)",
                cases, R"(    *) _files ;;
  esac
}
if [[ ${funcstack[1]} == _pipe ]]; then
  _pipe "$@"
else
  compdef _pipe pipe
fi
)");
}

std::string FishCompletion(const CommandTable& table) {
  std::string script =
      "# Completion of pipe for fish. To have it now: pipe completion fish | source\n"
      "# For good: pipe completion fish > ~/.config/fish/completions/pipe.fish\n";
  for (const CommandEntry& command : table.commands) {
    script += StrCat("complete -c pipe -n __fish_use_subcommand -f -a ", command.name, " -d ",
                     FishQuoted(command.help), "\n");
    const std::string seen = StrCat("__fish_seen_subcommand_from ", command.name);
    script += FishWords(command, seen);
    const std::string names = Join(Names(command.commands), " ");
    for (const CommandEntry& below : command.commands) {
      script += StrCat("complete -c pipe -n '", seen, "; and not __fish_seen_subcommand_from ", names,
                       "' -f -a ", below.name, " -d ", FishQuoted(below.help), "\n");
      script += FishWords(below, StrCat(seen, "; and __fish_seen_subcommand_from ", below.name));
    }
  }
  return script;
}

}  // namespace pipeline
