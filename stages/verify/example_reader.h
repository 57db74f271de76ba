// Reads shards of tf.Examples, which several export formats share: formats/tfrecord.md or
// formats/array_record.md with formats/tf_example.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/json.h"
#include "base/result.h"
#include "formats/tf_example.h"
#include "stages/verify/export_reader.h"

namespace pipeline {

/// The facts of an example made of ids, as a trainer sees the example.
struct SeenIds {
  std::uint64_t ids = 0;
  std::uint64_t characters = 0, bytes = 0;  // of their text; 0: not known
};

/// How the tf.Examples of a format are printed (formats/tf_example.md): the base class prints any tf.Example.
/// The view of one shard. `index` is the number of a record in it, from 0. One thread at a time.
class ExampleView {
 public:
  virtual ~ExampleView() = default;
  /// The example as text for people: its text, if it has nothing else. Absent: it is shown as JSON.
  virtual std::optional<std::string> LineOf(std::uint64_t index, const TfExample& example) const;
  /// Adds members that are known from elsewhere to the record.
  virtual void AddMembers(std::uint64_t, Json&) const {}
  /// The ids of an example without text: all of its longest list. Absent: it has none.
  virtual std::optional<SeenIds> IdsOf(std::uint64_t index, const TfExample& example) const;
};

/// The numbers of a feature; null: there is no such feature, or it has no numbers.
const TfInt64List* NumbersOf(const TfExample& example, std::string_view feature);

/// True if `front`, the first bytes of a file, or else its name is that of such a shard.
bool IsExampleFile(std::string_view front, std::string_view name);

/// Fills in split and number, if unknown, from names such as DATASET-SPLIT.tfrecord-NNNNN-of-NNNNN and
/// SPLIT-NNNNN-of-NNNNN with one of these suffixes.
ShardFile WithNumbersOfName(ShardFile shard, std::span<const std::string_view> suffixes);

/// Returns the next record as an example, which is valid until the next call; absent: the end.
using NextExample = std::function<Result<std::optional<TfExample>>()>;

/// Opens a TFRecord or ArrayRecord file, which must outlive the result.
Result<NextExample> OpenExamples(const ByteFile& file);

/// Members of a JSON object that tell where a record comes from.
using RecordOrigin = std::function<Json()>;

void PrintExample(const TfExample& example, std::uint64_t index, const ExampleView& view,
                  const RecordOrigin& origin, RecordOutput& output);

// ExportReader::Print and Count for the records that `next` gives. Members of the JSON objects: split and
// shard, if known, index, features {name: value}, and those that the view adds.
Status PrintExamples(const ShardFile& shard, const NextExample& next, const ExampleView& view,
                     RecordOutput& output);
Status CountExamples(const NextExample& next, const ExampleView& view, RecordStatistics& statistics);

/// A reader for formats that need nothing but their examples.
class ExampleReader final : public ExportReader {
 public:
  explicit ExampleReader(std::unique_ptr<const ExampleView> view = std::make_unique<ExampleView>())
      : view_(std::move(view)) {}
  Status Print(const ShardFile& shard, RecordOutput& output) const override;
  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override;

 private:
  const std::unique_ptr<const ExampleView> view_;
};

}  // namespace pipeline
