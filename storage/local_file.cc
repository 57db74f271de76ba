#include "storage/local_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/byte_reader.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxFileRead = 1 << 20;  // between two looks at the stop token

std::int64_t InNs(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Result<FileIdentity> Identify(const std::string& path, const struct stat& found) {
  if (!S_ISREG(found.st_mode))
    return Status(Code::kInvalidArgument,
                  StrCat(path, ": ", S_ISDIR(found.st_mode) ? "is a directory" : "is a device or a pipe",
                         ", where a file was expected"));
  return FileIdentity{path, static_cast<std::uint64_t>(found.st_size), InNs(found.st_mtim),
                      std::uint64_t{found.st_ino}, InNs(found.st_ctim)};
}

class LocalReader final : public RepeatingReader {
 public:
  LocalReader(const LocalFile& file, std::uint64_t offset, std::stop_token stop)
      : file_(file), offset_(offset), stop_(std::move(stop)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    const std::string& path = file_.identity().path;
    if (stop_.stop_requested()) return Status(Code::kCancelled, StrCat(path, ": reading was stopped"));
    const std::uint64_t left = file_.size() - std::min(offset_, file_.size());
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>({out.size(), kMaxFileRead, left}));
    const ssize_t got = Uninterrupted(
        [&] { return pread(file_.descriptor(), out.data(), wanted, static_cast<off_t>(offset_)); });
    if (got < 0) return LocalError(path, StrCat("cannot read at byte ", offset_), errno);
    RETURN_IF_ERROR(file_.CheckUnchanged());
    if (got == 0 && wanted > 0)
      return Status(Code::kDataLoss, StrCat(path, ": ends at byte ", offset_, " of ", file_.size()));
    offset_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }

  const LocalFile& file_;
  std::uint64_t offset_;
  std::stop_token stop_;
};

}  // namespace

Result<FileIdentity> IdentifyFile(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return LocalError(path, "cannot look at it", errno);
  return Identify(path, found);
}

Result<std::unique_ptr<LocalFile>> LocalFile::Open(const std::string& path, Keeper keeper) {
  // O_NONBLOCK: a named pipe is refused at once; without it, open would wait for a writer.
  FileDescriptor file = OpenPath(path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) return LocalError(path, "cannot open", errno);
  struct stat found;
  if (fstat(file.get(), &found) != 0) return LocalError(path, "cannot look at it", errno);
  ASSIGN_OR_RETURN(FileIdentity identity, Identify(path, found));
  return std::unique_ptr<LocalFile>(new LocalFile(std::move(file), std::move(identity), keeper));
}

Result<std::unique_ptr<ByteReader>> LocalFile::Open(std::uint64_t offset, std::stop_token stop) const {
  return std::make_unique<LocalReader>(*this, offset, std::move(stop));
}

Status LocalFile::CheckUnchanged() const {
  struct stat found;
  if (fstat(file_.get(), &found) != 0) return LocalError(identity_.path, "cannot look at it", errno);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size == identity_.size && InNs(found.st_mtim) == identity_.mtime_ns) return {};
  return Status(Code::kDataLoss, StrCat(identity_.path, ": changed while it was read (", identity_.size,
                                        " bytes when opened, ", size, " now); run again when it is still"));
}

Result<std::int64_t> LocalFile::ChangeTime() const {
  struct stat found;
  if (fstat(file_.get(), &found) != 0) return LocalError(identity_.path, "cannot look at it", errno);
  return InNs(found.st_ctim);
}

Result<std::uint32_t> LocalFile::Checksum(std::stop_token stop) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, Open(0, std::move(stop)));
  return ReadCrc32c(*reader);
}

}  // namespace pipeline
