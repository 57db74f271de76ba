// What a local store calls the files that are not objects yet:
//
//   .NAME.tmp.BOOT8-PID-N
//
// NAME is the last part of the object's name, which the file lies beside; where that has more than 200
// bytes, its first 200, or up to three fewer, so that no character of UTF-8 is cut. BOOT8 is the first 8
// characters of the kernel's boot id (8 zeros where there is none), PID the writing process, N a
// number that counts up in that process. A name of this form is never an object, and is not listed.
//
// The front of an object that arrives from another machine is kept over the end of its process as
//
//   .NAME.tmp.part-DIGEST16         and its journal: .NAME.tmp.part-DIGEST16.json
//
// NAME is cut as above, DIGEST16 are the first 16 hexadecimal digits of the digest of all of it: whoever
// writes the same object next finds it. These are no objects either (storage/kept_part.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

/// What Linux takes between two slashes.
inline constexpr std::size_t kMaxLocalPartBytes = 255;

/// kInvalidArgument where an object of a local store cannot have this name: see storage/README.md.
Status CheckLocalName(std::string_view name);

/// A temporary's name, taken apart.
struct TemporaryName {
  std::string_view object;  // NAME, perhaps cut; points into what was parsed
  std::string_view boot;
  std::uint32_t pid = 0;
};

/// A name for a new temporary of this process; `object` is the last part of an object's name.
std::string NewTemporaryName(std::string_view object);

/// Absent where `name`, without directory, is not of the form above.
std::optional<TemporaryName> ParseTemporaryName(std::string_view name);

/// What the front of `object` is kept as; `object` is the last part of an object's name.
std::string KeptPartName(std::string_view object);

/// NAME, where `name`, without directory, is that of a kept part or of its journal; points into what was
/// parsed.
std::optional<std::string_view> ParseKeptPart(std::string_view name);

/// Whether `name`, without directory, is of one of the forms above: no object.
bool IsUnfinishedName(std::string_view name);

/// Whether `temporary`, which lies in the directory `above` (empty, or with a slash at its end), may belong
/// to an object whose name begins with `prefix`. Where NAME was cut, only its front is compared.
bool MayBelongTo(const TemporaryName& temporary, std::string_view above, std::string_view prefix);
/// The same for a kept part, whose NAME is `named`.
bool MayBelongTo(std::string_view named, std::string_view above, std::string_view prefix);

/// True when the process was started in another boot, or is gone. Only where locks cannot tell: a
/// number may have been given to another process since.
bool WriterIsGone(const TemporaryName& name);

}  // namespace pipeline
