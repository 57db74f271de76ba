#include "dag/books/run_log_line.h"

#include <array>
#include <utility>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::size_t kChecksumDigits = 8;
constexpr std::array<std::pair<std::string_view, UnitState>, 5> kUnitKinds = {{{"done", UnitState::kDone},
                                                                               {"failed", UnitState::kFailed},
                                                                               {"void", UnitState::kVoid},
                                                                               {"end", UnitState::kEnd},
                                                                               {"cuts", UnitState::kCuts}}};

std::string_view KindOf(UnitState state) {
  for (const auto& [kind, its_state] : kUnitKinds)
    if (its_state == state) return kind;
  return {};
}

// ------------------------------------------------------------------------------------- encoding

void AppendEscaped(std::string& out, std::string_view value, bool is_word = false) {
  for (const char byte : value) {
    switch (byte) {
      case '\t': out += "%09"; break;
      case '\n': out += "%0A"; break;
      case '\r': out += "%0D"; break;
      case '%': out += "%25"; break;
      case ' ': out += is_word ? "%20" : " "; break;
      default: out.push_back(byte);
    }
  }
}

/// Builds a line's body; fields that are zero or empty are left out.
class LineWriter {
 public:
  explicit LineWriter(std::string_view kind) : body_(kind) {}

  LineWriter& Text(std::string_view key, std::string_view value) {
    if (value.empty()) return *this;
    Key(key);
    AppendEscaped(body_, value);
    return *this;
  }
  LineWriter& Number(std::string_view key, std::uint64_t value) {
    if (value != 0) Key(key).body_ += std::to_string(value);
    return *this;
  }
  LineWriter& Hex(std::string_view key, const Digest& value) {
    if (!value.empty()) Key(key).body_ += value.ToHex();
    return *this;
  }
  /// Begins a field of words, which are added by Word.
  LineWriter& Words(std::string_view key, std::string_view first) {
    Key(key);
    AppendEscaped(body_, first, true);
    return *this;
  }
  LineWriter& Word(std::string_view word) {
    body_.push_back(' ');
    AppendEscaped(body_, word, true);
    return *this;
  }
  LineWriter& Word(std::uint64_t number) { return Word(std::to_string(number)); }

  std::string Seal() { return SealLine(std::move(body_)); }

 private:
  LineWriter& Key(std::string_view key) {
    body_.push_back('\t');
    body_ += key;
    body_.push_back('=');
    return *this;
  }
  std::string body_;
};

// ------------------------------------------------------------------------------------- decoding

template <class Int>
bool ParseInto(std::string_view text, Int& out, int base = 10) {
  const std::optional<Int> number = text.starts_with('-') ? std::nullopt : ParseNumber<Int>(text, base);
  if (number) out = *number;
  return number.has_value();
}

bool ParseText(std::string_view value, std::string& out) {
  if (value.find('%') == std::string_view::npos) {
    out.assign(value);
    return true;
  }
  std::optional<std::string> text = Unescape(value);
  if (text) out = std::move(*text);
  return text.has_value();
}

bool ParseHex(std::string_view value, Digest& out) {
  const std::optional<Digest> digest = Digest::FromHex(value);
  if (digest) out = *digest;
  return digest.has_value();
}

bool ParseHex32(std::string_view value, std::uint32_t& out) {
  return value.size() == kChecksumDigits && ParseInto(value, out, 16);
}

bool ParseSplit(std::string_view words, UnitLine& line) {
  std::string name;
  ArtifactTotals::Split split;
  if (!ParseText(TakeUntil(words, ' '), name) || !ParseInto(TakeUntil(words, ' '), split.records) ||
      !ParseInto(TakeUntil(words, ' '), split.documents) || !ParseInto(words, split.bytes))
    return false;
  line.splits.insert_or_assign(std::move(name), split);
  return true;
}

bool ParseCounts(std::string_view words, UnitLine& line) {
  std::string stage;
  if (!ParseText(TakeUntil(words, ' '), stage)) return false;
  StageCounts& counts = line.counts[stage];
  counts.reasons.clear();
  if (!ParseInto(TakeUntil(words, ' '), counts.records_in) ||
      !ParseInto(TakeUntil(words, ' '), counts.records_out) ||
      !ParseInto(TakeUntil(words, ' '), counts.bytes_in) ||
      !ParseInto(TakeUntil(words, ' '), counts.bytes_out))
    return false;
  while (!words.empty()) {
    std::string reason;
    std::uint64_t count = 0;
    if (!ParseText(TakeUntil(words, ' '), reason) || !ParseInto(TakeUntil(words, ' '), count)) return false;
    counts.reasons.insert_or_assign(std::move(reason), count);
  }
  return true;
}

