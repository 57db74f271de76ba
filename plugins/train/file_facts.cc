#include "plugins/train/file_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/in_parallel.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMeasuredPiece = 1 << 20;
constexpr std::size_t kMeasuredAtOnce = 4;

}  // namespace

std::string ShownCrc(const FileFacts& facts) {
  std::array<char, 9> text = {};
  (void)std::snprintf(text.data(), text.size(), "%08x", facts.crc32c);
  return text.data();
}

bool StaysBelow(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

Result<FileFacts> MeasureFile(const std::string& directory, const std::string& name,
                              const std::function<bool()>& stopped) {
  const std::string path = StrCat(directory, "/", name);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return SystemError(path, errno);
  FileFacts facts;
  facts.name = name;
  std::vector<char> buffer(kMeasuredPiece);
  while (true) {
    if (stopped()) return Status(Code::kCancelled, "stopped");
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, errno);
    if (got == 0) return facts;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    facts.bytes += piece.size();
    facts.crc32c = Crc32c(piece, facts.crc32c);
  }
}

Result<std::vector<FileFacts>> MeasureFiles(const std::string& directory,
                                            const std::vector<std::string>& names) {
  std::vector<FileFacts> measured(names.size());
  RETURN_IF_ERROR(InParallel(names.size(), kMeasuredAtOnce, [&](std::size_t at) -> Status {
    ASSIGN_OR_RETURN(measured[at], MeasureFile(directory, names[at], [] { return false; }));
    return {};
  }));
  return measured;
}

Status CheckAsWritten(const std::vector<FileFacts>& written, const std::vector<FileFacts>& found,
                      const std::string& place) {
  std::map<std::string_view, const FileFacts*> by_name;
  for (const FileFacts& file : found) by_name[file.name] = &file;
  for (const FileFacts& file : written)
    if (const auto at = by_name.find(file.name); at == by_name.end() || *at->second != file)
      return Status(Code::kDataLoss, StrCat(place, "/", file.name, ": is not as the trainer wrote it, of ",
                                            file.bytes, " bytes and CRC-32C ", ShownCrc(file)));
  return {};
}

std::optional<std::string> LookOfFile(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return {};
  return StrCat(
      static_cast<std::int64_t>(facts.st_size), " ", static_cast<std::int64_t>(facts.st_mtim.tv_sec), ".",
      static_cast<std::int64_t>(facts.st_mtim.tv_nsec), " ", static_cast<std::uint64_t>(facts.st_ino));
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  return names;
}

Result<std::vector<std::string>> FilesBelow(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) names.push_back(at->path().lexically_relative(directory).string());
  if (error) return SystemError(directory, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Status LinkFiles(const std::string& from, const std::vector<std::string>& names, const std::string& to) {
  for (const std::string& name : names) {
    const fs::path target = fs::path(to) / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (!error) fs::create_hard_link(fs::path(from) / name, target, error);
    if (error) fs::copy_file(fs::path(from) / name, target, fs::copy_options::overwrite_existing, error);
    if (error) return SystemError(target.string(), error.value());
  }
  return {};
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? SystemError(path, error.value()) : Status();
}

Result<std::uint64_t> FreeBytesAt(const std::string& directory) {
  fs::path there(directory);
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct statvfs facts = {};
  if (statvfs(there.c_str(), &facts) != 0) return SystemError(directory, errno);
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

Result<FileFacts> ParseFileFacts(const Json& entry, std::string_view name_member, std::string_view where) {
  FileFacts facts;
  facts.name = entry[name_member].AsString();
  const std::int64_t bytes = entry["bytes"].AsInt(-1);
  const std::string_view crc = entry["crc32c"].AsString();
  const auto number = ParseNumber<std::uint32_t>(crc, 16);
  if (!StaysBelow(facts.name) || bytes < 0 || crc.size() != 8 || !number)
    return Status(
        Code::kDataLoss,
        StrCat(where, ": an entry is no file with its length and CRC-32C: ", entry.Dump().substr(0, 200)));
  facts.bytes = static_cast<std::uint64_t>(bytes);
  facts.crc32c = *number;
  return facts;
}

Result<std::vector<FileFacts>> FilesOfManifest(const Json& manifest, std::string_view where) {
  std::vector<FileFacts> files;
  for (const char* list : {"sidecars", "followers", "shards"})
    for (const Json& entry : manifest[list].AsArray()) {
      ASSIGN_OR_RETURN(FileFacts facts, ParseFileFacts(entry, "object", where));
      files.push_back(std::move(facts));
    }
  if (files.empty())
    return Status(Code::kDataLoss, StrCat(where, ": names no objects; run `pipe verify` on it"));
  std::sort(files.begin(), files.end(),
            [](const FileFacts& a, const FileFacts& b) { return a.name < b.name; });
  return files;
}

}  // namespace pipeline
