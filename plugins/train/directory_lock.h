// Gives a directory one owner at a time, among the threads and processes of this machine.
#pragma once

#include <functional>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Creates `directory` and locks its file `lock` until the descriptor is closed. kFailedPrecondition:
/// another owner holds it.
Result<FileDescriptor> LockDirectory(const std::string& directory);

/// As LockDirectory, but waits for the other owner. kCancelled once `stopped` returns true.
Result<FileDescriptor> WaitForDirectory(const std::string& directory, const std::function<bool()>& stopped);

}  // namespace pipeline
