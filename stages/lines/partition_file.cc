#include "stages/lines/partition_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/records/partition_output.h"
#include "formats/partition_file.h"
#include "stages/shards/measured_writer.h"

namespace pipeline {

namespace {

constexpr std::string_view kSuffix = ".part";

/// A column that a schema can name, and its member of a Batch; none: batch.split.
struct KnownColumn {
  std::string_view name;
  ColumnType type;
  PartitionColumnType file;
  BytesColumn Batch::*bytes = nullptr;
  U32ListColumn Batch::*numbers = nullptr;
};
constexpr std::array<KnownColumn, 7> kKnownColumns = {{
    {"text", ColumnType::kUtf8, PartitionColumnType::kUtf8, &Batch::text},
    {"label", ColumnType::kUtf8, PartitionColumnType::kUtf8, &Batch::label},
    {"fields", ColumnType::kU32List, PartitionColumnType::kU32List, nullptr, &Batch::fields},
    {"cuts", ColumnType::kU32List, PartitionColumnType::kU32List, nullptr, &Batch::cuts},
    {"ids", ColumnType::kU32List, PartitionColumnType::kU32List, nullptr, &Batch::ids},
    {"id_ends", ColumnType::kU32List, PartitionColumnType::kU32List, nullptr, &Batch::id_ends},
    {"split", ColumnType::kU8, PartitionColumnType::kU8},
}};

struct Columns {
  PartitionColumns file;
  std::vector<KnownColumn> batch;  // parallel
};

Result<Columns> ColumnsOf(const Schema& schema) {
  Columns columns;
  for (const auto& entry : schema.columns) {  // clang 14 lets no lambda take a structured binding
    const auto known = std::find_if(
        kKnownColumns.begin(), kKnownColumns.end(),
        [&](const KnownColumn& column) { return column.name == entry.first && column.type == entry.second; });
    if (known == kKnownColumns.end())
      return Status(Code::kInternal,
                    StrCat("partition file: batches have no column '", entry.first, "' of this type"));
    columns.file.push_back({entry.first, known->file});
    columns.batch.push_back(*known);
  }
  return columns;
}

/// Views a batch as the rows of a partition file. The views point into the batch and this object. Reused.
class BatchRows {
 public:
  RowsView Of(const Batch& batch, const Columns& columns) {
    heads_.clear();
    for (const RecordHead& head : batch.heads)
      heads_.push_back({head.index, head.sub, head.document, head.key});
    views_.clear();
    for (const KnownColumn& column : columns.batch) {
      if (column.bytes)
        views_.push_back({(batch.*column.bytes).joined(), {}, (batch.*column.bytes).ends(), {}});
      else if (column.numbers)
        views_.push_back({{}, (batch.*column.numbers).joined(), (batch.*column.numbers).ends(), {}});
      else
        views_.push_back({{}, {}, {}, batch.split});
    }
    return {heads_, views_};
  }

 private:
  std::vector<PartitionHead> heads_;
  std::vector<ColumnView> views_;
};

Status CheckColumns(const Batch& batch, const Columns& columns) {
  for (const KnownColumn& column : columns.batch) {
    const std::size_t rows = column.bytes     ? (batch.*column.bytes).size()
                             : column.numbers ? (batch.*column.numbers).size()
                                              : batch.split.size();
    if (rows != batch.size())
      return Status(Code::kInternal, StrCat("partition file: a column has ", rows, " rows in a batch of ",
                                            batch.size(), " records"));
  }
  return {};
}

class FrameWorker : public Worker {
 public:
  explicit FrameWorker(const Columns& columns) : columns_(columns), encoder_(columns.file) {}

