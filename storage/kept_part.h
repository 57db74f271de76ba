// Part file: the received part of an object from another machine. It lies beside the future object (name:
// storage/local_names.h), and the next copy of the same object continues with it. Format:
// storage/remote/http/part_file.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Time for which an interrupted copy keeps its upload session or part file.
inline constexpr std::int64_t kKeptSeconds = std::int64_t{6} * 24 * 60 * 60;

/// Another process uses the part file, or locks cannot show whether one does: no part file can be kept
/// there now.
struct PartIsTaken final : StatusDetail {};

/// Returns the path of the part file for the future object at `target`.
std::string KeptPartPath(const std::string& target);

/// Opens the part file at `path`, locked until the descriptor is closed. Creates it and its directory if
/// they are missing. A part file with a second name was published: it keeps that name, and an empty one
/// takes its place. kFailedPrecondition with PartIsTaken: a living process has it, the file belongs to
/// another user or is not a regular file, or the file system has no locks.
Result<FileDescriptor> OpenKeptPart(const std::string& path);

/// Removes the part file at `path` and its journal. OK also if there is none, or if a living process has
/// it.
Status RemoveKeptPart(const std::string& path);

/// The same, but only if nobody has continued it for kKeptSeconds. `path` names a part file or a journal.
Status RemoveOldPart(const std::string& path);

}  // namespace pipeline
