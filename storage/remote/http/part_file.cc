#include "storage/remote/http/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "storage/directory.h"
#include "storage/kept_part.h"
#include "storage/local_error.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/local_store.h"
#include "storage/local_writer.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxJournalBytes = 64 << 10;
constexpr std::string_view kNote = ".again.json";
constexpr std::uint32_t kNoteVersion = 1;
constexpr std::size_t kPartPiece = std::size_t{1} << 20;
constexpr std::uint64_t kMarkEvery = std::uint64_t{4} << 20;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Reads the file without a store, because the journal of a kept part has a name that no store lists.
Result<std::string> ReadJournalText(const std::string& path, bool must_be_ours) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path, LocalFile::Keeper::kStore));
  struct stat found;
  if (fstat(file->descriptor(), &found) != 0) return LocalError(path, "cannot look at it", errno);
  if (file->size() > kMaxJournalBytes || (must_be_ours && found.st_uid != geteuid()))
    return Status(Code::kDataLoss, StrCat(path, ": no journal of ours"));
  return ReadBytes(*file, 0, file->size());
}

Status Truncate(const FileDescriptor& file, const std::string& path, std::uint64_t bytes) {
  if (Uninterrupted([&] { return ftruncate(file.get(), static_cast<off_t>(bytes)); }) == 0) return {};
  return LocalError(path, StrCat("cannot be cut to ", bytes, " bytes"), errno);
}

}  // namespace

template <class Fields, Of<PartState> T>
void ListFields(Fields& fields, T& state) {
  fields.Required("identity", state.identity).Required("size", state.size).Required("bytes", state.bytes);
  fields.Required("crc32c", state.crc32c).Loose("sent", state.sent);
}

template <class Fields, Of<DropNote> T>
void ListFields(Fields& fields, T& note) {
  fields.Required("identity", note.identity).Required("from", note.from).Written("done", note.is_done);
}

Result<PartState> ParsePartState(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  Status status;
  JsonFields fields(json, "", status);
  PartState state;
  ListFields(fields, state);
  if (state.bytes > state.size) fields.Fail("bytes", "more than the size");
  RETURN_IF_ERROR(status);
  return state;
}

std::string FormatPartState(const PartState& state) { return JsonWriter::ValueOf(state).Dump() + '\n'; }

Result<DropNote> ParseDropNote(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  Status status;
  JsonFields fields(json, "", status);
  if (fields.Number("version") != kNoteVersion) fields.Fail("version", "unknown");
  DropNote note;
  ListFields(fields, note);
  RETURN_IF_ERROR(status);
  return note;
}

std::string FormatDropNote(const DropNote& note) {
  JsonWriter json;
  json.Written("version", kNoteVersion);
  ListFields(json, note);
  return json.Finish().Dump() + '\n';
}

std::optional<PartState> ReadPartState(const std::string& path, bool must_be_ours) {
  const Result<std::string> text = ReadJournalText(StrCat(path, kJournalSuffix), must_be_ours);
  if (!text.ok()) return std::nullopt;
  Result<PartState> state = ParsePartState(*text);
  if (!state.ok()) return std::nullopt;
  return std::move(state).value();
}

std::optional<DropNote> ReadDropNote(const std::string& path, std::string_view identity) {
  LocalStore store(ParentDirectory(path));
  const Result<std::string> text = ReadObject(store, NameOf(path) + std::string(kNote), kMaxJournalBytes);
  if (!text.ok()) return std::nullopt;
  Result<DropNote> note = ParseDropNote(*text);
  if (!note.ok() || note->identity != identity) return std::nullopt;
  return *std::move(note);
}

Status WriteDropNote(const std::string& path, const DropNote& note) {
  LocalStore store(ParentDirectory(path));
  return WriteObject(store, NameOf(path) + std::string(kNote), FormatDropNote(note), Condition::ReplaceAny())
      .status();
}

