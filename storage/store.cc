#include "storage/store.h"

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
  std::string piece(1 << 20, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return {};
    RETURN_IF_ERROR(Append(std::string_view(piece).substr(0, got)));
  }
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

}  // namespace pipeline