bool ParseSizes(std::string_view words, UnitLine& line) {
  std::string stage;
  if (!ParseText(TakeUntil(words, ' '), stage)) return false;
  auto& sizes = line.counts[stage].sizes;
  while (!words.empty()) {
    std::string reason;
    ReasonSize size;
    if (!ParseText(TakeUntil(words, ' '), reason) || !ParseInto(TakeUntil(words, ' '), size.bytes) ||
        !ParseInto(TakeUntil(words, ' '), size.more_lines))
      return false;
    sizes.insert_or_assign(std::move(reason), size);
  }
  return true;
}

bool ParseObject(std::string_view words, UnitLine& line) {
  StoredObject object;
  if (!ParseText(TakeUntil(words, ' '), object.name) || !ParseInto(TakeUntil(words, ' '), object.bytes) ||
      !ParseHex32(TakeUntil(words, ' '), object.crc32c) || !ParseHex(words, object.digest))
    return false;
  line.objects.push_back(std::move(object));
  return true;
}

bool ParseSums(std::string_view words, UnitLine& line) {
  while (!words.empty())
    if (!ParseInto(TakeUntil(words, ' '), line.sums.emplace_back())) return false;
  return true;
}

bool ParseCuts(std::string_view words, UnitLine& line) {
  PartitionEnd end;
  while (!words.empty()) {
    PartitionEnd size;
    if (!ParseInto(TakeUntil(words, ' '), size.raw_end) ||
        !ParseInto(TakeUntil(words, ' '), size.document_end))
      return false;
    end.raw_end += size.raw_end;
    end.document_end += size.document_end;
    line.cuts.push_back(end);
  }
  return true;
}

bool ParseUnitField(std::string_view key, std::string_view value, UnitLine& line) {
  if (key == "unit") return ParseText(value, line.unit);
  if (key == "segment") return ParseInto(value, line.segment);
  if (key == "recipe") return ParseHex(value, line.recipe);
  if (key == "content") return ParseHex(value, line.content);
  if (key == "digest") return ParseHex(value, line.digest);
  if (key == "place") return ParseText(value, line.location);
  if (key == "records") return ParseInto(value, line.records);
  if (key == "sums") return ParseSums(value, line);
  if (key == "split") return ParseSplit(value, line);
  if (key == "raw_end") return ParseInto(value, line.end.raw_end);
  if (key == "document_end") return ParseInto(value, line.end.document_end);
  if (key == "partitions") return ParseInto(value, line.partitions);
  if (key == "raw_bytes") return ParseInto(value, line.raw_bytes);
  if (key == "documents") return ParseInto(value, line.documents);
  if (key == "counts") return ParseCounts(value, line);
  if (key == "sizes") return ParseSizes(value, line);
  if (key == "cuts") return ParseCuts(value, line);
  if (key == "note") return ParseText(value, line.note);
  if (key == "whole_from") return ParseText(value, line.whole_from);
  if (key == "object") return ParseObject(value, line);
  if (key == "continue") return ParseText(value, line.continues);
  if (key == "facts") return ParseText(value, line.facts);
  if (key == "reason") return ParseText(value, line.reason);
  if (key == "origin") return ParseText(value, line.origin);
  return true;  // a field of a later v1
}

/// Calls `take(key, value)` for each field. False: `take` returned false, which ends the calls, or a field
/// has no '='.
template <class Take>
bool ForEachField(std::string_view fields, const Take& take) {
  while (!fields.empty()) {
    const std::string_view field = TakeUntil(fields, '\t');
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return false;
    if (!take(field.substr(0, equals), field.substr(equals + 1))) return false;
  }
  return true;
}

}  // namespace

std::string SealLine(std::string body) {
  const std::uint32_t checksum = Crc32c(body);
  body.push_back('\t');
  body += Hex32(checksum);
  body.push_back('\n');
  return body;
}

std::optional<LineHead> ScanLine(std::string_view line) {
  if (line.size() < kChecksumDigits + 1) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - kChecksumDigits - 1);
  std::uint32_t checksum = 0;
  if (line[body.size()] != '\t' || !ParseHex32(line.substr(body.size() + 1), checksum)) return std::nullopt;
  if (checksum != Crc32c(body)) return std::nullopt;

  LineHead head;
  head.fields = body;
  head.kind = TakeUntil(head.fields, '\t');
  const bool formed = ForEachField(head.fields, [&](std::string_view key, std::string_view value) {
    if (key == "unit") head.unit = value;
    return key != "segment" || ParseInto(value, head.segment);
  });
  if (!formed || head.kind.empty()) return std::nullopt;
  return head;
}

std::optional<UnitState> UnitStateOf(std::string_view kind) {
  for (const auto& [its_kind, state] : kUnitKinds)
    if (its_kind == kind) return state;
  return std::nullopt;
}

