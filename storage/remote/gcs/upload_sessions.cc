#include "storage/remote/gcs/upload_sessions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "base/words.h"
#include "storage/directory.h"
#include "storage/kept_part.h"
#include "storage/local_error.h"
#include "storage/local_names.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxSessionBytes = 16 << 20;
/// The name of a temporary shows its process, and so whether that has ended.
constexpr std::string_view kSession = "session";

/// No process has this number, so it marks a session that was left.
constexpr std::string_view kNobody = ".session.tmp.00000000-0-";

struct Line {
  std::string id;
  Secret uri;
  UploadKey key = {};        // empty: nobody resumes it
  std::int64_t started = 0;  // of a session with a key: seconds since 1970
  std::vector<SpoolSum> sums = {};
};

std::int64_t Now() { return SystemClock().UnixMillis() / 1000; }

bool IsLeft(const Line& line) { return WriterIsGone(*ParseTemporaryName(line.id)); }

/// Parses the checksums up to the first invalid one.
std::vector<SpoolSum> ParseSums(std::string_view text) {
  std::vector<SpoolSum> sums;
  while (!text.empty()) {
    std::string_view sum = TakeUntil(text, ',');
    const std::optional<std::uint64_t> bytes = ParseLength(TakeUntil(sum, ':')), crc32c = ParseLength(sum);
    if (!bytes || !crc32c || *crc32c > UINT32_MAX) break;
    sums.push_back({*bytes, static_cast<std::uint32_t>(*crc32c)});
  }
  return sums;
}

std::string FormatSums(const std::vector<SpoolSum>& sums) {
  std::string text;
  for (const SpoolSum& sum : sums) text += StrCat(text.empty() ? " " : ",", sum.bytes, ":", sum.crc32c);
  return text;
}

/// Absent: `text` is no line about a session.
std::optional<Line> ParseLine(std::string_view text) {
  Line line;
  line.id = TakeUntil(text, ' ');
  line.uri = Secret(std::string(TakeUntil(text, ' ')));
  if (!ParseTemporaryName(line.id) || line.uri.empty()) return std::nullopt;
  line.key.target = TakeUntil(text, ' ');
  line.key.source = TakeUntil(text, ' ');
  const std::optional<std::uint64_t> started = ParseLength(TakeUntil(text, ' '));
  line.sums = ParseSums(text);
  if (!started || line.key.source.empty()) line.key = {};
  line.started = static_cast<std::int64_t>(started.value_or(0));
  return line;
}

/// Opens the file, locked against other processes until the descriptor is closed.
Result<FileDescriptor> OpenLocked(const std::string& path, bool make) {
  const auto open_it = [&] { return OpenPath(path, O_RDWR | O_NOFOLLOW | (make ? O_CREAT : 0), 0600); };
  FileDescriptor file = open_it();
  if (!file.is_open() && errno == ENOENT && make) {
    RETURN_IF_ERROR(MakeDirectories(ParentDirectory(path)));
    file = open_it();
  }
  if (!file.is_open()) return LocalError(path, "cannot open", errno);
  WaitForLock(file);  // it may have no locks: one process is usual
  if (fchmod(file.get(), 0600) != 0) return LocalError(path, "cannot keep it private", errno);
  return file;
}

Result<std::vector<Line>> ReadLines(const FileDescriptor& file, const std::string& path) {
  struct stat found;
  if (fstat(file.get(), &found) != 0) return LocalError(path, "cannot look at it", errno);
  std::string text(std::min<std::uint64_t>(static_cast<std::uint64_t>(found.st_size), kMaxSessionBytes),
                   '\0');
  const ssize_t got = ReadFullyAt(file.get(), 0, text);
  if (got < 0) return LocalError(path, "cannot read", errno);
  text.resize(static_cast<std::size_t>(got));
  std::vector<Line> lines;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = left.find('\n');
    if (end == std::string_view::npos) break;  // the line is torn, and its session was not used yet
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end + 1);
    if (std::optional<Line> parsed = ParseLine(line)) lines.push_back(*std::move(parsed));
  }
  return lines;
}

