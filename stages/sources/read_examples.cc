#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/pipeline_file/reading_rules.h"
#include "dag/records/transform.h"
#include "formats/wiki40b.h"
#include "stages/lines/labels.h"
#include "stages/sources/example_source.h"
#include "stages/sources/file_splits.h"
#include "stages/sources/input_keys.h"
#include "stages/sources/row_text.h"
#include "stages/sources/source_stages.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class Wiki40bWorker final : public Worker {
 public:
  Wiki40bWorker(bool titles, std::unique_ptr<Worker> text) : titles_(titles), text_(std::move(text)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    lines_.Clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::string& out = lines_.open_row();
      const std::size_t begin = out.size();
      AppendWiki40bLines(batch.text[row], titles_, out);
      if (out.size() > begin) {
        lines_.CloseRow();
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      const RecordHead& head = batch.heads[row];
      counts.Add("dropped_empty_text");
      batch.quarantine.push_back(
          {stage, head.index, head.sub, "dropped_empty_text", std::string(batch.text[row])});
    }
    if (kept_.size() < batch.size()) batch.KeepBesideText(kept_);
    batch.text.Swap(lines_);
    return text_->Apply(batch, stage, counts);
  }

 private:
  const bool titles_;
  const std::unique_ptr<Worker> text_;
  BytesColumn lines_;
  std::vector<std::uint32_t> kept_;
};

/// Takes articles of wiki40b, each with `sub` 0, and gives records of valid UTF-8.
class Wiki40bText : public Transform {
 public:
  Wiki40bText(bool titles, RowTextRules rules) : titles_(titles), text_(std::move(rules)) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Worker> text, text_.NewWorker());
    return std::make_unique<Wiki40bWorker>(titles_, std::move(text));
  }

 private:
  const bool titles_;
  const RowText text_;
};

/// The reasons which show that the file has another form than expected.
constexpr std::array<std::string_view, 4> kExampleFaults = {"dropped_example", "dropped_no_field",
                                                            "dropped_wrong_type", "dropped_unknown_label"};

class ReadExamples : public SourceStage {
 public:
  ReadExamples(ExampleRules rules, std::unique_ptr<const Transform> text, std::vector<FaultBound> bounds)
      : rules_(std::move(rules)), text_(std::move(text)), bounds_(std::move(bounds)) {}

  Result<std::unique_ptr<Source>> Open(SourceRequest request) const override {
    return OpenExampleSource(std::move(request), rules_);
  }
  const Transform* repair() const override { return text_.get(); }
  std::vector<FaultBound> bounds() const override { return bounds_; }
  std::vector<NeededColumn> needed() const override {
    return NeededColumns(rules_, "feature", "record", kExampleFaults, AbsentFeatureAdvice);
  }

 private:
  const ExampleRules rules_;
  const std::unique_ptr<const Transform> text_;
  const std::vector<FaultBound> bounds_;
};

bool HasMarkers(const Json& config) { return config["markers"].AsString() == "wiki40b"; }

Status CheckReadExamples(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckCutKeys(config));
  RETURN_IF_ERROR(CheckMaxBadRows(config));
  RETURN_IF_ERROR(SubsetOf(config).status());
  std::set<std::string_view> seen;
  for (const Json& feature : config["text"].AsArray())
    if (!seen.insert(feature.AsString()).second)
      return Status(Code::kInvalidArgument, StrCat("text: '", feature.AsString(), "' comes twice"));
  if (seen.empty()) return Status(Code::kInvalidArgument, "text: an empty list; name at least one feature");
  if (HasLabels(config) && !config.Has("label"))
    return Status(Code::kInvalidArgument,
                  "labels: name the feature that has their numbers, e.g. `label: label`");
  if (config.Has("titles") && !HasMarkers(config))
    return Status(Code::kInvalidArgument,
                  "titles: texts without markers have none; leave it out, or set markers: wiki40b");
  if (HasMarkers(config) && AreFields(config))
    return Status(Code::kInvalidArgument,
                  "columns: the marks of wiki40b stand in one text of lines; leave one of the two keys out");
  RETURN_IF_ERROR(CheckLabelKeys(config));
  schema.columns["text"] = ColumnType::kUtf8;
  if (config.Has("label")) schema.columns["label"] = ColumnType::kUtf8;
  if (AreFields(config)) {
    schema.columns["fields"] = ColumnType::kU32List;
    for (const Json& feature : config["text"].AsArray()) schema.field_names.emplace_back(feature.AsString());
  }
  return CheckFileSplits(config, schema);
}

