// What a local store calls the files that are not objects yet:
//
//   .NAME.tmp.BOOT8-PID-N
//
// NAME is the last part of the object's name, which the file lies beside. BOOT8 is the first 8
// characters of the kernel's boot id (8 zeros where there is none), PID the writing process, N a
// number that counts up in that process. A name of this form is never an object, and is not listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipeline {

/// A temporary's name, taken apart.
struct TemporaryName {
  std::string_view object;  // NAME; points into what was parsed
  std::string_view boot;
  std::uint32_t pid = 0;
};

/// A name for a new temporary of this process; `object` is the last part of an object's name.
std::string NewTemporaryName(std::string_view object);

/// Absent where `name`, without directory, is not of the form above.
std::optional<TemporaryName> ParseTemporaryName(std::string_view name);

/// True when the process was started in another boot, or is gone. Only where locks cannot tell: a
/// number may have been given to another process since.
bool WriterIsGone(const TemporaryName& name);

}  // namespace pipeline
