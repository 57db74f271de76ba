// From a place as it stands in a pipeline file to a Store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// The store rooted at a path, `file://` or http(s) URI; whether it is there, and can be written to, shows at
/// the first use. Fails with kInvalidArgument for what is no place, kUnimplemented for gs://.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);

/// One file that is somewhere else. Reading it resumes by itself, and fails once it is another version.
struct RemoteFile {
  std::shared_ptr<const ByteFile> bytes;
  std::string version;                  // empty: nothing tells one version from another
  std::optional<std::uint32_t> crc32c;  // of the whole; absent where the place does not say
};
/// What is at an http(s) or gs:// URI now. kNotFound, and whatever else the place answers; a place that does
/// not answer is asked again for so long as `patience` says.
enum class Patience : std::uint8_t { kPlan, kRun };
Result<RemoteFile> OpenRemoteFile(std::string_view uri, Patience patience, std::stop_token stop);

/// Whether OpenRemoteFile is meant for it.
bool IsRemote(std::string_view uri);

}  // namespace pipeline
