// Names of files in a local store that are not objects yet. A temporary is called
//
//   .NAME.tmp.BOOT8-PID-N
//
// and lies beside its future object. NAME is the last part of the object's name; if that has more than 200
// bytes, its first 200, or up to three fewer so that no UTF-8 character is cut. BOOT8: first 8 characters
// of the kernel's boot id (8 zeros: it has none). PID: the writing process. N: a number that counts up in
// that process. A name of this form is never an object, and is not listed.
//
// A part file, which outlives its process, holds the front of an object from another machine. It is called
//
//   .NAME.tmp.part-DIGEST16         and its journal: .NAME.tmp.part-DIGEST16.json
//
// NAME is cut as above. DIGEST16: first 16 hexadecimal digits of the digest of the uncut NAME, so that the
// next writer of the same object finds the file. These are not objects either (storage/kept_part.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pipeline {

/// Limit of Linux for the bytes between two slashes.
inline constexpr std::size_t kMaxLocalPartBytes = 255;

/// The end of the name of a part file's journal, after the name of the part file.
inline constexpr std::string_view kJournalSuffix = ".json";

/// kInvalidArgument: an object of a local store cannot have this name, see storage/README.md.
Status CheckLocalName(std::string_view name);

/// The parts of a temporary's name.
struct TemporaryName {
  std::string_view object;  // NAME, perhaps cut; points into the parsed name
  std::string_view boot;
  std::uint32_t pid = 0;
};

/// Returns a name for a new temporary of this process. `object` is the last part of an object's name.
std::string NewTemporaryName(std::string_view object);

/// Absent: `name`, without directory, does not have the form above.
std::optional<TemporaryName> ParseTemporaryName(std::string_view name);

/// Returns the name of the part file for `object`, the last part of an object's name.
std::string KeptPartName(std::string_view object);

/// Returns NAME if `name`, without directory, is that of a part file or its journal. Points into `name`.
std::optional<std::string_view> ParseKeptPart(std::string_view name);

/// True if `name`, without directory, has one of the forms above and is no object.
bool IsUnfinishedName(std::string_view name);

/// True if a temporary or a part file with the NAME `named`, in the directory `above` (empty, or with a slash
/// at its end), may belong to an object whose name begins with `prefix`. If NAME was cut, only its front is
/// compared.
bool MayBelongTo(std::string_view named, std::string_view above, std::string_view prefix);

/// True if the process was started in another boot, or is gone. Use it only without locks: another process
/// may have the same number now.
bool WriterIsGone(const TemporaryName& name);

}  // namespace pipeline
