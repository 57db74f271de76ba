#include "storage/remote/http/spool.h"

#include <cerrno>
#include <utility>

#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "storage/local_error.h"
#include "storage/local_file.h"

namespace pipeline {

namespace {

constexpr std::size_t kWriteBytes = 1 << 20;
// So many bytes stay in the cache of a core between reading and checking.
constexpr std::size_t kCheckBytes = 256 << 10;

}  // namespace

Status ChangedAgainAndAgain(const std::string& path) {
  return Status(Code::kDataLoss,
                StrCat(path, ": was changed again and again while it was sent; run again when it is still"));
}

Status Spool::Append(std::string_view bytes) {
  if (adopted_ || remote_) RETURN_IF_ERROR(Unadopt());
  size_ += bytes.size();
  sum_ = {size_, Crc32c(bytes, sum_.crc32c)};
  if (bytes_.size() + bytes.size() <= (file_ ? kWriteBytes : kSpoolMemoryBytes)) {
    bytes_.append(bytes);
    return {};
  }
  if (!file_) {
    ASSIGN_OR_RETURN(file_, TemporaryFile::Create(StrCat(directory_, "/", kSpoolName)));
  }
  RETURN_IF_ERROR(Write(bytes_));
  bytes_ = {};
  return Write(bytes);
}

void Spool::Adopt(std::unique_ptr<LocalFile> file) {
  adopted_ = std::move(file);
  size_ = adopted_->size();
  adopted_ctime_ = adopted_->identity().ctime_ns;
}

void Spool::Adopt(const VersionedFile& file) {
  remote_ = std::make_shared<const VersionedFile>(file);
  size_ = remote_->size();
  if (remote_->crc32c()) sum_ = {size_, *remote_->crc32c()};
}

void Spool::GoOnFrom(const SpoolSum& sum) {
  if (sum.bytes > sum_.bytes && sum.bytes <= size_) sum_ = sum;
}

void Spool::Watch(std::uint64_t every, std::function<void(const SpoolSum&)> told) {
  told_ = std::move(told);
  told_every_ = every;
  told_at_ = sum_.bytes;
}

void Spool::Sum(std::uint64_t offset, std::string_view bytes) {
  if (offset > sum_.bytes || offset + bytes.size() <= sum_.bytes) return;
  sum_.crc32c = Crc32c(bytes.substr(static_cast<std::size_t>(sum_.bytes - offset)), sum_.crc32c);
  sum_.bytes = offset + bytes.size();
  if (!told_ || sum_.bytes < told_at_ + told_every_) return;
  told_at_ = sum_.bytes;
  told_(sum_);
}

std::string Spool::Origin() const {
  if (remote_) return StrCat("remote ", remote_->size(), " ", remote_->version());
  if (!adopted_ || adopted_->keeper() == LocalFile::Keeper::kStore) return {};
  const FileIdentity& file = adopted_->identity();
  return StrCat(file.size, " ", file.mtime_ns, " ", file.inode, " ", file.ctime_ns, " ", file.path);
}

Status Spool::ReadUpTo(std::uint64_t bytes, const std::stop_token& stop) {
  if (sum_.bytes >= bytes) return {};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, Open());
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(sum_.bytes, stop));
  std::string piece(kCheckBytes, '\0');
  while (sum_.bytes < bytes) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) break;
  }
  return {};
}

Result<bool> Spool::Settle(const std::stop_token& stop) {
  if (!adopted_ || adopted_->keeper() == LocalFile::Keeper::kStore) return true;
  RETURN_IF_ERROR(adopted_->CheckUnchanged());
  ASSIGN_OR_RETURN(const std::int64_t now, adopted_->ChangeTime());
  if (std::exchange(adopted_ctime_, now) == now) return true;
  ASSIGN_OR_RETURN(const std::uint32_t known, Checksum(stop));
  ASSIGN_OR_RETURN(const std::uint32_t theirs, adopted_->Checksum(stop));
  if (known == theirs) return true;
  sum_ = {};
  return false;
}

Result<std::uint32_t> Spool::Checksum(const std::stop_token& stop) {
  RETURN_IF_ERROR(ReadUpTo(size_, stop));
  return sum_.crc32c;
}

std::shared_ptr<const ByteFile> Spool::Source() const {
  return adopted_ ? std::shared_ptr<const ByteFile>(adopted_) : remote_;
}

Status Spool::Unadopt() {
  const std::shared_ptr<const ByteFile> file = Source();
  adopted_.reset();
  remote_.reset();
  size_ = 0;
  sum_ = {};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, {}));
  return ReadPieces(*reader, kWriteBytes, [this](std::string_view piece) { return Append(piece); });
}

Status Spool::Write(std::string_view bytes) {
  if (WriteFully(file_->descriptor(), bytes)) return {};
  return LocalError(file_->path(), "cannot write", errno);
}

Result<std::unique_ptr<ByteFile>> Spool::Open() {
  if (std::shared_ptr<const ByteFile> source = Source())
    return std::make_unique<CountingFile>(
        std::move(source), [this](std::uint64_t offset, std::string_view bytes) { Sum(offset, bytes); });
  if (!file_) return std::make_unique<HeldFile>(bytes_);
  if (!bytes_.empty()) {
    RETURN_IF_ERROR(Write(bytes_));
    bytes_ = {};
  }
  return LocalFile::Open(file_->path(), LocalFile::Keeper::kStore);
}

std::string Spool::Where() const {
  if (adopted_) return adopted_->identity().path;
  if (remote_) return remote_->name();
  return file_ ? file_->path() : "memory";
}

Status Spool::Check(const std::stop_token& stop) {
  if (remote_) {
    sum_ = {};
    return Checksum(stop).status();
  }
  ASSIGN_OR_RETURN(const std::uint32_t known, Checksum(stop));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, Open());
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, {}));
  ASSIGN_OR_RETURN(const std::uint32_t crc, ReadCrc32c(*reader));
  if (file->size() == size_ && crc == known) return {};
  return Status(Code::kDataLoss, StrCat(Where(), ": the copy for an upload is damaged; check the disk"));
}

}  // namespace pipeline
