#include "dag/books/quarantine.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "base/utf8.h"
#include "dag/books/unit_id.h"
#include "dag/books/work_dir.h"

namespace pipeline {

namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::string_view kTextKey = ",\"text\":\"";
constexpr std::string_view kBase64Key = ",\"base64\":\"";

// A record may have a GiB, and a line of escapes six times as much.
constexpr std::size_t kWrittenBytes = 48 << 10;  // of a record at once: whole groups of base64
constexpr std::size_t kMostReadBytes = 1 << 20;  // of a line

/// Appends `bytes` to `writer`, as a JSON string without its quotes, or as base64.
Status AppendBytes(ObjectWriter& writer, std::string_view bytes, bool is_text) {
  for (std::string part; !bytes.empty(); part.clear()) {
    std::size_t size = std::min(bytes.size(), kWrittenBytes);
    while (is_text && size < bytes.size() && (static_cast<unsigned char>(bytes[size]) & 0xC0) == 0x80) --size;
    if (is_text) {
      AppendJsonString(part, bytes.substr(0, size));
      part = part.substr(1, part.size() - 2);
    } else {
      part = ToBase64(bytes.substr(0, size));
    }
    RETURN_IF_ERROR(writer.Append(part));
    bytes.remove_prefix(size);
  }
  return {};
}

Status AppendLine(ObjectWriter& writer, const Quarantined& record) {
  std::string front = StrCat("{\"index\":", record.index);
  if (record.sub != 0) front += StrCat(",\"sub\":", record.sub);
  front += ",\"reason\":";
  AppendJsonString(front, record.reason);
  const bool is_text = IsUtf8(record.bytes);
  RETURN_IF_ERROR(writer.Append(front + std::string(is_text ? kTextKey : kBase64Key)));
  RETURN_IF_ERROR(AppendBytes(writer, record.bytes, is_text));
  return writer.Append("\"}\n");
}

/// Ends a line, whose front `held` is, behind as many bytes of the record as `held` has.
void EndLine(std::string& held) {
  std::size_t at = held.find(kTextKey);
  if (at != std::string::npos) {
    at += kTextKey.size();
    while (true) {
      const std::string_view rest = std::string_view(held).substr(at);
      const bool ends = rest.size() < 2 || rest[0] == '"';
      const std::size_t size = ends ? 0 : rest[0] != '\\' ? Utf8CharacterBytes(rest) : rest[1] == 'u' ? 6 : 2;
      if (size == 0 || size > rest.size()) break;
      at += size;
    }
  } else if (at = held.find(kBase64Key); at != std::string::npos) {
    at += kBase64Key.size();
    at += (held.size() - at) / 4 * 4;
  } else {
    return;
  }
  held.resize(at);
  held += "\"}";
}

}  // namespace

std::string QuarantineName(const QuarantineStage& stage, PartitionId id) {
  return StrCat("quarantine/", WorkDir::ArtifactName(stage.stage, stage.recipe), '/', PartitionName(id),
                ".jsonl");
}

std::string Shown(const Quarantined& record, std::size_t most) {
  std::string shown;
  for (std::string_view rest = record.bytes; !rest.empty();) {
    const std::size_t size = Utf8CharacterBytes(rest);
    if (shown.size() + size > most || shown.size() == most) return shown + "…";
    const bool control =
        size <= 1 && (size == 0 || static_cast<unsigned char>(rest[0]) < 0x20 || rest[0] == 0x7f);
    shown += control ? std::string_view("?") : rest.substr(0, size);
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return shown;
}

QuarantineWriter::QuarantineWriter(Store& work, std::vector<QuarantineStage> chain, PartitionId id)
    : work_(&work), chain_(std::move(chain)), id_(id), writers_(chain_.size()) {}

Status QuarantineWriter::Add(const std::vector<Quarantined>& records) {
  for (const Quarantined& record : records) {
    if (record.stage >= chain_.size() || chain_[record.stage].only_read)
      return Status(Code::kInternal, StrCat("quarantine of partition ", PartitionName(id_), ": no stage ",
                                            record.stage, " of its own in a chain of ", chain_.size()));
    std::unique_ptr<ObjectWriter>& writer = writers_[record.stage];
    if (!writer) {
      const std::string name = QuarantineName(chain_[record.stage], id_);
      ASSIGN_OR_RETURN(writer, work_->Create(name, Condition::ReplaceAny()));
    }
    RETURN_IF_ERROR(AppendLine(*writer, record));
  }
  return {};
}

Status QuarantineWriter::Commit() {
  for (std::size_t stage = 0; stage < chain_.size(); ++stage) {
    if (chain_[stage].only_read) continue;
    const Status done = writers_[stage] ? writers_[stage]->Commit().status()
                                        : work_->Remove(QuarantineName(chain_[stage], id_));
    RETURN_IF_ERROR(done);
    writers_[stage].reset();
  }
  return {};
}

std::optional<Quarantined> ParseQuarantineLine(std::string_view line) {
  const Result<Json> json = Json::Parse(line);
  if (!json.ok()) return std::nullopt;
  Status status;
  JsonFields fields(*json, "", status);
  Quarantined record;
  record.index = fields.Number("index");
  if (json->Has("sub")) record.sub = fields.Number32("sub");
  record.reason = fields.Text("reason");
  if (json->Has("text") == json->Has("base64")) return std::nullopt;
  if (json->Has("text")) {
    record.bytes = fields.Text("text");
  } else {
    std::optional<std::string> bytes = FromBase64(fields.Text("base64"));
    if (!bytes) return std::nullopt;
    record.bytes = std::move(*bytes);
  }
  if (!status.ok()) return std::nullopt;
  return record;
}

Status ReadQuarantine(Store& work, std::string_view name,
                      const std::function<Status(const Quarantined&)>& take, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, work.Open(name));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  std::string held;  // the beginning of a line whose end is not read yet
  bool cut = false;  // it ends in front of the line's end
  std::string chunk(kReadBytes, '\0');
  std::uint64_t line_number = 0;
  const auto hold = [&](std::string_view part) {
    const std::size_t room = kMostReadBytes - std::min(kMostReadBytes, held.size());
    cut = cut || part.size() > room;
    held += part.substr(0, room);
  };
  const auto give = [&]() -> Status {
    ++line_number;
    if (std::exchange(cut, false)) EndLine(held);
    const std::optional<Quarantined> record = ParseQuarantineLine(held);
    held.clear();
    if (!record)
      return Status(Code::kDataLoss, StrCat(name, ": line ", line_number, ": not a quarantined record"));
    return take(*record);
  };
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(chunk));
    if (got == 0) return held.empty() ? Status() : give();
    std::string_view rest = std::string_view(chunk).substr(0, got);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      hold(rest.substr(0, end));
      RETURN_IF_ERROR(give());
      rest.remove_prefix(end + 1);
    }
    hold(rest);
  }
}

}  // namespace pipeline
