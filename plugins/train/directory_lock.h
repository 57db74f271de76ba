// One owner of a directory at a time, among threads and among processes of this machine.
#pragma once

#include <functional>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Makes `directory`, and takes the lock on its file `lock`, which is held as long as the descriptor is open.
/// kFailedPrecondition: another has it.
Result<FileDescriptor> LockDirectory(const std::string& directory);

/// The same, waiting for whoever has it. kCancelled once `stopped` says so.
Result<FileDescriptor> WaitForDirectory(const std::string& directory, const std::function<bool()>& stopped);

}  // namespace pipeline
