// Figures from /proc about a process and its children. Zero: the system gives none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/child_ledger.h"

namespace pipeline {

/// Current state of a process.
struct ProcessLook {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  double cpu = 0;              // seconds, including children that it waited for
  std::uint64_t resident = 0;  // bytes; 0: it has ended and nobody has waited for it
};

/// Parses the text of /proc/PID/stat; absent: not such a text. `ticks`: clock ticks per second; `page`:
/// bytes.
std::optional<ProcessLook> ParseProcessStat(std::string_view text, long ticks, long page);

/// Returns every visible process. Takes some microseconds per process.
std::vector<ProcessLook> LookAtProcesses();

struct ProcessBytes {
  std::uint64_t read = 0;     // by read calls: files, pipes, sockets
  std::uint64_t written = 0;  // by write calls, as above
  std::uint64_t to_disk = 0;  // bytes for a disk to write
};
/// Reads the text of /proc/PID/io.
ProcessBytes ParseProcessIo(std::string_view text);
/// Bytes of a process and of children that it waited for. `id` 0: this process.
ProcessBytes BytesOfProcess(pid_t id);

}  // namespace pipeline
