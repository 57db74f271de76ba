#include "cli/commands/cat_rows.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "formats/array_record.h"
#include "formats/compression.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 30;

Result<std::optional<TfExample>> ParseOptional(const std::optional<std::string_view>& bytes,
                                               std::uint64_t offset) {
  if (!bytes) return std::optional<TfExample>();
  Result<TfExample> example = ParseTfExample(*bytes);
  if (!example.ok()) return std::move(example).status().Annotate(StrCat("record at offset ", offset));
  return std::optional(std::move(example).value());
}

NextExample TfRecordsOf(const std::shared_ptr<ByteReader>& input) {
  return [input, reader = std::make_shared<TfRecordReader>(
                     *input, kMaxRecordBytes)]() -> Result<std::optional<TfExample>> {
    const std::uint64_t offset = reader->offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, reader->Next());
    return ParseOptional(bytes, offset);
  };
}

NextExample ArrayRecordsOf(const std::shared_ptr<ArrayRecordReader>& reader) {
  return [reader]() -> Result<std::optional<TfExample>> {
    const std::uint64_t offset = reader->offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, reader->Next());
    return ParseOptional(bytes, offset);
  };
}

/// Rows that are nothing but ids, as the Examples that they could be.
NextExample RawRowsOf(const std::shared_ptr<ByteReader>& input, const PackedInfo& info, std::uint64_t size) {
  const std::uint32_t id_bytes = PackedIdBytes(info.encoding, info.tokenizer.vocab_size);
  std::string row((std::size_t{info.seq_len} + 1) * id_bytes, '\0');
  return [input, id_bytes, row, left = size]() mutable -> Result<std::optional<TfExample>> {
    if (left == 0) return std::optional<TfExample>();
    RETURN_IF_ERROR(ReadExactly(*input, row));
    left -= row.size();
    std::vector<std::uint32_t> ids;
    RETURN_IF_ERROR(ParseRawIds(row, id_bytes, ids));
    return std::optional(TfExample{{kPackedFeature, TfInt64List(ids.begin(), ids.end())}});
  };
}

}  // namespace

Result<std::vector<PackedIndexEntry>> ReadShardIndex(const CatObject& object) {
  if (!object.open_index) return std::vector<PackedIndexEntry>();
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, object.open_index());
  if (file->size() > kMaxIndexBytes) return Status(Code::kResourceExhausted, "larger than 1 GiB");
  std::string bytes(file->size(), '\0');
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, {}));
  if (!bytes.empty()) RETURN_IF_ERROR(ReadExactly(*reader, bytes));
  return ParsePackedIndex(bytes);
}

Result<NextExample> OpenExamples(const ByteFile& file, const CatObject& object) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
  if (object.rows && !HasExamples(object.rows->encoding))
    return RawRowsOf(std::move(input), *object.rows, file.size());
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*input, kArrayRecordFront));
  if (BeginsLikeArrayRecord(front)) {
    ASSIGN_OR_RETURN(std::unique_ptr<ArrayRecordReader> reader, ArrayRecordReader::Open(file, {}));
    return ArrayRecordsOf(std::move(reader));
  }
  ASSIGN_OR_RETURN(input, file.Open(0, {}));
  return TfRecordsOf(std::move(input));
}

}  // namespace pipeline