std::optional<std::string> Unescape(std::string_view value) {
  std::string text;
  text.reserve(value.size());
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] != '%') {
      text.push_back(value[at]);
      continue;
    }
    unsigned char byte = 0;
    if (value.size() - at < 3 || !ParseInto(value.substr(at + 1, 2), byte, 16)) return std::nullopt;
    text.push_back(static_cast<char>(byte));
    at += 2;
  }
  return text;
}

std::string EncodeLine(const UnitLine& line) {
  LineWriter writer(KindOf(line.state));
  writer.Text("unit", line.unit)
      .Number("segment", line.segment)
      .Hex("recipe", line.recipe)
      .Hex("content", line.content)
      .Hex("digest", line.digest)
      .Text("place", line.location)
      .Number("records", line.records);
  if (!line.sums.empty()) {
    writer.Words("sums", std::to_string(line.sums.front()));
    for (std::size_t at = 1; at < line.sums.size(); ++at) writer.Word(line.sums[at]);
  }
  for (const auto& [name, split] : line.splits)
    writer.Words("split", name).Word(split.records).Word(split.documents).Word(split.bytes);
  writer.Number("raw_end", line.end.raw_end)
      .Number("document_end", line.end.document_end)
      .Number("partitions", line.partitions)
      .Number("raw_bytes", line.raw_bytes)
      .Number("documents", line.documents);
  for (const auto& [stage, counts] : line.counts) {
    writer.Words("counts", stage).Word(counts.records_in).Word(counts.records_out);
    writer.Word(counts.bytes_in).Word(counts.bytes_out);
    for (const auto& [reason, count] : counts.reasons) writer.Word(reason).Word(count);
  }
  for (const auto& [stage, counts] : line.counts) {
    if (counts.sizes.empty()) continue;
    writer.Words("sizes", stage);
    for (const auto& [reason, size] : counts.sizes)
      writer.Word(reason).Word(size.bytes).Word(size.more_lines);
  }
  PartitionEnd before;
  for (const PartitionEnd& end : line.cuts) {
    const std::string bytes = std::to_string(end.raw_end - before.raw_end);
    (before.raw_end == 0 ? writer.Words("cuts", bytes) : writer.Word(bytes))
        .Word(end.document_end - before.document_end);
    before = end;
  }
  writer.Text("note", line.note).Text("whole_from", line.whole_from);
  for (const StoredObject& object : line.objects) {
    writer.Words("object", object.name).Word(object.bytes);
    writer.Word(Hex32(object.crc32c)).Word(object.digest.ToHex());
  }
  return writer.Text("continue", line.continues)
      .Text("facts", line.facts)
      .Text("reason", line.reason)
      .Text("origin", line.origin)
      .Seal();
}

std::string EncodeLine(const SegmentLine& line) {
  return LineWriter("segment").Number("number", line.number).Text("lineage", line.lineage).Seal();
}

std::string EncodeLine(const RunLine& line) {
  return LineWriter("run")
      .Text("id", line.id)
      .Number("pid", line.pid)
      .Text("command", line.command)
      .Number("started", static_cast<std::uint64_t>(line.started))
      .Number("ended", static_cast<std::uint64_t>(line.ended))
      .Text("outcome", line.outcome)
      .Seal();
}

std::optional<UnitLine> DecodeUnit(const LineHead& head) {
  const std::optional<UnitState> state = UnitStateOf(head.kind);
  if (!state) return std::nullopt;
  UnitLine line;
  line.state = *state;
  const bool parsed = ForEachField(head.fields, [&](std::string_view key, std::string_view value) {
    return ParseUnitField(key, value, line);
  });
  if (!parsed || line.unit.empty()) return std::nullopt;
  return line;
}

std::optional<SegmentLine> DecodeSegment(const LineHead& head) {
  if (head.kind != "segment") return std::nullopt;
  SegmentLine line;
  const bool parsed = ForEachField(head.fields, [&](std::string_view key, std::string_view value) {
    if (key == "number") return ParseInto(value, line.number);
    return key != "lineage" || ParseText(value, line.lineage);
  });
  if (!parsed || line.number == 0) return std::nullopt;
  return line;
}

std::optional<RunLine> DecodeRun(const LineHead& head) {
  if (head.kind != "run") return std::nullopt;
  RunLine line;
  const bool parsed = ForEachField(head.fields, [&](std::string_view key, std::string_view value) {
    if (key == "id") return ParseText(value, line.id);
    if (key == "pid") return ParseInto(value, line.pid);
    if (key == "command") return ParseText(value, line.command);
    if (key == "started") return ParseInto(value, line.started);
    if (key == "ended") return ParseInto(value, line.ended);
    return key != "outcome" || ParseText(value, line.outcome);
  });
  if (!parsed || line.id.empty()) return std::nullopt;
  return line;
}

}  // namespace pipeline
