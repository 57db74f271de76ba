// Reads the lines or rows of one text input into batches. Rules for lines, documents and partitions:
// formats/lines.md, formats/rows.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dag/pipeline_file/subset.h"
#include "dag/records/source.h"
#include "formats/line_cutter.h"
#include "stages/sources/decoded_input.h"
#include "stages/sources/line_number.h"
#include "stages/sources/row_columns.h"
#include "stages/sources/scan_note.h"

namespace pipeline {

/// Opens the input and decodes it on its own threads. A seekable input (plain, or an .xz of several
/// blocks) is read from the end of the last known partition before the first
/// wanted one; others are decoded from the front and skipped. Records are unchanged and may be invalid
/// UTF-8. Counts the reasons of formats/lines.md.
/// With `columns` each line is a row whose columns become text and label; bad rows are set aside and their
/// reasons counted. Documents outside `subset` are skipped, or not read at all.
Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               const InputRules& input, const Subset& subset,
                                               const std::optional<ColumnRules>& columns);

/// A stage that reads text files. Its maker sets the members, which stay as they are from then on.
struct LineStage final : SourceStage {
  LineRules rules;
  InputRules input;
  Subset subset;
  std::optional<ColumnRules> columns;  // absent: a line is no row, or one of JSON
  std::unique_ptr<const Transform> text_of_lines;
  std::vector<FaultBound> faults;
  std::vector<NeededColumn> needed_columns = {};

  Result<std::unique_ptr<Source>> Open(SourceRequest request) const override {
    return OpenLineSource(std::move(request), rules, input, subset, columns);
  }
  const Transform* repair() const override { return text_of_lines.get(); }
  std::vector<bool> joined(const InputCuts& cuts) const override { return JoinedPartitions(cuts.note); }
  std::vector<FaultBound> bounds() const override { return faults; }
  std::vector<NeededColumn> needed() const override { return needed_columns; }
  std::optional<std::uint64_t> LineOf(const InputFile& file, PartitionId id, std::uint64_t index,
                                      const std::stop_token& stop) const override {
    return LineOfRecord(file, rules, input, id.partition, index, stop);
  }
};

}  // namespace pipeline
