// Prints the records of one object of any kind.
#pragma once

#include "base/result.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/record_printer.h"

namespace pipeline {

/// Prints records from the front until the printer wants no more. On an error, the records before it were
/// printed; the message names the object. Members of the JSON objects, absent if unknown:
///   shard       those of its format: split, shard, index, and features {name: value} or others
///   partition   partition, index, sub, document, key, columns {name: value}
///   spill       partition, split (its number), hash, index, sub, features
///   quarantine  stage, partition, index, sub, reason, text or base64
///   tokenizer   id, piece, score, type
///   text        line, text or base64
///   run.log     line, kind, fields {key: value, or an array if a key occurs several times}
/// `sub` is absent if 0, `key` and `hash` are 16 hexadecimal digits; numbers count from 0, lines from 1.
Status PrintObject(const CatObject& object, RecordPrinter& printer);

}  // namespace pipeline
