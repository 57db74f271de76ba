// Reads an object of an exported data set and counts what a trainer sees in it.
#pragma once

#include "base/result.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/export_stats.h"

namespace pipeline {

/// A record is the unit that a trainer reads: an example, a row, a line of JSON Lines, a line of text; for
/// a single stream of ids, a document or line if its end is known, else the whole stream. Documents are
/// counted if the object marks them: partitions, and text by its blank lines. kInvalidArgument if the
/// object is not of an exported data set, or has records without anything to count.
Status CountObject(const CatObject& object, ExportStats& stats);

}  // namespace pipeline
