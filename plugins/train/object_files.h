// Copies between objects and files of this machine, and small reads and writes of objects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "plugins/native/storage.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

using Moved = std::function<void(std::uint64_t bytes)>;  // the bytes moved since the last call
using GiveUp = std::function<bool()>;                    // called between parts of an object

/// Reads a whole object of at most `most` bytes. kNotFound: it does not exist.
Result<std::string> ReadText(const PluginStorage& storage, const std::string& uri, std::uint64_t most);

/// Reads a whole object as ReadText does.
using ReadWhole = std::function<Result<std::string>(const std::string& uri, std::uint64_t most)>;
/// `storage` outlives the result.
ReadWhole ReaderOf(const PluginStorage& storage);
/// The JSON in an object of at most 64 MiB; null: the object does not exist, or is no JSON.
Result<Json> ReadJson(const PluginStorage& storage, const std::string& uri);
/// Reads a whole object of any size; ends at the first failure of `take`.
Status StreamObject(const PluginStorage& storage, const std::string& uri,
                    const std::function<Status(std::string_view piece)>& take);
/// Downloads an object to a file, durably and as a whole; creates the directory. kDataLoss if its length or
/// CRC-32C differs from `wanted`; no file is left then.
Status FetchObject(const PluginStorage& storage, const std::string& uri, const FileFacts& wanted,
                   const std::string& path, const Moved& moved);
/// As FetchObject, for the bytes of an object from `from` on; without waiting for the disk. kCancelled once
/// `give_up` returns true.
Status FetchPart(const PluginStorage& storage, const std::string& uri, std::uint64_t from,
                 const FileFacts& wanted, const std::string& path, const Moved& moved, const GiveUp& give_up);

/// How an object is written.
struct ObjectRule {
  PluginStorage::Creation creation = PluginStorage::Creation::kReplace;
  PluginStorage::AtStop at_stop = PluginStorage::AtStop::kEnds;
};
/// Create-only, also after a stop.
inline constexpr ObjectRule kCreateAlways = {PluginStorage::Creation::kCreateOnly,
                                             PluginStorage::AtStop::kGoesOn};
/// Replaces, also after a stop.
inline constexpr ObjectRule kReplaceAlways = {PluginStorage::Creation::kReplace,
                                              PluginStorage::AtStop::kGoesOn};

/// Uploads a file as an object. kCancelled once `give_up` returns true; no object is left then.
Status PutFile(const PluginStorage& storage, const std::string& path, const std::string& uri,
               const ObjectRule& rule, const GiveUp& give_up);
Status PutText(const PluginStorage& storage, std::string_view text, const std::string& uri,
               const ObjectRule& rule);
/// PluginStorage::WriteWhole. Absent: the object has another version, and nothing changed.
Result<std::optional<std::string>> WriteIfKnown(const PluginStorage& storage, const std::string& uri,
                                                std::string_view bytes, const std::string& known,
                                                PluginStorage::AtStop at_stop = PluginStorage::AtStop::kEnds);

}  // namespace pipeline
