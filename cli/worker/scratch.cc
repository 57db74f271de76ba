#include "cli/worker/scratch.h"

#include <unistd.h>

#include <system_error>

#include "base/str.h"
#include "storage/disk.h"
#include "storage/own_directory.h"

namespace pipeline {

Scratch::Scratch(const std::string& below) {
  std::error_code error;
  const std::filesystem::path parent =
      below.empty() ? std::filesystem::temp_directory_path(error) : std::filesystem::path(below);
  if (!error) path_ = std::filesystem::absolute(parent / StrCat("pipe-worker-", getpid()), error);
  if (error) {
    status_ = SystemError(StrCat("making the directory ", path_.string()), error.value());
    return;
  }
  // The directory of a dead worker with the same process id becomes ours, and is emptied.
  status_ = MakeOwnDirectory(path_);
  if (!status_.ok()) return;
  for (const auto& left : std::filesystem::directory_iterator(path_, error))
    if (std::filesystem::remove_all(left, error); error) break;
  if (error) status_ = SystemError(StrCat("emptying the directory ", path_.string()), error.value());
}

std::optional<std::uint64_t> Scratch::Room() const {
  const Result<std::uint64_t> free = FreeBytes(path());
  if (!free.ok()) return std::nullopt;
  std::uint64_t own = 0;
  std::error_code error;
  for (auto at = std::filesystem::recursive_directory_iterator(path_, error);
       !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;  // a thread may remove a file meanwhile
    if (const std::uintmax_t bytes = at->is_regular_file(gone) ? at->file_size(gone) : 0; !gone) own += bytes;
  }
  return *free + own;
}

Scratch::~Scratch() {
  if (!status_.ok()) return;  // it may be somebody else's
  std::error_code ignored;    // nothing needs the directory any more
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pipeline
