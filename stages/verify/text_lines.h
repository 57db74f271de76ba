// The lines of a text file, as a source reads them: from any container, archive and encoding. Rules:
// formats/compression.md, formats/archive.md, text/encodings.md, formats/lines.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/row_finder.h"
#include "formats/section_feed.h"
#include "stages/sources/decoded_input.h"
#include "stages/sources/member_pieces.h"
#include "stages/verify/export_reader.h"
#include "text/encoding.h"

namespace pipeline {

/// One thread at a time.
class TextLines {
 public:
  /// `file` must outlive the lines. `name`: its path or the last part of it. `encoding`: of the text; absent:
  /// the bytes decide. Fails as a source of text fails.
  static Result<TextLines> Open(const ByteFile& file, std::string_view name,
                                std::optional<Encoding> encoding = std::nullopt);

  /// Returns the next line in UTF-8 without its end, valid until the next call; absent: the end. A byte order
  /// mark belongs to no line, blank lines are lines, and bytes that are no UTF-8 stay. A blank line is
  /// returned between two members of an archive, whose border ends a document. kInvalidArgument: a line is so
  /// long that this is no text, or the text has an encoding that is not read.
  Result<std::optional<std::string_view>> Next();
  /// The number of the line that Next returned, from 1.
  std::uint64_t number() const { return number_; }

 private:
  TextLines(std::unique_ptr<const DecodedInput> input, std::unique_ptr<MemberPieces> text);
  Result<bool> BeginSection();
  Status FeedMore();

  std::unique_ptr<const DecodedInput> input_;  // text_ reads from it
  std::unique_ptr<MemberPieces> text_;
  SectionFeed feed_;
  RowFinder rows_;
  LineEndSearch ends_;
  bool knows_ends_ = false;
  bool in_document_ = false;  // the last line is not blank
  std::uint64_t number_ = 0;
};

/// Ok: `file` is text that a source reads. kInvalidArgument: a source refuses it; the message is the
/// source's. kNotFound: it is empty, or its bytes are those of no format that is known; the message says
/// which. Other codes: it cannot be read now.
Status CheckTextFile(const ByteFile& file, std::string_view name);

/// Members of the JSON objects: line (from 1), text.
class TextReader : public ExportReader {
 public:
  /// `encoding`: of all files; absent: the bytes of each decide, but shards with a number are UTF-8.
  explicit TextReader(std::optional<Encoding> encoding = std::nullopt) : encoding_(encoding) {}
  Status Print(const ShardFile& shard, RecordOutput& output) const final;
  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override;

 protected:
  Result<TextLines> Open(const ShardFile& shard) const;

 private:
  const std::optional<Encoding> encoding_;
};

}  // namespace pipeline