  /// Counts nothing, because it is no stage of the pipeline file; the last stage has counted these records.
  Status Apply(Batch& batch, std::uint32_t, StageCounts&) override {
    RETURN_IF_ERROR(CheckColumns(batch, columns_));
    batch.payload.Clear();
    if (batch.size() == 0) return {};
    // The payload has bytes and no rows, because frames belong to the batch, not to one of its records.
    return encoder_.Encode(rows_.Of(batch, columns_), batch.payload.open_row());
  }

 private:
  const Columns& columns_;
  PartitionFrameEncoder encoder_;
  BatchRows rows_;
};

class FrameTransform : public Transform {
 public:
  explicit FrameTransform(const Columns& columns) : columns_(columns) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<FrameWorker>(columns_);
  }

 private:
  const Columns& columns_;
};

class PartitionFileSink : public Sink {
 public:
  PartitionFileSink(const Columns& columns, PartitionId id, std::unique_ptr<MeasuredWriter> writer)
      : columns_(columns),
        id_(id),
        writer_(std::move(writer)),
        file_(columns.file, [this](std::string_view bytes) { return writer_->Append(bytes); }) {}

  Status Write(const Batch& batch) override {
    return file_.Append(batch.payload.joined(), rows_.Of(batch, columns_));
  }

  Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token) override {
    RETURN_IF_ERROR(file_.Finish({id_.input, id_.partition, end.raw_end, end.document_end}));
    CommittedPartition output;
    output.digest = file_.digest();
    ASSIGN_OR_RETURN(StoredObject object, writer_->Commit({}));
    output.objects.push_back(std::move(object));
    return output;
  }

 private:
  const Columns& columns_;
  const PartitionId id_;
  std::unique_ptr<MeasuredWriter> writer_;
  PartitionFileWriter file_;
  BatchRows rows_;
};

class PartitionFileStage : public SinkStage {
 public:
  explicit PartitionFileStage(Columns columns) : columns_(std::move(columns)), encoder_(columns_) {}

  const Transform* encoder() const override { return &encoder_; }
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<MeasuredWriter> writer,
                     MeasuredWriter::Create(artifact, OutputName(id, kSuffix), Condition::ReplaceAny()));
    return std::make_unique<PartitionFileSink>(columns_, id, std::move(writer));
  }
  /// Frames are written at once.
  std::uint64_t partition_memory(std::uint64_t) const override { return 1 << 20; }

 private:
  const Columns columns_;
  const FrameTransform encoder_;
};

class PartitionFileSource : public Source {
 public:
  PartitionFileSource(std::unique_ptr<PartitionFileReader> reader, PartitionId id, Columns columns,
                      std::size_t batch_bytes)
      : reader_(std::move(reader)), id_(id), columns_(std::move(columns)), batch_bytes_(batch_bytes) {}

  Result<bool> Next(Batch& batch) override {
    if (closed_) return false;
    batch.partition = id_;
    while (true) {
      while (row_ < rows_.heads.size() && Fits(batch)) Take(batch);
      if (row_ < rows_.heads.size()) break;
      // Reads ahead even if the batch is full: the last batch must close the partition, and the digest must
      // be checked before.
      Result<bool> more = reader_->Next(rows_);
      if (!more.ok()) return OutputError(OutputName(id_, kSuffix), std::move(more).status());
      row_ = 0;
      if (*more) continue;
      batch.closes = closed_ = true;
      batch.end = {reader_->facts().raw_end, reader_->facts().document_end};
      break;
    }
    StageCounts& counts = batch.counts[0];
    counts.records_in = counts.records_out = batch.size();
    counts.bytes_in = counts.bytes_out = batch.text.bytes();
    return true;
  }

  std::optional<InputEnd> End() const override { return std::nullopt; }

 private:
  bool Fits(const Batch& batch) const {
    std::size_t bytes = batch.text.bytes() + batch.size();  // records without text count, too
    for (std::size_t i = 0; i < columns_.batch.size(); ++i)
      if (columns_.batch[i].bytes == &Batch::text) bytes += RowOf(i).second - RowOf(i).first;
    return batch.size() == 0 || bytes < batch_bytes_;
  }

