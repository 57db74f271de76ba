// Gives a directory one owner at a time, among the threads and processes of this machine.
#pragma once

#include <functional>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// The file of LockDirectory and WaitForDirectory.
inline constexpr const char* kDirectoryLock = "lock";

/// Creates `directory` and locks its file kDirectoryLock until the descriptor is closed. kUnavailable:
/// another owner holds it.
Result<FileDescriptor> LockDirectory(const std::string& directory);

/// As LockDirectory, but waits for the other owner. kCancelled once `stopped` returns true.
Result<FileDescriptor> WaitForDirectory(const std::string& directory, const std::function<bool()>& stopped);

/// Shares the directory with other users of its files, by its file `used`, until the descriptor is closed.
Result<FileDescriptor> UseDirectory(const std::string& directory);

/// Waits until nobody uses the directory, and keeps users away until the descriptor is closed. kCancelled
/// once `stopped` returns true; `stopped` is asked only while there is a user.
Result<FileDescriptor> WaitForUsers(const std::string& directory, const std::function<bool()>& stopped);

}  // namespace pipeline
