// The records of one TFRecord file of tf.train.Example as batches. Rules: formats/examples.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "records/source.h"
#include "spec/subset.h"

namespace pipeline {

struct ExampleRules {
  std::vector<std::string> text;    // features, joined by line ends
  bool fields = false;              // each feature keeps to a line of its own in the text
  std::string label;                // a feature; empty where there is none
  std::vector<std::string> labels;  // names of the label's numbers; empty where it is taken as it is
  bool fail = false;                // on a bad record, instead of setting it aside
  Subset subset;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
  std::uint64_t max_record_bytes = std::uint64_t{8} << 20;
};

/// Opens the input. It begins at the end of the last known partition before the first wanted one, which is
/// where a record begins. Records come as they stand in the file: each is one row, its text may have line
/// ends and be invalid UTF-8. Bad ones are set aside, their reasons counted. `rules` outlive it.
Result<std::unique_ptr<Source>> OpenExampleSource(SourceRequest request, const ExampleRules& rules);

}  // namespace pipeline
