// A bundle: the bytes of several small objects in one file. Format: storage/bundle_file.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// The part of a bundle that is one object.
struct BundledPart {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// True if a bundle can hold an object of this name.
bool CanBeBundled(std::string_view name);

/// Returns the name of a bundle whose first object is `first`: "0000-00000.spill.bundle-1".
std::string BundleName(std::string_view first, std::uint64_t number);

/// Returns the number in a name from BundleName; absent: any other name.
std::optional<std::uint64_t> NumberOfBundle(std::string_view name);

/// Returns the bytes that follow those of the objects. `parts` are in their order in the file, without gaps.
std::string EncodeBundleEnd(std::span<const BundledPart> parts);

/// Reads the list at the end of a bundle. kDataLoss: the file is no bundle, or is damaged.
Result<std::vector<BundledPart>> ReadBundleParts(const ByteFile& file, std::stop_token stop = {});

}  // namespace pipeline
