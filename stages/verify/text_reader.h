// Reads files of lines of text: a line is a record, and a blank line ends a document.
#pragma once

#include <optional>

#include "stages/verify/export_reader.h"
#include "stages/verify/text_lines.h"
#include "text/encoding.h"

namespace pipeline {

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
