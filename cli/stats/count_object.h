// Reads an object of a hand-off, and counts what its trainer will see of it.
#pragma once

#include "base/result.h"
#include "cli/cat_target.h"
#include "cli/stats/hand_off_stats.h"

namespace pipeline {

/// A record is what a trainer reads at once: an example, a row, a line of JSON Lines, a line of text; of ids
/// in one stream a document or line where its end is known, else the whole stream. Documents are counted
/// where the object itself tells them: partitions, text by its blank lines. kInvalidArgument for what is no
/// hand-off, or has records of which nothing can be counted.
Status CountObject(const CatObject& object, HandOffStats& stats);

}  // namespace pipeline
