// The list of objects of an artifact that were read completely without a finding; it is kept beside the
// artifact. Format: stages/verify/verified.md.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kVerifiedName = ".pipe/verified.json";

/// The state of an object that was verified.
struct VerifiedObject {
  std::string version;  // as in ObjectInfo; not empty
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  std::int64_t ctime_ns = 0;  // as in ObjectInfo; 0: unknown, as in the lists of earlier versions
  bool operator==(const VerifiedObject&) const = default;
};
using VerifiedObjects = std::map<std::string, VerifiedObject, std::less<>>;

/// Returns whether `verified` matches both `object` of the manifest and the present object `info`.
bool IsVerified(const VerifiedObject& verified, const StoredObject& object, const ObjectInfo& info);

/// Returns the list for the artifact with this manifest; empty: there is none, or it is unreadable.
VerifiedObjects ReadVerified(Store& store, const Manifest& manifest, std::stop_token stop);
/// Replaces the list. If `stop` is set, this takes a few seconds at most.
Status WriteVerified(Store& store, const Manifest& manifest, const VerifiedObjects& verified,
                     std::stop_token stop);

}  // namespace pipeline
