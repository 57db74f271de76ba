// What was typed, checked for form only.
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
  std::vector<std::string> words;  // all of them as they were typed, from the command on
  std::string file;                // the pipeline file
  std::vector<std::pair<std::string, std::string>> set;
  std::string subset;  // --subset; empty: the whole
  std::string work;    // --work; empty: PIPE_WORK, else ./.pipe/NAME
  Selection selection;
  bool dry_run = false;  // -n
  bool ask = false;      // -n: servers, too
  bool explain = false;
  int keep_going = 1;  // -k
  int threads = 0;     // -j; 0: as many as there are cores
  std::uint64_t batch_bytes = 256 << 10;
  bool json_log = false;  // --log-format json

  // Commands of their own.
  std::string target;                // cat, stats: an artifact, or one object; cp: where to
  std::vector<std::string> targets;  // verify: artifacts; ls, doctor: places
  std::string tokenizer;             // verify: that of a trainer; empty: the one beside the data set
  std::uint64_t max_tokens = 0;      // verify: the longest line of a trainer; 0: that of the data set
  std::string from;                  // cp: what
  bool recursive = false;            // ls, cp: all that lies below
  bool allow_plugin = false;  // also where nothing runs, a plugin that the file names by a path is loaded
  bool is_long = false;       // ls: sizes and checksums
  bool replaces = false;      // cp: what is there and differs
  bool json = false;          // cat, stats, status: JSON instead of text
  std::uint64_t limit = UINT64_MAX;  // cat: that many records
  std::string graph_format = "mermaid";
  bool all = false;      // clean: everything, not only what nothing needs
  std::string hand_out;  // plan: where it is handed out; worker: where it was
  std::string unit;      // worker
  std::string scratch;   // worker: a directory for what it needs meanwhile; empty: that of the system

  // A word that is no command of this program may be a plugin's: `words` from that word on.
  std::string otherwise;  // what to say where no plugin has it
};

}  // namespace pipeline
