// pipe.storage/1 with our types; copies between objects and local files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// Valid as long as the call. Safe from any thread. kUnimplemented if the host lacks the extension or the
/// function.
class HostStorage {
 public:
  struct Object {
    std::string name;  // relative to the listed URI
    std::uint64_t bytes = 0;
  };
  using Moved = std::function<void(std::uint64_t bytes)>;  // the bytes moved since the last call
  using GiveUp = std::function<bool()>;                    // called between parts of an object

  explicit HostStorage(const pipe_call& call);

  /// Reads a whole object of at most `most` bytes. kNotFound: it does not exist.
  Result<std::string> Read(const std::string& uri, std::uint64_t most) const;
  /// All objects below `uri`, sorted by name.
  Result<std::vector<Object>> List(const std::string& uri) const;
  /// Downloads an object to a file, durably and as a whole; creates the directory. kDataLoss if its length
  /// or CRC-32C differs from `wanted`; no file is left then.
  Status Fetch(const std::string& uri, const FileFacts& wanted, const std::string& path,
               const Moved& moved) const;
  /// As Fetch, for the bytes of an object from `from` on; without waiting for the disk.
  /// kCancelled once `give_up` returns true.
  Status FetchPart(const std::string& uri, std::uint64_t from, const FileFacts& wanted,
                   const std::string& path, const Moved& moved, const GiveUp& give_up) const;
  /// Reads a whole object of any size; ends at the first failure of `take`.
  Status Stream(const std::string& uri, const std::function<Status(std::string_view piece)>& take) const {
    return ReadPieces(uri, 0, UINT64_MAX, take);
  }
  /// Uploads a file as an object. `condition`: as in plugin_abi.h. kCancelled once `give_up` returns true;
  /// no object is left then.
  Status Put(const std::string& path, const std::string& uri, std::uint32_t condition,
             const GiveUp& give_up) const;
  Status PutText(std::string_view text, const std::string& uri, std::uint32_t condition) const;
  struct Whole {
    std::string bytes;
    std::string version;  // changes with every write
  };
  /// Reads a small object with its version. Absent: it does not exist.
  Result<std::optional<Whole>> ReadWhole(const std::string& uri, std::uint64_t most) const;
  /// Writes a small object if its version is `known`, or creates it if `known` is empty; returns the new
  /// version. Absent: it has another version, and nothing changed. `flags`: as in plugin_abi.h.
  Result<std::optional<std::string>> WriteWhole(const std::string& uri, std::string_view bytes,
                                                const std::string& known, std::uint32_t flags) const;
  /// OK also if it does not exist.
  Status Remove(const std::string& uri) const;

 private:
  /// True if the host's struct has the member that ends at `end`.
  bool Has(std::size_t end) const { return abi_ != nullptr && abi_->struct_size >= end; }
  /// `since`: the version of the ABI that has the function.
  Status Missing(std::string_view since = "1.2") const;
  Status Failure(pipe_code code, std::string_view what) const;
  /// Reads at most `most` bytes from `from` on.
  Status ReadPieces(const std::string& uri, std::uint64_t from, std::uint64_t most,
                    const std::function<Status(std::string_view piece)>& take) const;
  Status FetchTo(const std::string& uri, std::uint64_t from, std::uint64_t most, const FileFacts& wanted,
                 const std::string& path, bool durable, const Moved& moved, const GiveUp& give_up) const;

  const pipe_storage_1* const abi_;  // null: the host lacks it
};

}  // namespace pipeline