Status WriteLines(const FileDescriptor& file, const std::string& path, const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text.append(line.id).append(" ").append(line.uri.Reveal());
    if (!line.key.empty())
      text += StrCat(" ", line.key.target, " ", line.key.source, " ", line.started, FormatSums(line.sums));
    text.append("\n");
  }
  if (!WriteFullyAt(file.get(), 0, text)) return LocalError(path, "cannot write", errno);
  if (Uninterrupted([&] { return ftruncate(file.get(), static_cast<off_t>(text.size())); }) != 0)
    return LocalError(path, "cannot cut", errno);
  return {};
}

/// Locks the file, reads its lines, and writes them again if `change` returns true. Without `make`, nothing
/// is done if there is no file.
Status Edit(const std::string& path, Mutex& mutex, bool make,
            const std::function<bool(std::vector<Line>& lines)>& change) {
  const Lock lock(mutex);
  const Result<FileDescriptor> file = OpenLocked(path, make);
  if (!make && file.status().code() == Code::kNotFound) return {};
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(std::vector<Line> lines, ReadLines(*file, path));
  return change(lines) ? WriteLines(*file, path, lines) : Status();
}

}  // namespace

Result<std::string> UploadSessions::Begin(const Secret& uri, const UploadKey& key) {
  std::string id = NewTemporaryName(kSession);
  RETURN_IF_ERROR(Edit(path_, mutex_, true, [&](std::vector<Line>& lines) {
    lines.push_back({id, uri, key, Now(), {}});
    return true;
  }));
  return id;
}

Status UploadSessions::Note(std::string_view id, const std::vector<SpoolSum>& sums) {
  return Edit(path_, mutex_, true, [&](std::vector<Line>& lines) {
    for (Line& line : lines)
      if (line.id == id) line.sums = sums;
    return true;
  });
}

Status UploadSessions::End(std::string_view id) {
  return Edit(path_, mutex_, true, [&](std::vector<Line>& lines) {
    std::erase_if(lines, [&](const Line& line) { return line.id == id; });
    return true;
  });
}

Status UploadSessions::Leave(std::string_view id) {
  return Edit(path_, mutex_, true, [&](std::vector<Line>& lines) {
    for (Line& line : lines)
      if (line.id == id) line.id = StrCat(kNobody, lines.size());
    return true;
  });
}

Result<std::optional<TakenSession>> UploadSessions::TakeOver(const UploadKey& key,
                                                             std::vector<Secret>& others) {
  std::optional<TakenSession> taken;
  RETURN_IF_ERROR(Edit(path_, mutex_, false, [&](std::vector<Line>& lines) {
    std::vector<Line> kept;
    for (Line& line : lines) {
      const bool is_to_it = !line.key.empty() && line.key.target == key.target && IsLeft(line);
      if (is_to_it && (taken || line.key.source != key.source || line.started + kKeptSeconds < Now())) {
        others.push_back(std::move(line.uri));
        continue;
      }
      if (is_to_it) {
        line.id = NewTemporaryName(kSession);
        taken = TakenSession{line.id, line.uri, line.sums};
      }
      kept.push_back(std::move(line));
    }
    lines.swap(kept);
    return taken || lines.size() < kept.size();
  }));
  return taken;
}

Result<bool> UploadSessions::HasAny() {
  bool any = false;
  RETURN_IF_ERROR(Edit(path_, mutex_, false, [&any](const std::vector<Line>& lines) {
    any = !lines.empty();
    return false;
  }));
  return any;
}

Result<std::vector<Secret>> UploadSessions::TakeAbandoned() {
  std::vector<Secret> taken;
  RETURN_IF_ERROR(Edit(path_, mutex_, false, [&taken](std::vector<Line>& lines) {
    std::vector<Line> kept;
    for (Line& line : lines) {
      const bool is_of_use = !line.key.empty() && Now() <= line.started + kKeptSeconds;
      if (!is_of_use && IsLeft(line)) {
        taken.push_back(std::move(line.uri));
      } else {
        kept.push_back(std::move(line));
      }
    }
    lines = std::move(kept);
    return !taken.empty();
  }));
  return taken;
}

}  // namespace pipeline
