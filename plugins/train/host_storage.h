// pipe.storage/1 with the types of ours, and with local files at the other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/plugin_abi.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

inline pipe_text TextOf(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ViewOf(pipe_text text) {
  return text.size == 0 || text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

/// Valid as long as the call. Safe from any thread. A host without the extension, or an older one, answers
/// kUnimplemented.
class HostStorage {
 public:
  struct Object {
    std::string name;  // below the URI that was listed
    std::uint64_t bytes = 0;
  };
  using Moved = std::function<void(std::uint64_t bytes)>;  // so many more
  using GiveUp = std::function<bool()>;                    // asked between pieces of an object

  explicit HostStorage(const pipe_call& call);

  /// A whole object of at most `most` bytes. kNotFound: there is none.
  Result<std::string> Read(const std::string& uri, std::uint64_t most) const;
  /// Every object below `uri`, by name.
  Result<std::vector<Object>> List(const std::string& uri) const;
  /// Makes an object a file, durably and as a whole; the directory is made. kDataLoss where its length or its
  /// CRC-32C is not what `wanted` says: there is no file then.
  Status Fetch(const std::string& uri, const FileFacts& wanted, const std::string& path,
               const Moved& moved) const;
  /// Makes a file an object. `condition` as in plugin_abi.h; kCancelled once `give_up` says so: there is no
  /// object then.
  Status Put(const std::string& path, const std::string& uri, std::uint32_t condition,
             const GiveUp& give_up) const;
  Status PutText(std::string_view text, const std::string& uri, std::uint32_t condition) const;
  /// OK also where there was none.
  Status Remove(const std::string& uri) const;

 private:
  /// Whether the host's struct has the member that ends at `end`.
  bool Has(std::size_t end) const { return abi_ != nullptr && abi_->struct_size >= end; }
  Status Missing() const;
  Status Failure(pipe_code code, std::string_view what) const;
  Status ReadPieces(const std::string& uri, const std::function<Status(std::string_view piece)>& take) const;

  const pipe_storage_1* const abi_;  // null where the host has none
};

}  // namespace pipeline
