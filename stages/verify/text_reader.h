// Reads files of lines of text: a line is a record, and a blank line ends a document.
#pragma once

#include "stages/verify/export_reader.h"

namespace pipeline {

/// Members of the JSON objects: line (from 1), text.
class TextReader : public ExportReader {
 public:
  Status Print(const ShardFile& shard, RecordOutput& output) const final;
  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override;
};

}  // namespace pipeline
