// Packed rows and indexes: any bytes are read or refused; what was read, written again, is the same.
#include <string>
#include <string_view>
#include <vector>

#include "formats/coding.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  if (const auto index = ParsePackedIndex(bytes); index.ok()) {
    std::string again;
    for (const PackedIndexEntry& entry : *index) {
      PutU64(again, entry.offset);
      AppendPackedRowFacts(again, entry.facts);
    }
    Require(again == bytes);
  } else {
    Require(index.status().code() == Code::kDataLoss);
  }

  std::vector<std::uint32_t> ids;
  if (const Status parsed = ParsePackedRow(bytes, ids); parsed.ok()) {
    std::string row;
    AppendPackedRow(row, ids);
    std::vector<std::uint32_t> back;
    Require(ParsePackedRow(std::string_view(row).substr(12, row.size() - kTfRecordOverhead), back).ok());
    Require(back == ids);
  } else {
    Require(parsed.code() == Code::kDataLoss);
  }

  PackedSegments segments;
  if (ParsePackedRow(bytes, ids, &segments).ok()) {
    std::string row;
    AppendPackedExample(row, ids, &segments);
    std::vector<std::uint32_t> back;
    PackedSegments others;
    Require(ParsePackedRow(row, back, &others).ok() && back == ids && others == segments);
  }
  std::vector<std::uint32_t> weights;
  if (ParsePackedRow(bytes, ids, nullptr, &weights).ok() && !weights.empty()) {
    std::string row;
    AppendPackedExample(row, ids, nullptr, weights);
    std::vector<std::uint32_t> back, others;
    Require(ParsePackedRow(row, back, nullptr, &others).ok() && back == ids && others == weights);
  }
  for (const std::uint32_t id_bytes : {2u, 4u}) {
    if (!ParseRawIds(bytes, id_bytes, ids).ok()) continue;
    std::string raw;
    AppendRawIds(raw, ids, id_bytes);
    Require(raw == bytes);
  }
  return 0;
}
