#include "storage/store.h"

#include <algorithm>
#include <cstddef>

#include "base/in_parallel.h"
#include "base/str.h"

namespace pipeline {

Result<std::unique_ptr<ByteFile>> Store::OpenKnown(const ObjectInfo& known) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteFile> file, Open(known.name));
  if (known.version.empty()) return file;
  // No version comes back: if it is this one now, it was so when the object was opened.
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> now, Stat(known.name));
  if (now && now->version == known.version) return file;
  return Status(Code::kNotFound, StrCat(known.name, ": was replaced or removed"));
}

Status Store::RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) {
  for (const ObjectInfo& object : objects) {
    bool is_known = true;
    if (!object.version.empty()) {
      ASSIGN_OR_RETURN(const std::optional<ObjectInfo> now, Stat(object.name));
      is_known = now && now->version == object.version;
    }
    if (is_known) RETURN_IF_ERROR(Remove(object.name));
    if (!removed()) break;
  }
  return {};
}

Status RemoveKnown(Store& store, const ObjectInfo& known) {
  return store.RemoveAll(std::span(&known, 1), [] { return true; });
}

Status ObjectWriter::AppendFile(const ByteFile& file, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, std::move(stop)));
  return ReadPieces(*reader, 1 << 20, [this](std::string_view piece) { return Append(piece); });
}

Result<ObjectInfo> WriteObject(Store& store, std::string_view name, std::string_view bytes,
                               const Condition& condition, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, store.Create(name, condition));
  RETURN_IF_ERROR(writer->Append(bytes));
  return writer->Commit(std::move(stop));
}

namespace {

constexpr int kReads = 5;  // of an object that others replace, or that is damaged on the way

bool ReadingAgainHelps(const Status& failure) {
  return failure.Detail<ReplacedWhileRead>() != nullptr || failure.Detail<DamagedOnTheWay>() != nullptr;
}

Result<std::string> ReadOnce(std::string_view name, Result<std::unique_ptr<ByteFile>> opened,
                             std::uint64_t max_bytes, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, std::move(opened));
  if (file->size() > max_bytes)
    return Status(Code::kResourceExhausted, StrCat(name, ": ", HumanBytes(file->size()), " where at most ",
                                                   HumanBytes(max_bytes), " was expected"));
  std::string bytes(file->size(), '\0');
  if (bytes.empty()) return bytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  Status read = ReadExactly(*reader, bytes);
  if (!read.ok()) return std::move(read).Annotate(name);
  return bytes;
}

Status BadName(std::string_view name, std::string_view why) {
  const std::string_view shown = name.substr(0, 80);
  return Status(Code::kInvalidArgument,
                StrCat("object name '", shown, shown.size() < name.size() ? "…" : "", "': ", why));
}

constexpr std::size_t kAtOnce = 16;  // requests at a time: each waits for a server
// Objects of a part: a directory is locked and synced once for them, and a bucket takes them in one request.
constexpr std::size_t kSmallestPart = 16, kLargestPart = 100;

}  // namespace

Result<std::string> ReadObject(Store& store, std::string_view name, std::uint64_t max_bytes,
                               std::stop_token stop) {
  for (int reads = 1;; ++reads) {
    Result<std::string> bytes = ReadOnce(name, store.Open(name), max_bytes, stop);
    if (bytes.ok() || reads == kReads || !ReadingAgainHelps(bytes.status())) return bytes;
  }
}

Result<std::string> ReadObject(Store& store, const ObjectInfo& known, std::uint64_t max_bytes,
                               std::stop_token stop) {
  for (int reads = 1;; ++reads) {
    Result<std::string> bytes = ReadOnce(known.name, store.OpenKnown(known), max_bytes, stop);
    if (bytes.status().Detail<ReplacedWhileRead>() != nullptr)
      return Status(Code::kNotFound, StrCat(known.name, ": was replaced or removed"));
    if (bytes.ok() || reads == kReads || bytes.status().Detail<DamagedOnTheWay>() == nullptr) return bytes;
  }
}

Status CheckObjectName(std::string_view name) {
  if (name.empty()) return BadName(name, "empty");
  if (name.size() > kMaxNameBytes) return BadName(name, StrCat("longer than ", kMaxNameBytes, " bytes"));
  if (name.front() == '/') return BadName(name, "must be relative, and begins with '/'");
  if (name.find('\0') != std::string_view::npos) return BadName(name, "contains a NUL");
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return BadName(name, "has an empty part");
    if (part == "." || part == "..") return BadName(name, StrCat("has a part '", part, "'"));
    begin = end + 1;
  }
  return {};
}

Status RemoveObjects(Store& store, std::span<const ObjectInfo> objects) {
  const std::size_t most = std::max(kAtOnce, (objects.size() + kLargestPart - 1) / kLargestPart);
  const std::size_t parts = std::clamp<std::size_t>(objects.size() / kSmallestPart, 1, most);
  const std::size_t size = (objects.size() + parts - 1) / parts;
  return InParallel(size == 0 ? 0 : (objects.size() + size - 1) / size, kAtOnce, [&](std::size_t part) {
    const std::size_t begin = part * size;
    return store.RemoveAll(objects.subspan(begin, std::min(size, objects.size() - begin)),
                           [] { return true; });
  });
}

}  // namespace pipeline
