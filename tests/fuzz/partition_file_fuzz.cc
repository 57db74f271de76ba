// Partition files: any bytes are read or refused; rows made of the bytes come back as they were.
#include <string>
#include <vector>

#include "formats/coding.h"
#include "formats/footer.h"
#include "formats/partition_file.h"
#include "tests/fuzz/require.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

const PartitionColumns kColumns = {{"text", PartitionColumnType::kUtf8},
                                   {"cuts", PartitionColumnType::kU32List},
                                   {"split", PartitionColumnType::kU8}};

/// Reads all of `bytes`; the records, or -1 where it is refused.
std::int64_t ReadAll(std::string bytes, PartitionRows& last) {
  auto reader = PartitionFileReader::Open(std::make_shared<StringFile>(std::move(bytes)), {});
  if (!reader.ok()) return -1;
  std::int64_t records = 0;
  PartitionRows rows;
  while (true) {
    const Result<bool> more = (*reader)->Next(rows);
    if (!more.ok()) return -1;
    if (!*more) return records;
    records += static_cast<std::int64_t>(rows.heads.size());
    last = rows;
  }
}

/// Takes a row from the front of `in`: any values, a text of at most 255 bytes.
void AddRow(Decoder& in, PartitionRows& rows) {
  rows.heads.push_back({in.Varint(), in.U8(), in.Varint(), in.U8()});
  PartitionRows::Column& text = rows.columns[0];
  text.bytes.append(in.Bytes(in.U8()));
  text.ends.push_back(static_cast<std::uint32_t>(text.bytes.size()));
  PartitionRows::Column& cuts = rows.columns[1];
  for (int left = in.U8() % 4; left > 0; --left) cuts.numbers.push_back(in.U32());
  cuts.ends.push_back(static_cast<std::uint32_t>(cuts.numbers.size()));
  rows.columns[2].values.push_back(in.U8());
}

void PartitionRoundTrip(std::string_view bytes) {
  PartitionRows rows;
  rows.columns.resize(kColumns.size());
  for (Decoder in(bytes); in.left() > 0 && in.ok();) AddRow(in, rows);
  std::vector<ColumnView> views;
  for (const PartitionRows::Column& column : rows.columns) views.push_back(column.view());
  std::string frames;
  Require(PartitionFrameEncoder(kColumns).Encode({rows.heads, views}, frames).ok());
  std::string file;
  PartitionFileWriter writer(kColumns, [&file](std::string_view more) {
    file.append(more);
    return Status();
  });
  Require(writer.Append(frames, {rows.heads, views}).ok());
  Require(writer.Finish({1, 2, 3, 4}).ok());
  PartitionRows read;
  Require(ReadAll(file, read) == static_cast<std::int64_t>(rows.heads.size()));
  if (rows.heads.empty()) return;
  Require(read.heads == rows.heads);
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    Require(read.columns[i].bytes == rows.columns[i].bytes && read.columns[i].ends == rows.columns[i].ends &&
            read.columns[i].numbers == rows.columns[i].numbers &&
            read.columns[i].values == rows.columns[i].values);
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string bytes(data, data + size);
  PartitionRows rows;
  (void)ReadAll(bytes, rows);
  (void)ReadAll(std::string(kPartitionKind.magic) + SealFooter(kPartitionKind, bytes),
                rows);  // past the checksums
  (void)DecodeRows(kColumns, bytes, static_cast<std::uint32_t>(size / 3), rows);
  if (size < 100'000) PartitionRoundTrip(bytes);
  return 0;
}
