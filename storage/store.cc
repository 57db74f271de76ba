#include "storage/store.h"

#include "base/str.h"

namespace pipeline {

Status Store::RemoveAll(std::span<const std::string> names, const std::function<bool()>& removed) {
  for (const std::string& name : names) {
    RETURN_IF_ERROR(Remove(name));
    if (!removed()) break;
  }
  return {};
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

Result<std::string> ReadOnce(Store& store, std::string_view name, std::uint64_t max_bytes,
                             std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store.Open(name));
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
    Result<std::string> bytes = ReadOnce(store, name, max_bytes, stop);
    if (bytes.ok() || reads == kReads || !ReadingAgainHelps(bytes.status())) return bytes;
  }
}

}  // namespace pipeline
