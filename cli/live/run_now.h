// What a run that goes on does just now, for `pipe status`: runs/ID/now.json. Format: cli/run_record.md.
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
    double since = 0;  // seconds since the run began, as `at`
    std::uint64_t records = 0;
    std::uint64_t text = 0;          // bytes
    std::uint64_t done = 0, of = 0;  // of what it reads, or as a Job counts; `of` 0 where nobody knows
    std::string said;                // by a Job
    double child_cpu = 0;            // seconds, of its child processes
    std::uint64_t child_rss = 0;     // bytes
  };
  double at = 0;
  double cpu = 0;             // seconds so far, child processes included, as everywhere here
  std::uint64_t rss = 0;      // bytes
  std::uint64_t to_disk = 0;  // bytes so far
  std::uint64_t written = 0;  // bytes so far, of what was committed
  std::vector<Unit> units;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> shards;  // by stage: done, of
};

std::string EncodeNow(const RunNow& now);
/// Absent where it is no such text: what is unknown or wrong in one is passed over.
std::optional<RunNow> ParseNow(std::string_view text);

/// In the directory of a run. For people: what cannot be written is left out, and an old one never stays.
void WriteNow(const std::string& directory, const RunNow& now);
void RemoveNow(const std::string& directory);
std::optional<RunNow> ReadNow(const std::string& directory);

}  // namespace pipeline
