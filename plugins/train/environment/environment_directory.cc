#include "plugins/train/environment/environment_directory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/environment/setup_step.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = "unfinished";
/// In an unfinished environment: files that have arrived, for the next attempt. If absent: pip has a cache.
constexpr const char* kCache = "cache";

Status WriteMark(const std::string& directory, std::string_view mark) {
  return WriteWholeFile(StrCat(directory, "/", kMadeFrom), StrCat(mark, "\n"), Durability::kSeen);
}

/// Bytes of all files in a directory, as far as they can be looked at.
std::uint64_t BytesBelow(const std::string& directory) {
  std::error_code error;
  std::uint64_t bytes = 0;
  for (fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error))
    if (std::error_code missing; it->symlink_status(missing).type() == fs::file_type::regular)
      if (const std::uintmax_t size = it->file_size(missing); !missing) bytes += size;
  return bytes;
}

}  // namespace

Result<FileDescriptor> WaitForTurn(const std::string& directory, const PluginServices& call) {
  Result<FileDescriptor> lock = LockDirectory(directory);
  if (lock.ok() || lock.status().code() != Code::kUnavailable) return lock;
  call.log(Level::kInfo, StrCat(directory, ": another process makes it; waiting for its end"));
  return WaitForDirectory(directory, [&call] { return call.stopped(); });
}

Result<FileDescriptor> TakeDirectory(const std::string& directory, const PluginServices& call) {
  std::error_code error;
  const std::vector<std::string> names = NamesIn(directory);
  // Another setup may begin at this moment: its lock and its mark, by way of WriteWholeFile, are its first
  // files.
  const auto foreign = [](const std::string& name) {
    return name != kDirectoryLock && !name.starts_with(kMadeFrom);
  };
  if (!fs::exists(StrCat(directory, "/", kMadeFrom), error) &&
      std::any_of(names.begin(), names.end(), foreign))
    return Status(
        Code::kFailedPrecondition,
        StrCat(directory, ": is there, and was not made by this command; remove it, or name another --dir"));
  return WaitForTurn(directory, call);
}

Status CheckRoom(const std::string& directory, std::uint64_t needed, std::string_view instead) {
  ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytesAt(directory));
  if (free >= needed || free + BytesBelow(directory) >= needed) return {};
  return Status(Code::kFailedPrecondition,
                StrCat(directory, ": ", HumanBytes(needed), " will lie there, and ", HumanBytes(free),
                       " are free on this disk; free some space, or name ", instead));
}

Status ClearDirectory(const std::string& directory) {
  const bool resumes = ReadMark(directory).extra == kUnfinished;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return SystemError(directory, error.value());
  RETURN_IF_ERROR(WriteMark(directory, kUnfinished));  // first: after a kill the directory is still ours
  for (const std::string& name : NamesIn(directory))
    if (name != kMadeFrom && name != kDirectoryLock && !(resumes && name == kCache))
      RETURN_IF_ERROR(RemoveAll(StrCat(directory, "/", name)));
  return {};
}

Result<std::string> CacheFor(const std::string& directory, const std::string& python,
                             const PluginServices& call) {
  const Result<std::string> known = AnswerOf({python, "-m", "pip", "cache", "dir"}, call);
  if (call.stopped()) return Status(Code::kCancelled, "stopped");
  std::error_code error;
  fs::path place = known.ok() ? known->substr(0, known->find('\n')) : std::string();
  while (place.has_relative_path() && !fs::exists(place, error)) place = place.parent_path();
  return access(place.c_str(), W_OK) == 0 ? std::string() : StrCat(directory, "/", kCache);
}

Status FinishDirectory(const std::string& directory, std::string_view mark) {
  RETURN_IF_ERROR(RemoveAll(StrCat(directory, "/", kCache)));
  return WriteMark(directory, mark);
}

}  // namespace pipeline
