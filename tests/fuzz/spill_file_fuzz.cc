// Spill files: any bytes are read or refused; rows made of the bytes come back as they were.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "formats/footer.h"
#include "formats/spill_file.h"
#include "tests/fuzz/require.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

struct Row {
  std::uint8_t split = 0;
  std::uint64_t hash = 0;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string payload;
  auto operator<=>(const Row&) const = default;
};

/// Whether `bytes` are a spill, and the rows it has.
bool ReadAll(const std::string& bytes, std::vector<Row>& rows) {
  const StringFile file(bytes);
  const Result<SpillIndex> index = ReadSpillIndex(file, {});
  if (!index.ok()) return false;
  ZstdFrameCoder coder;
  for (const SpillSplit& split : index->splits)
    for (const SpillFrame& frame : split.frames) {
      std::string raw(frame.stored, '\0');
      Require(ReadAt(file, frame.offset, raw, {}).ok());
      if (!OpenSpillFrame(frame, index->compressed, coder, raw).ok()) return false;
      Decoder in(raw);
      for (std::uint32_t i = 0; i < frame.records && in.ok(); ++i) {
        const SpillRow row = TakeSpillRow(in);
        rows.push_back({split.number, row.hash, row.index, row.sub, std::string(row.payload)});
      }
      if (!in.ok() || in.left() > 0) return false;
    }
  return true;
}

void SpillRoundTrip(std::string_view bytes) {
  std::vector<Row> rows;
  Decoder in(bytes);
  const std::uint8_t options = in.U8();
  while (in.left() > 0 && in.ok()) {
    Row row = {in.U8(), in.U64(), in.Varint(), in.U8(), {}};
    row.payload = in.Bytes(in.U8());
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end());
  std::string file;
  SpillFileWriter writer(1, 2, {options % 2 == 1, std::size_t{options}}, [&file](std::string_view more) {
    file.append(more);
    return Status();
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i == 0 || rows[i - 1].split != row.split) {
      const auto records = std::count_if(rows.begin(), rows.end(),
                                         [&row](const Row& other) { return other.split == row.split; });
      Require(writer.BeginSplit(row.split, static_cast<std::uint64_t>(records)).ok());
    }
    Require(writer.Add({row.hash, row.index, row.sub, row.payload}).ok());
  }
  Require(writer.Finish().ok());
  std::vector<Row> read;
  Require(ReadAll(file, read));
  Require(read == rows);
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string bytes(data, data + size);
  std::vector<Row> rows;
  (void)ReadAll(bytes, rows);
  (void)ReadAll(std::string(kSpillKind.magic) + SealFooter(kSpillKind, bytes), rows);  // past the checksums
  if (size < 100'000) SpillRoundTrip(bytes);
  return 0;
}
