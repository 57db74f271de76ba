#include "dag/books/quarantine.h"

#include <optional>
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

void AppendLine(std::string& out, const Quarantined& record) {
  out += StrCat("{\"index\":", record.index);
  if (record.sub != 0) out += StrCat(",\"sub\":", record.sub);
  out += ",\"reason\":";
  AppendJsonString(out, record.reason);
  if (IsUtf8(record.bytes)) {
    out += ",\"text\":";
    AppendJsonString(out, record.bytes);
  } else {
    out += StrCat(",\"base64\":\"", ToBase64(record.bytes), '"');
  }
  out += "}\n";
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
QuarantineWriter::~QuarantineWriter() = default;
QuarantineWriter::QuarantineWriter(QuarantineWriter&&) noexcept = default;
QuarantineWriter& QuarantineWriter::operator=(QuarantineWriter&&) noexcept = default;

Status QuarantineWriter::Add(const std::vector<Quarantined>& records) {
  std::string line;
  for (const Quarantined& record : records) {
    if (record.stage >= chain_.size() || chain_[record.stage].only_read)
      return Status(Code::kInternal, StrCat("quarantine of partition ", PartitionName(id_), ": no stage ",
                                            record.stage, " of its own in a chain of ", chain_.size()));
    std::unique_ptr<ObjectWriter>& writer = writers_[record.stage];
    if (!writer) {
      const std::string name = QuarantineName(chain_[record.stage], id_);
      ASSIGN_OR_RETURN(writer, work_->Create(name, Condition::ReplaceAny()));
    }
    line.clear();
    AppendLine(line, record);
    RETURN_IF_ERROR(writer->Append(line));
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
  std::string chunk(kReadBytes, '\0');
  std::uint64_t line_number = 0;
  const auto give = [&](std::string_view line) -> Status {
    ++line_number;
    const std::optional<Quarantined> record = ParseQuarantineLine(line);
    if (!record)
      return Status(Code::kDataLoss, StrCat(name, ": line ", line_number, ": not a quarantined record"));
    return take(*record);
  };
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(chunk));
    if (got == 0) return held.empty() ? Status() : give(held);
    std::string_view rest = std::string_view(chunk).substr(0, got);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      held += rest.substr(0, end);
      RETURN_IF_ERROR(give(held));
      held.clear();
      rest.remove_prefix(end + 1);
    }
    held += rest;
  }
}

}  // namespace pipeline