Result<std::unique_ptr<PartFile>> PartFile::Open(std::string path, std::string identity, std::uint64_t size) {
  RETURN_IF_ERROR(MakeDirectories(ParentDirectory(path)));
  FileDescriptor file = OpenPath(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
  if (!file.is_open()) return LocalError(path, "cannot open", errno);
  // A part that is being closed in this process releases its lock at the very end, so this waits. If the file
  // system has no locks, only this wait is lost.
  WaitForLock(file);
  return OpenAt(std::move(file), std::move(path), std::move(identity), size, false);
}

Result<std::unique_ptr<PartFile>> PartFile::OpenAmongOthers(std::string path, std::string identity,
                                                            std::uint64_t size) {
  ASSIGN_OR_RETURN(FileDescriptor file, OpenKeptPart(path));
  return OpenAt(std::move(file), std::move(path), std::move(identity), size, true);
}

Result<std::unique_ptr<PartFile>> PartFile::OpenAt(FileDescriptor file, std::string path,
                                                   std::string identity, std::uint64_t size,
                                                   bool must_be_ours) {
  struct stat found;
  if (fstat(file.get(), &found) != 0) return LocalError(path, "cannot look at it", errno);
  if (!S_ISREG(found.st_mode)) return Status(Code::kInvalidArgument, StrCat(path, ": is no regular file"));
  PartState state{std::move(identity), size, 0, 0};
  const std::optional<PartState> before = ReadPartState(path, must_be_ours);
  if (before && before->identity == state.identity &&
      (before->size == size || before->bytes == before->size) &&
      before->bytes <= static_cast<std::uint64_t>(found.st_size))
    state = *before;
  RETURN_IF_ERROR(Truncate(file, path, state.bytes));
  std::unique_ptr<PartFile> part(new PartFile(std::move(path), std::move(file), std::move(state)));
  const std::optional<DropNote> note = ReadDropNote(part->path_, part->state_.identity);
  if (note && !note->is_done) RETURN_IF_ERROR(part->Drop(*note, size));
  return part;
}

/// Keeps the bytes before `note.from`, with their crc32c.
Status PartFile::Drop(DropNote note, std::uint64_t size) {
  const std::uint64_t kept = std::min(note.from, state_.bytes);
  ASSIGN_OR_RETURN(state_.crc32c, HashFront(kept, [](std::string_view) { return Status(); }));
  state_.size = size;
  state_.bytes = kept;
  state_.sent.clear();
  RETURN_IF_ERROR(Sync());  // first, because a journal never counts more bytes than the file has
  RETURN_IF_ERROR(Truncate(file_, path_, kept));
  note.is_done = true;
  return WriteDropNote(path_, note);
}

Status PartFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(state_.bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return LocalError(path_, StrCat("cannot write at byte ", state_.bytes), errno);
    const auto written = static_cast<std::size_t>(put);
    state_.crc32c = Crc32c(bytes.substr(0, written), state_.crc32c);
    state_.bytes += written;
    bytes.remove_prefix(written);
  }
  if (state_.bytes >= mark_.bytes + kMarkEvery) {
    before_ = mark_;
    mark_ = front();
  }
  return {};
}

Status PartFile::Sync() {
  if (Uninterrupted([this] { return fdatasync(file_.get()); }) != 0)
    return LocalError(path_, "cannot be made durable", errno);
  const std::string journal = StrCat(path_, kJournalSuffix);
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                   LocalWriter::Create(NameOf(journal), journal, Condition::ReplaceAny()));
  RETURN_IF_ERROR(writer->Append(FormatPartState(state_)));
  RETURN_IF_ERROR(writer->Commit({}).status());
  safe_ = front();
  return {};
}

Status PartFile::Shorten() {
  // No cut below the journal: it never counts more bytes than the file has.
  if (before_.bytes > safe_.bytes) {
    RETURN_IF_ERROR(CutTo(before_));
    if (Sync().ok()) return {};
  }
  return CutTo(safe_);
}

Status PartFile::CutTo(Front front) {
  state_.bytes = front.bytes;
  state_.crc32c = front.crc32c;
  mark_ = before_ = {};
  return Truncate(file_, path_, front.bytes);
}

Result<std::size_t> PartFile::ReadAt(std::uint64_t offset, std::span<char> out) const {
  const ssize_t got = ReadFullyAt(file_.get(), offset, out);
  if (got < 0) return LocalError(path_, StrCat("cannot read at byte ", offset), errno);
  return static_cast<std::size_t>(got);
}

Result<std::uint32_t> PartFile::HashFront(std::uint64_t bytes,
                                          const std::function<Status(std::string_view piece)>& visit) const {
  std::string piece(kPartPiece, '\0');
  std::uint32_t crc32c = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes - at));
    ASSIGN_OR_RETURN(const std::size_t got, ReadAt(at, std::span(piece).first(wanted)));
    if (got == 0) return Status(Code::kDataLoss, StrCat(path_, ": ends at byte ", at, "; run again"));
    const std::string_view here = std::string_view(piece).substr(0, got);
    RETURN_IF_ERROR(visit(here));
    crc32c = Crc32c(here, crc32c);
    at += got;
  }
  return crc32c;
}

Status PartFile::Empty() {
  mark_ = before_ = {};
  state_.bytes = 0;
  state_.crc32c = 0;
  state_.sent.clear();
  RETURN_IF_ERROR(Sync());  // first, because a journal never counts more bytes than the file has
  return Truncate(file_, path_, 0);
}

Status PartFile::Resize(std::uint64_t size) {
  state_.size = size;
  return state_.bytes > size ? Empty() : Status();
}

Status PartFile::Forget() {
  state_.identity.clear();
  state_.bytes = 0;
  state_.crc32c = 0;
  return Sync();
}

}  // namespace pipeline
