// Records of a document as one row: for sinks whose rows are documents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "records/sink.h"

namespace pipeline {

struct DocumentRules {
  std::string between;  // the payloads of two records of a document
  /// Appends to `row` the payload of a document; `joined`: those of its records, with `between` between them.
  std::function<Status(std::string_view joined, std::string& row)> finish;
};

/// Takes the batches of one partition and hands on, to `rows`, a record for each document, with the head and
/// the split of its first record and a payload alone. Holds one document.
std::unique_ptr<Sink> NewDocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules);

}  // namespace pipeline
