#include "plugins/train/object_files.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/whole_file.h"

namespace pipeline {

namespace {

constexpr int kReadTries =
    3;  // for an object that came damaged on the way, or was replaced while it was read
constexpr std::size_t kTransferPiece = 1 << 20;

/// Reads at most `most` bytes from `from` on.
Status ReadPieces(const PluginStorage& storage, const std::string& uri, std::uint64_t from,
                  std::uint64_t most, const std::function<Status(std::string_view piece)>& take) {
  ASSIGN_OR_RETURN(const OpenObject object, storage.Open(uri, from));
  std::vector<char> buffer(kTransferPiece);
  while (most > 0) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(most, buffer.size()));
    ASSIGN_OR_RETURN(const std::size_t got, object.reader->Read({buffer.data(), size}));
    if (got == 0) return {};
    RETURN_IF_ERROR(take({buffer.data(), got}));
    most -= got;
  }
  return {};
}

Status FetchTo(const PluginStorage& storage, const std::string& uri, std::uint64_t from, std::uint64_t most,
               const FileFacts& wanted, const std::string& path, bool durable, const Moved& moved,
               const GiveUp& give_up) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return SystemError(StrCat("making the directory of ", path), error.value());
  const std::string temporary = path + ".part";
  const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return SystemError(temporary, errno);
  FileFacts got;
  Status read = ReadPieces(storage, uri, from, most, [&](std::string_view piece) -> Status {
    if (give_up()) return Status(Code::kCancelled, StrCat(uri, ": given up"));
    RETURN_IF_ERROR(WriteAll(file.get(), piece, temporary));
    got.bytes += piece.size();
    got.crc32c = Crc32c(piece, got.crc32c);
    moved(piece.size());
    return {};
  });
  if (read.ok() && (got.bytes != wanted.bytes || got.crc32c != wanted.crc32c))
    read = Status(
        Code::kDataLoss,
        StrCat(uri, ": has ", got.bytes, " bytes of CRC-32C ", ShownCrc(got),
               most == UINT64_MAX ? std::string() : StrCat(" from byte ", from, " on"), ", and should have ",
               wanted.bytes, " of ", ShownCrc(wanted), ": it was damaged or replaced"));
  if (read.ok() && ((durable && Uninterrupted([&] { return fsync(file.get()); }) != 0) ||
                    std::rename(temporary.c_str(), path.c_str()) != 0))
    read = SystemError(path, errno);
  if (!read.ok()) unlink(temporary.c_str());
  return read;
}

}  // namespace

Result<Json> ReadJson(const PluginStorage& storage, const std::string& uri) {
  const Result<std::string> text = ReadText(storage, uri, std::uint64_t{64} << 20);
  if (!text.ok() && text.status().code() != Code::kNotFound) return text.status();
  Result<Json> json = text.ok() ? Json::Parse(*text) : Result<Json>(Json());
  return json.ok() ? std::move(json).value() : Json();
}

Status StreamObject(const PluginStorage& storage, const std::string& uri,
                    const std::function<Status(std::string_view piece)>& take) {
  return ReadPieces(storage, uri, 0, UINT64_MAX, take);
}

Result<std::string> ReadText(const PluginStorage& storage, const std::string& uri, std::uint64_t most) {
  for (int tries = 1;; ++tries) {
    std::string bytes;
    Status read = StreamObject(storage, uri, [&](std::string_view piece) -> Status {
      bytes.append(piece);
      if (bytes.size() <= most) return {};
      return Status(Code::kDataLoss, StrCat(uri, ": larger than the ", most, " bytes that it may have"));
    });
    if (read.ok()) return bytes;
    const bool passes =
        read.code() == Code::kUnavailable || (read.code() == Code::kDataLoss && bytes.size() <= most);
    if (!passes || tries == kReadTries) return read;
  }
}

ReadWhole ReaderOf(const PluginStorage& storage) {
  return [&storage](const std::string& uri, std::uint64_t most) { return ReadText(storage, uri, most); };
}

Status FetchObject(const PluginStorage& storage, const std::string& uri, const FileFacts& wanted,
                   const std::string& path, const Moved& moved) {
  return FetchTo(storage, uri, 0, UINT64_MAX, wanted, path, true, moved, [] { return false; });
}

Status FetchPart(const PluginStorage& storage, const std::string& uri, std::uint64_t from,
                 const FileFacts& wanted, const std::string& path, const Moved& moved,
                 const GiveUp& give_up) {
  return FetchTo(storage, uri, from, wanted.bytes, wanted, path, false, moved, give_up);
}

Status PutFile(const PluginStorage& storage, const std::string& path, const std::string& uri,
               const ObjectRule& rule, const GiveUp& give_up) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return SystemError(path, errno);
  ASSIGN_OR_RETURN(const auto writer, storage.Create(uri, rule.creation, rule.at_stop));
  std::vector<char> buffer(kTransferPiece);
  while (true) {
    if (give_up()) return Status(Code::kCancelled, StrCat(uri, ": given up"));
    const ssize_t got = Uninterrupted([&] { return read(file.get(), buffer.data(), buffer.size()); });
    if (got < 0) return SystemError(path, errno);
    if (got == 0) return writer->Commit();
    RETURN_IF_ERROR(writer->Append({buffer.data(), static_cast<std::size_t>(got)}));
  }
}

Status PutText(const PluginStorage& storage, std::string_view text, const std::string& uri,
               const ObjectRule& rule) {
  ASSIGN_OR_RETURN(const auto writer, storage.Create(uri, rule.creation, rule.at_stop));
  RETURN_IF_ERROR(writer->Append(text));
  return writer->Commit();
}

Result<std::optional<std::string>> WriteIfKnown(const PluginStorage& storage, const std::string& uri,
                                                std::string_view bytes, const std::string& known,
                                                PluginStorage::AtStop at_stop) {
  Result<std::string> version = storage.WriteWhole(uri, bytes, known, at_stop);
  const Code code = version.status().code();
  if (code == Code::kAlreadyExists || code == Code::kFailedPrecondition) return std::optional<std::string>();
  if (!version.ok()) return std::move(version).status();
  return std::optional(std::move(*version));
}

}  // namespace pipeline
