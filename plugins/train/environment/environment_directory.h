// The directory of an environment while it is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// Gives a directory to this process until the descriptor is closed, and waits for another one that has it.
Result<FileDescriptor> WaitForTurn(const std::string& directory, const PluginServices& call);

/// As WaitForTurn. kFailedPrecondition: the directory has something that is not of an environment of ours.
Result<FileDescriptor> TakeDirectory(const std::string& directory, const PluginServices& call);

/// kFailedPrecondition: `needed` bytes are neither free there nor those that the directory has now.
/// `instead`: the other place that the message advises.
Status CheckRoom(const std::string& directory, std::uint64_t needed, std::string_view instead);

/// Makes the directory an unfinished environment. Of what it has, files of an unfinished one that have
/// arrived stay alone.
Status ClearDirectory(const std::string& directory);

/// The directory for files that arrive; empty: the pip of `python` has one of its own where it may write.
Result<std::string> CacheFor(const std::string& directory, const std::string& python,
                             const PluginServices& call);

/// Writes the content of `made-from`; from then on the environment counts.
Status FinishDirectory(const std::string& directory, std::string_view mark);

}  // namespace pipeline
