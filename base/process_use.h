// Figures of /proc about a process and its children. Zero: the system does not tell.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/child_ledger.h"

namespace pipeline {

/// A process as it is now.
struct ProcessLook {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  double cpu = 0;              // seconds, with those of its children that it waited for
  std::uint64_t resident = 0;  // bytes; 0 of one that has ended and was not waited for
};

/// The text of /proc/PID/stat; absent where it is none. `ticks` in a second, `page` bytes.
std::optional<ProcessLook> ParseProcessStat(std::string_view text, long ticks, long page);

/// Every process that can be seen. Takes some microseconds for each.
std::vector<ProcessLook> LookAtProcesses();

struct ProcessBytes {
  std::uint64_t read = 0;     // by calls: files, pipes, sockets
  std::uint64_t written = 0;  // the same
  std::uint64_t to_disk = 0;  // that a disk has to write
};
/// Reads the text of /proc/PID/io.
ProcessBytes ParseProcessIo(std::string_view text);
/// The bytes of a process and of those of its children that it waited for; 0 is this process.
ProcessBytes BytesOfProcess(pid_t id);

}  // namespace pipeline
