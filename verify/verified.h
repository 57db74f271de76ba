// Which objects of an artifact were read to the end with nothing wrong, kept beside it. Format:
// verify/verified.md.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/manifest.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kVerifiedName = ".pipe/verified.json";

/// The state of an object that was verified.
struct VerifiedObject {
  std::string version;  // as ObjectInfo has it; not empty
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const VerifiedObject&) const = default;
};
using VerifiedObjects = std::map<std::string, VerifiedObject, std::less<>>;

/// Whether that is what stands in the manifest as `object` and lies there as `info`.
bool IsVerified(const VerifiedObject& verified, const StoredObject& object, const ObjectInfo& info);

/// What is known of the artifact with this manifest; empty where nothing is, or where it cannot be read.
VerifiedObjects ReadVerified(Store& store, const Manifest& manifest, std::stop_token stop);
/// Replaces what is known. Once `stop` stops, a few seconds are spent on it.
Status WriteVerified(Store& store, const Manifest& manifest, const VerifiedObjects& verified,
                     std::stop_token stop);

}  // namespace pipeline
