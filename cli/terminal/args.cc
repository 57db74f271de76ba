#include "cli/terminal/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

/// Why `path` cannot be a work directory; empty where it may. The program would make a directory of that
/// name.
std::string WhyNoWork(const std::string& path) {
  if (path.find("://") != std::string::npos)
    return StrCat(path, ": a work directory lies on a disk of this machine; give a path");
  if (path.starts_with('~')) return StrCat(path, ": no shell replaced the ~; write the path in full");
  return {};
}

constexpr const char* kHelp =
    "pipe turns raw text on the web into a trained language model: one file names the stages.";
constexpr std::string_view kFooter =
    "Exit status: 0 done, 1 a stage failed or verify found something, 2 the command or the file is wrong\n"
    "and nothing ran, 129 the terminal ended (SIGHUP), 130 interrupted (SIGINT), 143 terminated (SIGTERM).";

void AddFile(CLI::App& command, Options& options) {
  command.add_option("FILE", options.file, "The pipeline file")->required();
}

void AddSet(CLI::App& command, std::vector<std::string>& set, Options& options) {
  command
      .add_option("--set", set,
                  "Set a var, stages.STAGE.KEY or limits.KEY (limits.memory=8GiB) to another value")
      ->type_name("NAME=VALUE");
  command
      .add_option("--subset", options.subset,
                  "A trial: the first N documents of each file, or a part of all; below OUT/subset-VALUE")
      ->type_name("N|P%");
  command.add_flag("--allow-plugin", options.allow_plugin,
                   "Load a plugin that the file names by its path also where nothing runs");
  command.add_option("--work", options.work, "Work directory (default ./.pipe/NAME)")
      ->envname("PIPE_WORK")
      ->check(CLI::Validator(WhyNoWork, ""))
      ->type_name("DIR");
}

