// Joins the records of a document into one row, for sinks whose rows are documents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dag/records/sink.h"

namespace pipeline {

struct DocumentRules {
  std::string between;  // separates the payloads of two records of a document
  /// Appends the payload of a document to `row`; `joined`: its records' payloads, separated by `between`.
  std::function<Status(std::string_view joined, std::string& row)> finish;
};

/// Takes the batches of one partition and gives `rows` one record per document, with the head and split of
/// its first record and only a payload. Holds one document in memory.
std::unique_ptr<Sink> NewDocumentSink(std::unique_ptr<Sink> rows, DocumentRules rules);

}  // namespace pipeline
