#include "plugins/train/host_storage.h"

#include <fcntl.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/uninterrupted.h"

namespace pipeline {

namespace {

constexpr int kReadTries = 3;  // of what came damaged on the way, or was replaced while it was read

constexpr std::size_t kTransferPiece = 1 << 20;

static_assert(static_cast<int>(Code::kCancelled) == PIPE_CANCELLED);
static_assert(static_cast<int>(Code::kUnavailable) == PIPE_UNAVAILABLE);
static_assert(static_cast<int>(Code::kInternal) == PIPE_INTERNAL);

Code CodeOf(pipe_code code) {
  return code > PIPE_OK && code <= PIPE_INTERNAL ? static_cast<Code>(code) : Code::kInternal;
}

/// Closes the reader at the end of its scope.
struct OpenReader {
  const pipe_storage_1& storage;
  pipe_reader* reader = nullptr;
  ~OpenReader() {
    if (reader != nullptr) storage.close(reader);
  }
};

/// Discards what is not committed at the end of its scope.
struct OpenWriter {
  const pipe_storage_1& storage;
  pipe_writer* writer = nullptr;
  ~OpenWriter() {
    if (writer != nullptr) storage.discard(writer);
  }
};

Status WriteAll(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return SystemError(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

HostStorage::HostStorage(const pipe_call& call)
    : abi_(static_cast<const pipe_storage_1*>(call.extension(call.ctx, PIPE_STORAGE_1))) {}

Status HostStorage::Missing(std::string_view since) const {
  return Status(Code::kUnimplemented,
                abi_ == nullptr
                    ? std::string("this program offers no pipe.storage/1; take a newer one")
                    : StrCat("this program's pipe.storage/1 is older than ", since, "; take a newer one"));
}

Status HostStorage::Failure(pipe_code code, std::string_view what) const {
  std::array<char, 2048> said = {};
  const std::size_t size = std::min(abi_->last_error(abi_->ctx, said.data(), said.size()), said.size());
  std::string message(said.data(), size);
  if (message.empty()) message = StrCat(what, ": cannot be reached");
  return Status(CodeOf(code), std::move(message));
}

Status HostStorage::ReadPieces(const std::string& uri, std::uint64_t from, std::uint64_t most,
                               const std::function<Status(std::string_view piece)>& take) const {
  if (abi_ == nullptr) return Missing();
  OpenReader open{*abi_};
  if (const pipe_code code = abi_->open(abi_->ctx, TextOf(uri), from, &open.reader); code != PIPE_OK)
    return Failure(code, uri);
  std::vector<char> buffer(kTransferPiece);
  while (most > 0) {
    std::size_t got = 0;
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(most, buffer.size()));
    const pipe_code code = abi_->read(open.reader, buffer.data(), size, &got);
    if (code != PIPE_OK) return Failure(code, uri);
    if (got == 0) return {};
    RETURN_IF_ERROR(take({buffer.data(), got}));
    most -= got;
  }
  return {};
}

Result<std::string> HostStorage::Read(const std::string& uri, std::uint64_t most) const {
  for (int tries = 1;; ++tries) {
    std::string bytes;
    Status read = Stream(uri, [&](std::string_view piece) -> Status {
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

Result<std::vector<HostStorage::Object>> HostStorage::List(const std::string& uri) const {
  if (abi_ == nullptr) return Missing();
  std::vector<Object> objects;
  const auto visit = [](void* user, pipe_text name, std::uint64_t bytes) -> std::int32_t {
    static_cast<std::vector<Object>*>(user)->push_back({std::string(ViewOf(name)), bytes});
    return 0;
  };
  const pipe_code code = abi_->list(abi_->ctx, TextOf(uri), visit, &objects);
  if (code != PIPE_OK) return Failure(code, uri);
  return objects;
}

Status HostStorage::Fetch(const std::string& uri, const FileFacts& wanted, const std::string& path,
                          const Moved& moved) const {
  return FetchTo(uri, 0, UINT64_MAX, wanted, path, true, moved, [] { return false; });
}

Status HostStorage::FetchPart(const std::string& uri, std::uint64_t from, const FileFacts& wanted,
                              const std::string& path, const Moved& moved, const GiveUp& give_up) const {
  return FetchTo(uri, from, wanted.bytes, wanted, path, false, moved, give_up);
}

Status HostStorage::FetchTo(const std::string& uri, std::uint64_t from, std::uint64_t most,
                            const FileFacts& wanted, const std::string& path, bool durable,
                            const Moved& moved, const GiveUp& give_up) const {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return SystemError(StrCat("making the directory of ", path), error.value());
  const std::string temporary = path + ".part";
  const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return SystemError(temporary, errno);
  FileFacts got;
  Status read = ReadPieces(uri, from, most, [&](std::string_view piece) -> Status {
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

Status HostStorage::Put(const std::string& path, const std::string& uri, std::uint32_t condition,
                        const GiveUp& give_up) const {
  if (abi_ == nullptr) return Missing();
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return SystemError(path, errno);
  OpenWriter open{*abi_};
  if (const pipe_code code = abi_->create(abi_->ctx, TextOf(uri), condition, &open.writer); code != PIPE_OK)
    return Failure(code, uri);
  std::vector<char> buffer(kTransferPiece);
  while (true) {
    if (give_up()) return Status(Code::kCancelled, StrCat(uri, ": given up"));
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, errno);
    if (got == 0) break;
    const pipe_code code = abi_->append(open.writer, buffer.data(), static_cast<std::size_t>(got));
    if (code != PIPE_OK) return Failure(code, uri);
  }
  const pipe_code code = abi_->commit(std::exchange(open.writer, nullptr));
  return code == PIPE_OK ? Status() : Failure(code, uri);
}

Status HostStorage::PutText(std::string_view text, const std::string& uri, std::uint32_t condition) const {
  if (abi_ == nullptr) return Missing();
  OpenWriter open{*abi_};
  if (const pipe_code code = abi_->create(abi_->ctx, TextOf(uri), condition, &open.writer); code != PIPE_OK)
    return Failure(code, uri);
  if (const pipe_code code = abi_->append(open.writer, text.data(), text.size()); code != PIPE_OK)
    return Failure(code, uri);
  const pipe_code code = abi_->commit(std::exchange(open.writer, nullptr));
  return code == PIPE_OK ? Status() : Failure(code, uri);
}

Result<std::optional<HostStorage::Whole>> HostStorage::ReadWhole(const std::string& uri,
                                                                 std::uint64_t most) const {
  if (!Has(offsetof(pipe_storage_1, read_whole) + sizeof(pipe_storage_1::read_whole))) return Missing("1.6");
  Whole whole;
  const auto take = [](void* user, pipe_text bytes, pipe_text version) {
    *static_cast<Whole*>(user) = {std::string(ViewOf(bytes)), std::string(ViewOf(version))};
  };
  const pipe_code code = abi_->read_whole(abi_->ctx, TextOf(uri), most, take, &whole);
  if (code == PIPE_NOT_FOUND) return std::optional<Whole>();
  if (code != PIPE_OK) return Failure(code, uri);
  return std::optional(std::move(whole));
}

Result<std::optional<std::string>> HostStorage::WriteWhole(const std::string& uri, std::string_view bytes,
                                                           const std::string& known,
                                                           std::uint32_t flags) const {
  if (!Has(offsetof(pipe_storage_1, write_whole) + sizeof(pipe_storage_1::write_whole)))
    return Missing("1.6");
  std::string version;
  const auto take = [](void* user, pipe_text text) {
    *static_cast<std::string*>(user) = std::string(ViewOf(text));
  };
  const pipe_code code =
      abi_->write_whole(abi_->ctx, TextOf(uri), TextOf(bytes), TextOf(known), flags, take, &version);
  if (code == PIPE_ALREADY_EXISTS || code == PIPE_FAILED_PRECONDITION) return std::optional<std::string>();
  if (code != PIPE_OK) return Failure(code, uri);
  return std::optional(std::move(version));
}

Status HostStorage::Remove(const std::string& uri) const {
  if (!Has(offsetof(pipe_storage_1, remove) + sizeof(pipe_storage_1::remove))) return Missing();
  const pipe_code code = abi_->remove(abi_->ctx, TextOf(uri));
  return code == PIPE_OK ? Status() : Failure(code, uri);
}

}  // namespace pipeline
