// Addresses of hosts, and lists of them with a comma in between. The messages of all failures here are
// reasons alone: the caller knows the name of the variable and the remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Longest name in DNS. It bounds the memory for a list.
inline constexpr std::size_t kLongestHostName = 253;

/// `text` without spaces, tabs and line ends around it.
std::string_view Trimmed(std::string_view text);

/// True for letters, digits, `.`, `-` and `_`, at most kLongestHostName of them. IPv4 addresses are such
/// names.
bool IsHostName(std::string_view text);

/// True for an IPv6 address without brackets and without a zone.
bool IsIpv6(std::string_view text);

/// Parses a name or an address: "10.0.0.1", "fd00::1", "[fd00::1]". kInvalidArgument: anything else, also a
/// port.
Result<std::string> ParseHostAddress(std::string_view text);

/// The same, with a port or without: "10.0.0.1:8476", "[fd00::1]:8476". The port is checked and left out.
Result<std::string> ParseProcessAddress(std::string_view text);

/// Parses each entry of a list with `parse`, in order: from 1 to kMostHosts entries. kInvalidArgument: there
/// are more, or one of them is refused.
Result<std::vector<std::string>> ParseHostList(std::string_view text,
                                               Result<std::string> (*parse)(std::string_view entry));

/// Expands a list of nodes as Slurm writes it, e.g. SLURM_STEP_NODELIST: "tpu[01-03,7],gpu-2" or
/// "r[1-2]n[01-02]" in the order of `scontrol show hostnames`: a later bracket changes faster. Numbers have
/// as many digits as the first number of their range. kInvalidArgument gives the reason alone; more than
/// kMostHosts nodes are refused before they are made.
Result<std::vector<std::string>> ParseNodeList(std::string_view text);

}  // namespace pipeline
