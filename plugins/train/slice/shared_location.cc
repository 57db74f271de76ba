#include "plugins/train/slice/shared_location.h"

#include <sys/vfs.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "base/str.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

struct LocalFileSystem {
  std::uint32_t magic;
  std::string_view name;
};
// Numbers of linux/magic.h and of the file systems' own sources.
constexpr LocalFileSystem kLocal[] = {
    {0xEF53, "ext4"},      {0x58465342, "xfs"},  {0x9123683E, "btrfs"}, {0x01021994, "tmpfs"},
    {0x858458F6, "ramfs"}, {0xF2F52010, "f2fs"}, {0x2FC12FC1, "zfs"},   {0x794C7630, "overlay"},
};

/// The nearest directory above `path` that exists.
std::string Existing(std::filesystem::path path) {
  std::error_code error;
  while (!std::filesystem::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

}  // namespace

Status CheckSharedLocation(const std::string& uri, const HostPosition& position) {
  const std::set<std::string_view> addresses(position.addresses.begin(), position.addresses.end());
  if (IsElsewhere(uri) || addresses.size() < 2) return {};
  struct statfs found = {};
  if (statfs(Existing(uri).c_str(), &found) != 0) return {};
  for (const LocalFileSystem& local : kLocal)
    if (static_cast<std::uint32_t>(found.f_type) == local.magic)
      return Status(Code::kInvalidArgument,
                    StrCat("out: ", uri, " is on a file system of this machine alone (", local.name,
                           "), and ", position.hosts, " hosts train together (", position.source,
                           "); name a gs:// bucket, or a directory that all of them share"));
  return {};
}

}  // namespace pipeline
