#include "stages/verify/text_lines.h"

#include <algorithm>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "base/base64.h"
#include "base/str.h"
#include "formats/compression.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxLine = 64 << 20;
constexpr std::size_t kFrontBytes = 4096;  // of decoded bytes that must be text

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Markup is shown as its lines: a source reads it so with `content: text`.
Result<DecodedInput> OpenInput(const ByteFile& file, std::string_view name,
                               std::optional<Encoding> encoding) {
  InputRules rules;
  rules.encoding = encoding;
  rules.forms = rules.archive.forms = TextForms::kAny;
  const std::shared_ptr<const ByteFile> lent(std::shared_ptr<void>(), &file);  // the caller keeps it
  return DecodedInput::Open({std::string(LastPart(name)), lent}, rules, 1, 0, {});
}

/// Returns the first decoded bytes, those before a damage, too; it fails if there are none.
Result<std::string> DecodedFront(const ByteFile& file, std::string_view name) {
  ASSIGN_OR_RETURN(const DecodedInput input, OpenInput(file, name, std::nullopt));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader,
                   input.Read({0, kFrontBytes}, std::nullopt, nullptr, {}));
  std::string front(kFrontBytes, '\0');
  std::size_t filled = 0;
  while (filled < front.size()) {
    Result<std::size_t> got = reader->Read(std::span(front).subspan(filled));
    if (!got.ok() && filled == 0) return std::move(got).status();
    if (!got.ok() || *got == 0) break;
    filled += *got;
  }
  front.resize(filled);
  return front;
}

/// Whether more than one byte in four is a control character, as in no text, whatever its encoding is.
bool IsBinary(std::string_view bytes) {
  constexpr std::string_view kOfText = "\t\n\v\f\r\x1b";  // the last one begins the shifts of ISO-2022
  const auto controls = std::count_if(bytes.begin(), bytes.end(), [&](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 && kOfText.find(byte) == std::string_view::npos;
  });
  return 4 * static_cast<std::size_t>(controls) > bytes.size();
}

/// Whether fewer than half of the lines at the front of a text are at fault. A run bears no more.
bool IsMostlyClean(std::string_view front) {
  std::size_t lines = 0, bad = 0;
  while (!front.empty()) {
    const std::string_view line = front.substr(0, front.find_first_of("\r\n"));
    // The end of the read bytes may cut the last character.
    const std::size_t cut = line.size() == front.size() ? 3 : 0;
    ++lines;
    const bool has_nul = line.find('\0') != std::string_view::npos;
    bad += has_nul || CleanUtf8Prefix(line) + cut < line.size() ? 1 : 0;
    front.remove_prefix(std::min(front.size(), line.size() + 1));
  }
  return 2 * bad < lines || lines == 0;
}

}  // namespace

TextLines::TextLines(std::unique_ptr<const DecodedInput> input, std::unique_ptr<MemberPieces> text)
    : input_(std::move(input)), text_(std::move(text)), feed_(0), rows_('\0', kMaxLine, false) {}

Result<TextLines> TextLines::Open(const ByteFile& file, std::string_view name,
                                  std::optional<Encoding> encoding) {
  ASSIGN_OR_RETURN(DecodedInput opened, OpenInput(file, name, encoding));
  auto input = std::make_unique<const DecodedInput>(std::move(opened));
  const std::stop_source stop;
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader,
                   input->Read({0, kNoLimit}, std::nullopt, nullptr, stop.get_token()));
  auto ahead = ReadAhead::Open(std::move(reader), stop, ReadAhead::Where::kCallersThread);
  auto text = std::make_unique<MemberPieces>(std::move(ahead), input->members());
  return TextLines(std::move(input), std::move(text));
}

