// What is left of an object that arrived from another machine in part: named by storage/local_names.h, lying
// beside where the object is going to be, and good for whoever copies the same there next. Format:
// remote/part_file.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// How long what a copy left is kept for whoever goes on with it: the sessions of uploads, and parts.
inline constexpr std::int64_t kKeptSeconds = std::int64_t{6} * 24 * 60 * 60;

/// Somebody else works at the part, or nothing would tell if somebody did: none can be kept there now.
struct PartIsTaken final : StatusDetail {};

/// Of the object that is going to be at `target`.
std::string KeptPartPath(const std::string& target);

/// The part at `path`, open and locked for as long as the descriptor is; made, with its directory, where
/// there is none. One that has another name, too, was published: it is left to that name, and begun anew.
/// kFailedPrecondition with PartIsTaken where a living process has it, what lies there is another user's or
/// no file, or the file system has no locks.
Result<FileDescriptor> OpenKeptPart(const std::string& path);

/// Removes the part at `path` and its journal. OK also where there is none, or a living process has it.
Status RemoveKeptPart(const std::string& path);

/// The same where nobody has gone on with it for kKeptSeconds; `path` is that of a part or of a journal.
Status RemoveOldPart(const std::string& path);

}  // namespace pipeline