Result<std::unique_ptr<SourceStage>> MakeReadExamples(const StageContext& context) {
  const Json& config = context.config;
  ExampleRules rules;
  for (const Json& feature : config["text"].AsArray()) rules.text.emplace_back(feature.AsString());
  rules.label = config["label"].AsString();
  rules.fields = AreFields(config);
  ASSIGN_OR_RETURN(rules.labels, LabelNames(config));
  rules.fail = config["on_bad_row"].AsString() == "fail";
  rules.may_lack = rules.space_is_blank = ReadingRulesOf(config) >= 2;
  ASSIGN_OR_RETURN(rules.subset, SubsetOf(config));
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  rules.max_record_bytes = static_cast<std::uint64_t>(config["max_record_bytes"].AsInt());
  RowTextRules text{rules};
  text.invalid = InvalidUtf8Of(config);
  const std::string first_text = rules.text.front();
  std::unique_ptr<const Transform> repair;
  if (HasMarkers(config))
    repair = std::make_unique<Wiki40bText>(config["titles"].AsBool(), std::move(text));
  else
    repair = std::make_unique<RowText>(std::move(text));
  return WithFileSplits(config, std::make_unique<ReadExamples>(
                                    std::move(rules), std::move(repair),
                                    std::vector<FaultBound>{
                                        BadRowsBound(config, {kExampleFaults.begin(), kExampleFaults.end()}),
                                        NoTextBound(config, [name = first_text](std::string_view sample) {
                                          return AbsentFeatureAdvice(sample, name);
                                        })}));
}

}  // namespace

StageType ReadExamplesType() {
  StageType type;
  type.name = "read_examples";
  type.help =
      "Reads TFRecord files of tf.train.Example, such as the shards of a TFDS data set: a record is a "
      "document.";
  type.takes = Flow::kFiles;
  type.gives = Flow::kRecords;
  type.keys = {
      {"text", ValueType::kStrings, "[text]",
       "The feature that becomes the text, or several that become lines of it."},
      Choice("columns", "lines", {"lines", "fields"},
             "Several features of text become lines of a document, or fields of one record."),
      {"label", ValueType::kString, "~",
       "The feature that becomes the label, bytes or an integer; line ends in the text are then spaces."},
  };
  for (ConfigKey& key : LabelKeys("Names of the integers of `label`, in order, from 0 on."))
    type.keys.push_back(std::move(key));
  const std::vector<ConfigKey> keys = {
      Choice(
          "markers", "none", {"none", "wiki40b"},
          "Marks in the text that tell the kinds of its lines; with wiki40b the lines of paragraphs remain."),
      {"titles", ValueType::kBoolean, "~",
       "With markers, whether titles of articles and sections are lines, too; by default they are left out."},
      Choice("on_bad_row", "quarantine", {"quarantine", "fail"},
             "Treatment of a record that is not as it should be: set aside and counted, or a failure."),
      SubsetKey(),
      TextRulesKey(),
      {"partition", ValueType::kBytes, "64MiB",
       "Bytes of the file after which a partition closes, at the next end of a record."},
      {"max_record_bytes", ValueType::kBytes, "8MiB",
       "The longest record that is read; a longer one is a failure."},
      Choice(
          "invalid_utf8", "replace", {"replace", "quarantine", "fail"},
          "Treatment of a record with invalid UTF-8 or NUL: repaired with U+FFFD, set aside, or a failure."),
  };
  type.keys.insert(type.keys.end(), keys.begin(), keys.end());
  type.keys.push_back(MaxBadRowsKey());
  type.keys.push_back(FileSplitsKey());
  type.newest_rules = "keep examples that lack a feature of several";
  type.reasons = {
      Drop("dropped_example", "A record that is no tf.train.Example."),
      Drop("dropped_no_field", "An example without the text or the label."),
      Drop("dropped_wrong_type", "An example whose text or label is something else."),
      Drop("dropped_unknown_label", "An example whose label has no name."),
  };
  for (Reason& reason : RowTextReasons()) type.reasons.push_back(std::move(reason));
  type.reasons.push_back({"outside_subset", "It was read and is not in the `subset`.", Reason::Of::kRecords,
                          Reason::Fate::kNotMeant});
  type.reasons.push_back(Tally("split_*", "Files of the split of that name."));
  type.check = CheckReadExamples;
  type.prepare = [](const Json& config) { return LabelNames(config).status(); };
  type.files = LabelFiles;
  type.kind = SourceKind{
      .make = MakeReadExamples, .check_inputs = CheckInputSplits, .taken_from_names = SplitsOfFiles};
  return type;
}

}  // namespace pipeline
