// Examples of BERT: any bytes are read or refused; what was read, written again, is read as the same.
#include <string>

#include "formats/tfrecord.h"
#include "stages/export/bert/bert.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const BertLengths lengths : {BertLengths{8, 2}, BertLengths{128, 20}}) {
    const auto row = ParseBertExample(bytes, lengths);
    if (!row.ok()) {
      Require(row.status().code() == Code::kDataLoss);
      continue;
    }
    std::string again;
    AppendBertExample(again, row->instance(), lengths);
    const auto back =
        ParseBertExample(std::string_view(again).substr(12, again.size() - kTfRecordOverhead), lengths);
    Require(back.ok() && back->ids == row->ids && back->positions == row->positions &&
            back->labels == row->labels && back->first_segment == row->first_segment &&
            back->random_next == row->random_next);
  }
  return 0;
}
