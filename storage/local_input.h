// A file that is read in place or while it is downloaded: a path or a URL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipeline {

struct LocalInput {
  std::string path;
  std::string name;
  /// Expected checksum, in the syntax of base/checksum.h. It identifies the file, wherever the file is.
  /// Empty: no checksum is known.
  std::string checksum = {};
  std::vector<std::string> mirrors = {};  // other addresses of the same bytes; with a checksum only
  int connections = 0;                    // simultaneous, to one server; 0: the usual number for that server
  std::uint64_t rate = 0;           // bytes per second, shared by all inputs of the same rate; 0: no limit
  std::uint64_t least_rate = 4096;  // bytes per second; a slower transfer is given up and another tried
  int stall = 60;     // seconds over which `least_rate` is measured; also the longest silence of one transfer
  int silence = 900;  // seconds without a byte from any server, after which the download fails
  /// Only the beginning is read, so the checksum of the whole file cannot be checked.
  bool in_part = false;
  /// `path` is a pattern that stands for all matching objects of a bucket. A caller that can list the
  /// bucket expands it.
  bool is_pattern = false;
};

}  // namespace pipeline