Result<std::optional<std::string_view>> TextLines::Next() {
  while (true) {
    ASSIGN_OR_RETURN(const bool begun, BeginSection());
    if (begun && feed_.rest().empty() && feed_.finished()) {
      if (!feed_.BeginNextSection()) return std::nullopt;
      ends_ = {};
      knows_ends_ = false;
      if (!std::exchange(in_document_, false)) continue;
      ++number_;
      return std::optional(std::string_view());
    }
    if (FoundRow row; begun && !feed_.rest().empty() && rows_.Find(feed_.rest(), feed_.finished(), row)) {
      if (!row.fits)
        return Status(Code::kInvalidArgument, StrCat("line ", number_ + 1, " is longer than ",
                                                     HumanBytes(kMaxLine), ": this is no text of lines"));
      rows_.EndRow();
      rows_.Consume(row.size);
      feed_.Consume(row.size);
      ++number_;
      in_document_ = !IsBlankLine(row.content);
      return std::optional<std::string_view>(row.content);
    }
    if (feed_.LookFurther()) continue;
    feed_.Carry();
    RETURN_IF_ERROR(FeedMore());
  }
}

// Finds the line ends of a section and passes its byte order mark. False: it needs more input.
Result<bool> TextLines::BeginSection() {
  if (feed_.mark_passed()) return true;
  if (!knows_ends_) {
    const std::optional<LineEnds> ends = ends_.In(feed_.rest(), feed_.finished());
    if (!ends) return false;
    rows_.SetEnds(*ends);
    knows_ends_ = true;
  }
  std::uint64_t marks = 0;
  return feed_.PassMark(marks);
}

Status TextLines::FeedMore() {
  ASSIGN_OR_RETURN(const MemberPieces::Piece piece, text_->Next());
  if (piece.border)
    feed_.EndSection();
  else if (piece.bytes.empty())
    feed_.FinishInput();
  else
    feed_.Feed(piece.bytes);
  return {};
}

Status CheckTextFile(const ByteFile& file, std::string_view name) {
  if (file.size() == 0) return Status(Code::kNotFound, "it is empty");
  Result<std::string> front = DecodedFront(file, name);
  if (front.ok() && !IsBinary(*front) && IsMostlyClean(*front)) return {};
  const Status unknown(Code::kNotFound, "its first bytes are those of no format that is known here");
  if (front.ok()) return unknown;
  if (front.status().code() == Code::kInvalidArgument) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
    ASSIGN_OR_RETURN(const std::string raw, ReadFront(*reader, kFrontBytes));
    if (IsBinary(raw)) return unknown;
  }
  switch (front.status().code()) {
    case Code::kDataLoss:
    case Code::kUnimplemented:
    case Code::kResourceExhausted:
      return Status(Code::kInvalidArgument, std::string(front.status().message()));
    default: return std::move(front).status();
  }
}

Result<TextLines> TextReader::Open(const ShardFile& shard) const {
  return TextLines::Open(shard.bytes, shard.name, shard.number ? Encoding::kUtf8 : encoding_);
}

Status TextReader::Print(const ShardFile& shard, RecordOutput& output) const {
  ASSIGN_OR_RETURN(TextLines lines, Open(shard));
  while (!output.done()) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) return {};
    if (!output.json()) {
      output.Line(*line);
      continue;
    }
    Json json;
    json["line"] = lines.number();
    json["text"] = TextOrBase64(*line);
    output.Object(json);
  }
  return {};
}

Status TextReader::Count(const ShardFile& shard, RecordStatistics& statistics) const {
  ASSIGN_OR_RETURN(TextLines lines, Open(shard));
  std::uint64_t documents = 0;
  for (bool inside = false;;) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) break;
    const bool blank = IsBlankLine(*line);
    if (!blank && !inside) ++documents;
    inside = !blank;
    if (blank) continue;
    if (!IsCleanUtf8(*line))
      return Status(Code::kInvalidArgument, StrCat("line ", lines.number(),
                                                   " has bytes that are not UTF-8; name the output of a "
                                                   "stage that reads the file: it says how many "
                                                   "such lines there are"));
    statistics.AddText(*line);
  }
  statistics.AddDocuments(documents);
  return {};
}

}  // namespace pipeline