  /// Returns the range of the row in the bytes or numbers of a column.
  std::pair<std::size_t, std::size_t> RowOf(std::size_t column) const {
    const std::vector<std::uint32_t>& ends = rows_.columns[column].ends;
    return {row_ == 0 ? 0 : ends[row_ - 1], ends[row_]};
  }

  void Take(Batch& batch) {
    const PartitionHead& head = rows_.heads[row_];
    batch.heads.push_back({head.index, head.sub, head.document, head.key});
    for (std::size_t i = 0; i < columns_.batch.size(); ++i) {
      const PartitionRows::Column& column = rows_.columns[i];
      const KnownColumn& of_batch = columns_.batch[i];
      const auto [begin, end] =
          of_batch.bytes || of_batch.numbers ? RowOf(i) : std::pair<std::size_t, std::size_t>();
      if (of_batch.bytes)
        (batch.*of_batch.bytes).Append(std::string_view(column.bytes).substr(begin, end - begin));
      else if (of_batch.numbers)
        (batch.*of_batch.numbers).Append(std::span(column.numbers).subspan(begin, end - begin));
      else
        batch.split.push_back(column.values[row_]);
    }
    ++row_;
  }

  std::unique_ptr<PartitionFileReader> reader_;
  const PartitionId id_;
  const Columns columns_;
  const std::size_t batch_bytes_;
  PartitionRows rows_;
  std::size_t row_ = 0;
  bool closed_ = false;
};

}  // namespace

Result<std::unique_ptr<Source>> OpenPartitionFile(std::shared_ptr<const ByteFile> file, PartitionId id,
                                                  const Schema& schema, std::size_t batch_bytes,
                                                  std::stop_token stop, const Digest& expected) {
  const std::string name = OutputName(id, kSuffix);
  ASSIGN_OR_RETURN(Columns columns, ColumnsOf(schema));
  Result<std::unique_ptr<PartitionFileReader>> opened =
      PartitionFileReader::Open(std::move(file), std::move(stop));
  if (!opened.ok()) return OutputError(name, std::move(opened).status());
  std::unique_ptr<PartitionFileReader> reader = std::move(opened).value();
  const auto another = [&name](std::string_view what) {
    return OutputError(name,
                       Status(Code::kDataLoss, StrCat("has another ", what, " than its log line says")));
  };
  if (reader->facts().input != id.input || reader->facts().partition != id.partition)
    return another("partition");
  if (reader->columns() != columns.file) return another("schema");
  if (reader->digest() != expected) return another("digest");
  return std::make_unique<PartitionFileSource>(std::move(reader), id, std::move(columns), batch_bytes);
}

Result<std::unique_ptr<SinkStage>> PartitionFileFormat::NewSink(const Schema& schema) const {
  ASSIGN_OR_RETURN(Columns columns, ColumnsOf(schema));
  return std::make_unique<PartitionFileStage>(std::move(columns));
}

Result<std::unique_ptr<Source>> PartitionFileFormat::Open(Store& artifact, const PartitionOutput& output,
                                                          const Schema& schema, std::size_t batch_bytes,
                                                          std::stop_token stop) const {
  const std::string name = OutputName(output.id, kSuffix);
  Result<std::unique_ptr<ByteFile>> opened = artifact.Open(name);
  if (!opened.ok()) return OutputError(name, std::move(opened).status());
  std::shared_ptr<const ByteFile> file = std::move(opened).value();
  for (const StoredObject& object : output.committed.objects)
    if (object.name == name && object.bytes != file->size())
      return OutputError(name, Status(Code::kDataLoss, StrCat("has ", file->size(), " bytes where ",
                                                              object.bytes, " were written")));
  return OpenPartitionFile(std::move(file), output.id, schema, batch_bytes, std::move(stop),
                           output.committed.digest);
}

}  // namespace pipeline