void AddRun(CLI::App& command, Options& options) {
  command.add_flag("-n,--dry-run", options.dry_run,
                   "Say what would run, how much it reads and how much disk it takes");
  command.add_flag("--ask", options.ask, "With -n: ask servers for the sizes of what is not here");
  command.add_flag("--explain", options.explain,
                   "Say of every stage why it runs or does not, with the keys that changed");
  command.add_option("-k,--keep-going", options.keep_going, "Stop after N failures")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("-j,--jobs", options.threads, "Threads for processing (default: cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--from-log", options.selection.from_log,
                   "Publish anew from a source that is gone, by what earlier runs wrote down of it");
  command.add_flag("--strict", options.selection.strict, "Let other versions of libraries count as a change");
  command.add_option("--batch-bytes", options.batch_bytes, "Text per batch; speed only, never the result")
      ->type_name("BYTES")
      ->check(CLI::Range(1, 64 << 20));
  command.add_option("--log-format", "How messages are written: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->each([&options](const std::string& value) { options.json_log = value == "json"; });
}

void AddSelection(CLI::App& command, Options& options) {
  Selection& selection = options.selection;
  command.add_option("--from", selection.from, "Run this stage and all that follows")->type_name("STAGE");
  command.add_option("--only", selection.only, "Run this stage alone")->type_name("STAGE");
  command.add_option("--until", selection.until, "Run this stage and all that it needs")->type_name("STAGE");
  command
      .add_option("--force", selection.force,
                  "Run this stage even if it is up to date; replaces what it published")
      ->type_name("STAGE");
}

/// Every word that there is; what is parsed goes to `options` and `set`, which outlive `app`.
void Define(CLI::App& app, Options& options, std::vector<std::string>& set) {
  app.name("pipe");
  app.set_version_flag("--version", StrCat("pipe ", PIPE_VERSION));
  app.require_subcommand(1);
  app.footer(std::string(kFooter));
  app.get_formatter()->column_width(34);

  CLI::App* run =
      app.add_subcommand("run", "Run what is not done yet; a run that was cut off goes on where it was");
  AddFile(*run, options), AddSet(*run, set, options), AddRun(*run, options), AddSelection(*run, options);

  CLI::App* retry =
      app.add_subcommand("retry", "Run the part of the last run that failed, and what it needs");
  AddFile(*retry, options), AddSet(*retry, set, options), AddRun(*retry, options);

  CLI::App* plan = app.add_subcommand(
      "plan", "Hand out what can run now to workers; say how many units that are, 0 when all is done");
  AddFile(*plan, options), AddSet(*plan, set, options);
  plan->add_flag("--from-log", options.selection.from_log,
                 "Publish anew from a source that is gone, by what earlier runs wrote down of it");
  plan->add_option("-o,--output", options.work_package, "Directory or URI that the plan is written below")
      ->required()
      ->type_name("PLACE");

  CLI::App* worker = app.add_subcommand("worker", "Run one unit of a plan that was handed out");
  worker->add_option("--plan", options.work_package, "Where the plan was handed out")
      ->required()
      ->type_name("PLACE");
  worker->add_option("--unit", options.unit, "The unit, as the plan names it")->required()->type_name("UNIT");
  worker->add_option("--scratch", options.scratch, "Directory for what it needs meanwhile")->type_name("DIR");

  for (CLI::App* command : {plan, worker})
    command->add_option("-j,--jobs", options.threads, "Threads for processing (default: cores)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));

  CLI::App* status =
      app.add_subcommand("status", "Say what is done, what failed and why, and where things are");
  AddFile(*status, options), AddSet(*status, set, options);
  status->add_flag("--json", options.json, "As JSON");

  CLI::App* report = app.add_subcommand(
      "report", "Write the page about the last run again, from what the run left, and say where it is");
  AddFile(*report, options), AddSet(*report, set, options);

  CLI::App* runs = app.add_subcommand(
      "runs", "List the runs, the newest first: outcome, time, processors, memory, and how each was called");
  AddFile(*runs, options), AddSet(*runs, set, options);
  runs->add_option("-l,--limit", options.limit, "That many runs")->type_name("N");
  runs->add_flag("--json", options.json, "As JSON, with the path of each report");

  CLI::App* validate = app.add_subcommand("validate", "Check the pipeline file and say every mistake in it");
  AddFile(*validate, options), AddSet(*validate, set, options);

  CLI::App* graph = app.add_subcommand("graph", "Draw the stages and who reads whom");
  AddFile(*graph, options), AddSet(*graph, set, options);
  graph->add_option("--format", options.graph_format, "mermaid or dot")
      ->check(CLI::IsMember({"mermaid", "dot"}));

  CLI::App* verify = app.add_subcommand(
      "verify",
      "Read every record of an artifact again and check all that can be checked; what is good is "
      "written down beside it, and not read again before a training");
  verify
      ->add_option("PLACE", options.targets,
                   "Directory of an artifact: as `out` names it, or in a work directory")
      ->required();
  verify
      ->add_option("--max-tokens", options.max_tokens,
                   "A trainer's longest line, its end mark included: how much of a TFDS data set of texts it "
                   "drops; by default that which the data set was written for")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
  verify
      ->add_option("--tokenizer", options.tokenizer,
                   "Its SentencePiece model, or the directory of a tokenizer; by default the one beside the "
                   "data set")
      ->type_name("PLACE");

  CLI::App* cat = app.add_subcommand("cat", "Print the records of an artifact or of one of its objects");
  cat->add_option("WHAT", options.target,
                  "Directory of an artifact or quarantine; a shard; a .part, .spill, .jsonl or run.log of a "
                  "work directory; text, compressed or not; anywhere")
      ->required();
  cat->add_flag("--json", options.json,
                "A JSON object per record, with all columns; without it a line end is \\n");
  cat->add_option("-l,--limit", options.limit, "That many records, then end")->type_name("N");

  CLI::App* ls =
      app.add_subcommand("ls", "List what lies at places: directories, buckets, one file of a web server");
  ls->add_option("PLACE", options.targets, "A path, gs://BUCKET/PATH or https://HOST/FILE")->required();
  ls->add_flag("-l,--long", options.is_long, "SIZE, CRC32C and PLACE, tabs between them; - where not known");
  ls->add_flag("-r,--recursive", options.recursive, "Every object below, not directories");

  CLI::App* cp =
      app.add_subcommand("cp", "Copy from any place to any other; what is there already is left alone");
  cp->add_option("FROM", options.from, "An object; with -r a directory")->required();
  cp->add_option("TO", options.target, "A name for it; or a directory, which ends in / or is there")
      ->required();
  cp->add_flag("-r,--recursive", options.recursive, "Copy all below FROM to the same names below TO");
  cp->add_flag("--force", options.replaces, "Replace what is there with other bytes");

  CLI::App* doctor = app.add_subcommand(
      "doctor", "Check credentials, buckets and this machine, and say what mends what is wrong");
  doctor->add_option("PLACE", options.targets,
                     "Places to read and write, or the pipeline file that names them");
  AddSet(*doctor, set, options);

  CLI::App* stats = app.add_subcommand(
      "stats", "Say how many records, documents, characters and ids an artifact has, and how long they are");
  stats
      ->add_option(
          "WHAT", options.target,
          "Directory of an artifact, one of its shards or partition files, or a file of text or JSON Lines")
      ->required();
  stats->add_flag("--json", options.json, "As JSON, with every count");

  CLI::App* clean = app.add_subcommand("clean", "Remove intermediates that nothing unfinished needs");
  AddFile(*clean, options), AddSet(*clean, set, options);
  clean->add_flag("-n,--dry-run", options.dry_run, "Say what would be removed");
  clean->add_flag("--all", options.all,
                  "All but logs, reports and quarantines: what unfinished stages could go on from, kept and "
                  "trained, too");

  app.add_subcommand("plugins", "List the plugins that are found, with their stages and commands");
  app.add_subcommand("schema", "Print the JSON Schema of pipeline files, for editors");
  app.add_subcommand("reference", "Print the reference page of all stages and their keys");
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what completes these words in a shell: source <(pipe completion bash)");
  completion->add_option("SHELL", options.target, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.add_subcommand("manual", "Print the manual page: pipe manual | man -l -");
  CLI::App* probe = app.add_subcommand("__probe-plugin")->group("");  // hidden: see plugins/loader.h
  probe->add_option("PATH", options.target)->required();
}

/// What CLI11 knows of one word. Its type is "N", "N:INT in [1 - 1024]" or "TEXT:{text,json}".
CommandWord WordOf(const CLI::Option& option) {
  CommandWord word;
  for (const std::string& name : option.get_snames()) word.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) word.flags.push_back("--" + name);
  word.help = option.get_description();
  word.required = option.get_required();
  word.repeats = option.get_items_expected_max() > 1;
  const std::string type = option.get_type_name();
  if (const std::size_t open = type.find('{'); open != std::string::npos) {
    std::stringstream choices(type.substr(open + 1, type.find('}') - open - 1));
    for (std::string choice; std::getline(choices, choice, ',');) word.choices.push_back(choice);
  }
  if (option.get_positional())
    word.value = option.get_name(true);
  else if (option.get_items_expected_max() > 0)
    word.value = type.substr(0, type.find(':'));
  if (!word.choices.empty() && !option.get_positional()) word.value = "WORD";
  return word;
}

}  // namespace

CommandTable TheCommandTable() {
  Options options;
  std::vector<std::string> set;
  CLI::App app(kHelp);
  Define(app, options, set);
  CommandTable table{app.get_description(), app.get_footer(), {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;  // hidden
    CommandEntry entry{command->get_name(), command->get_description(), {}};
    for (const bool by_location : {true, false})
      for (const CLI::Option* option : command->get_options())
        if (option->get_positional() == by_location && option != command->get_help_ptr())
          entry.words.push_back(WordOf(*option));
    table.commands.push_back(std::move(entry));
  }
  return table;
}

std::variant<Options, Reply> ParseArgs(int argc, char** argv) {
  Options options;
  std::vector<std::string> set;
  CLI::App app(kHelp);
  Define(app, options, set);

  std::string help_word = "--help";
  std::vector<char*> asked = {argv[0]};  // `pipe help COMMAND` is `pipe COMMAND --help`
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    asked.insert(asked.end(), argv + 2, argv + argc);
    asked.push_back(help_word.data());
    argc = static_cast<int>(asked.size());
    argv = asked.data();
  }

  // CLI11 would only say that a command is missing.
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    const std::string_view nearest = NearestWord(argv[1], names);
    options.command = "of a plugin";
    options.words.assign(argv + 1, argv + argc);
    options.otherwise = StrCat(
        "pipe: there is no command '", argv[1], "'",
        nearest.empty() ? std::string("; see pipe --help") : StrCat("; did you mean '", nearest, "'?"));
    return options;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (code == 0) return Reply{out.str(), kExitDone};
    const bool is_worker = argc > 1 && std::string_view(argv[1]) == "worker";
    return Reply{err.str(), is_worker ? kExitUsage : kExitRefused};
  }
  options.command = app.get_subcommands().front()->get_name();
  options.words.assign(argv + 1, argv + argc);
  for (const std::string& assignment : set) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      return Reply{StrCat("pipe: --set ", assignment, ": expected NAME=VALUE\n"), kExitRefused};
    options.set.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return options;
}

}  // namespace pipeline
