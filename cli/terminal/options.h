// The parsed command line; only its form is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dag/plan.h"

namespace pipeline {

struct Options {
  std::string command;             // "run", "cat", ...
  std::vector<std::string> words;  // all words as typed, from the command on
  std::string file;                // the pipeline file
  std::vector<std::pair<std::string, std::string>> set;
  std::string subset;  // --subset; empty: the whole corpus
  std::string work;    // --work; empty: PIPE_WORK, else ./.pipe/NAME
  Selection selection;
  bool dry_run = false;  // -n
  bool ask = false;      // -n: also ask servers
  bool explain = false;
  int keep_going = 1;  // -k
  int threads = 0;     // -j; 0: as many as there are cores
  std::uint64_t batch_bytes = 256 << 10;
  bool json_log = false;  // --log-format json

  // Options of single commands.
  std::string target;                // cat, stats: an artifact or one object; cp: the target
  std::vector<std::string> targets;  // verify: artifacts; ls, doctor: locations
  std::string tokenizer;             // verify: the trainer's tokenizer; empty: the one beside the data set
  std::uint64_t max_tokens = 0;  // verify: the longest line that a trainer accepts; 0: that of the data set
  std::string from;              // cp: the source
  bool recursive = false;        // ls, cp: everything below
  bool allow_plugin = false;     // load plugins named by a path also if nothing runs
  bool is_long = false;          // ls: sizes and checksums
  bool replaces = false;         // cp: replaces existing objects that differ
  bool json = false;             // cat, stats, status: JSON instead of text
  std::uint64_t limit = UINT64_MAX;  // cat: maximum number of records
  std::string graph_format = "mermaid";
  bool all = false;          // clean: everything, not only unneeded files
  std::string work_package;  // plan, worker: the location of the work packages
  std::string unit;          // worker
  std::string scratch;       // worker: a directory for temporaries; empty: the system's

  // An unknown command may belong to a plugin: then `words` begins with it.
  std::string otherwise;  // the message if no plugin has the command
};

}  // namespace pipeline
