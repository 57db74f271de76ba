#include "stages/verify/text_lines.h"

#include "base/str.h"
#include "formats/compression.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kMaxLine = 64 << 20;
constexpr std::size_t kFrontBytes = 4096;  // of decoded bytes that must be text

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

TextLines::TextLines(std::unique_ptr<ByteReader> reader)
    : reader_(std::move(reader)), buffer_(kPieceBytes, '\0') {}

Result<TextLines> TextLines::Open(const ByteFile& file, std::string_view name) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*input, kMagicBytes));
  ASSIGN_OR_RETURN(const Compression compression, DetectCompression(front, LastPart(name)));
  ASSIGN_OR_RETURN(input, file.Open(0, {}));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, compression.Decode(std::move(input)));
  return TextLines(std::move(reader));
}

Result<std::optional<std::string_view>> TextLines::Next() {
  line_.clear();
  for (;;) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const std::size_t length = rest.find('\n');
    line_.append(rest.substr(0, length));
    if (line_.size() > kMaxLine)
      return Status(Code::kInvalidArgument, StrCat("line ", number_ + 1, " is longer than ",
                                                   HumanBytes(kMaxLine), ": this is no text of lines"));
    if (length != std::string_view::npos) {
      begin_ += length + 1;
      break;
    }
    begin_ = end_ = 0;
    ASSIGN_OR_RETURN(end_, reader_->Read(buffer_));
    if (end_ > 0) continue;
    if (line_.empty()) return std::optional<std::string_view>();
    break;
  }
  ++number_;
  return std::optional<std::string_view>(line_);
}

bool IsTextFile(const ByteFile& file, std::string_view front, std::string_view name) {
  const Result<Compression> compression = DetectCompression(front.substr(0, kMagicBytes), LastPart(name));
  Result<std::unique_ptr<ByteReader>> reader = file.Open(0, {});
  if (!compression.ok() || !reader.ok() || front.empty()) return false;
  Result<std::unique_ptr<ByteReader>> decoder = compression->Decode(std::move(reader).value());
  const Result<std::string> text =
      decoder.ok() ? ReadFront(**decoder, kFrontBytes) : Result<std::string>(decoder.status());
  // The last character may be cut by the end of the read bytes.
  return text.ok() && text->find('\0') == std::string::npos && CleanUtf8Prefix(*text) + 4 > text->size();
}

}  // namespace pipeline
