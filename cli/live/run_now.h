// The current state of a running run, for `pipe status`: runs/ID/now.json. Format: cli/report/run_record.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipeline {

struct RunNow {
  struct Unit {
    std::string unit;
    double since = 0;  // seconds since the start of the run, as `at`
    std::uint64_t records = 0;
    std::uint64_t text = 0;          // bytes
    std::uint64_t done = 0, of = 0;  // of its input, or in a Job's own unit; `of` 0: unknown
    std::string said;                // status text of a Job
    double child_cpu = 0;            // seconds, of its child processes
    std::uint64_t child_rss = 0;     // bytes
  };
  double at = 0;
  double cpu = 0;             // seconds so far, including child processes, as everywhere here
  std::uint64_t rss = 0;      // bytes
  std::uint64_t to_disk = 0;  // bytes so far
  std::uint64_t written = 0;  // committed bytes so far
  std::vector<Unit> units;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> shards;  // by stage: done, total
};

std::string EncodeNow(const RunNow& now);
/// Absent if the text is not a state. Skips unknown and malformed members.
std::optional<RunNow> ParseNow(std::string_view text);

/// In the directory of a run. Only for people: if it cannot be written, it is left out, and an old file is
/// removed.
void WriteNow(const std::string& directory, const RunNow& now);
void RemoveNow(const std::string& directory);
std::optional<RunNow> ReadNow(const std::string& directory);

}  // namespace pipeline
