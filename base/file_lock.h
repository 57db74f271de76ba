// Locks of whole files (flock), which the kernel holds: no kill leaves one behind. A lock ends when its
// descriptor is closed, and a forked child keeps it open.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace pipeline {

enum class LockKind : std::uint8_t { kAlone, kShared };
enum class FileLock : std::uint8_t { kHeld, kTaken, kUnsupported };

/// Returns at once. kTaken: another descriptor has a lock that excludes this one. kUnsupported: the file
/// system has no locks, or another error, which `errno` has.
FileLock TryLock(const FileDescriptor& file, LockKind kind);

/// Waits for the lock. On a file system without locks it returns at once, without one.
void WaitForLock(const FileDescriptor& file);

/// Ends the lock although a forked child may hold the descriptor open.
void Unlock(const FileDescriptor& file);

/// Returns whether `path` is still a name of the open file. Ask it after a lock: the file may have been
/// removed, and others lock the new one.
bool IsStillAt(const FileDescriptor& file, const std::string& path);

}  // namespace pipeline
