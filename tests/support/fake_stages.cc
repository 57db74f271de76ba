#include "tests/support/fake_stages.h"

#include "base/str.h"
#include "dag/records/job_stage.h"
#include "dag/records/sink.h"
#include "dag/records/source.h"
#include "dag/records/transform.h"

namespace pipeline {

namespace {

template <class Stage>
std::function<Result<std::unique_ptr<Stage>>(const StageContext&)> Never() {
  return [](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    return Status(Code::kUnimplemented, StrCat("stage '", context.name, "' is a fake"));
  };
}

StageType Fetch() {
  StageType type;
  type.name = "fetch";
  type.help = "Fetches a file.";
  type.keys = {{"url", ValueType::kString, "", "Where the file is."},
               {"size", ValueType::kBytes, "~", "Its size, for forecasts.", Effect::kNone, "url"},
               {"pin", ValueType::kString, "~", "What it must be."}};
  type.takes = Flow::kNothing;
  type.gives = Flow::kFiles;
  type.kind = FileListKind{};
  return type;
}

StageType Lines() {
  StageType type;
  type.name = "lines";
  type.help = "Reads lines of text.";
  type.keys = {Choice("documents", "blank_line", {"blank_line", "line"}, "What ends a document."),
               {"partition", ValueType::kBytes, "64MiB", "Text per partition."}};
  type.takes = Flow::kFiles;
  type.check = [](const Json&, Schema& schema) -> Status {
    schema.columns = {{"text", ColumnType::kUtf8}};
    return {};
  };
  type.kind = SourceKind{.make = Never<SourceStage>()};
  return type;
}

StageType Map() {
  StageType type;
  type.name = "map";
  type.version = 3;
  type.help = "Changes the text.";
  type.keys = {Choice("form", "none", {"none", "nfc", "nfkc"}, "Which form."),
               {"strip", ValueType::kBoolean, "true", "Strips white space."},
               {"drop", ValueType::kStrings, "[]", "Lines that are dropped."},
               {"ratio", ValueType::kNumber, "0.5", "How much."},
               {"share", ValueType::kFractionRange, "~", "From where to where."}};
  type.reads = {"text"};
  type.libraries = {{"fake", "1.0"}};
  type.check = [](const Json& config, Schema&) -> Status {
    if (config["ratio"].AsDouble() <= 1) return {};
    return Status(Code::kInvalidArgument, "'ratio' must be at most 1");
  };
  type.kind = TransformKind{.make = Never<Transform>()};
  return type;
}

StageType Divide() {
  StageType type;
  type.name = "divide";
  type.help = "Divides documents among splits.";
  type.keys = {{"splits", ValueType::kSplits, "", "Names and fractions."}};
  type.reads = {"text"};
  type.check = [](const Json& config, Schema& schema) -> Status {
    schema.columns.insert_or_assign("split", ColumnType::kU8);
    schema.splits.clear();
    for (const Json& split : config["splits"].AsArray())
      schema.splits.emplace_back(split.AsArray()[0].AsString());
    return {};
  };
  type.kind = TransformKind{.make = Never<Transform>()};
  return type;
}

StageType Cut() {
  StageType type;
  type.name = "cut";
  type.help = "Finds the ends of words.";
  type.reads = {"text"};
  type.check = [](const Json&, Schema& schema) -> Status {
    schema.columns.insert_or_assign("cuts", ColumnType::kU32List);
    return {};
  };
  type.kind = TransformKind{.make = Never<Transform>()};
  return type;
}

StageType Publish() {
  StageType type;
  type.name = "publish";
  type.help = "Writes shards.";
  type.keys = {{"name", ValueType::kString, "", "Of the data set."},
               {"version", ValueType::kString, "1.0.0", "Of the data set."},
               {"shards", ValueType::kShards, "auto", "How many."},
               {"shuffle", ValueType::kShuffle, "{seed: 0}", "In which order."}};
  type.gives = Flow::kNothing;
  type.reads = {"text"};
  type.kind = SinkKind{
      .make = Never<SinkStage>(), .first_pass_keys = {"shuffle"}, .location = [](const Json& config) {
        return StrCat(config["name"].AsString(), "/", config["version"].AsString());
      }};
  return type;
}

StageType Learn() {
  StageType type;
  type.name = "learn";
  type.help = "Learns from words.";
  type.keys = {{"size", ValueType::kInteger, "", "How much is learnt."},
               {"steps", ValueType::kInteger, "100", "How long.", Effect::kContinue}};
  type.gives = Flow::kNothing;
  type.reads = {"cuts"};
  type.kind = JobKind{.make = Never<JobStage>()};
  return type;
}

StageType Study() {
  StageType type;
  type.name = "study";
  type.help = "Learns from text.";
  type.gives = Flow::kArtifact;
  type.reads = {"text"};
  type.kind = JobKind{.make = Never<JobStage>(), .out_optional = true};
  return type;
}

StageType Use() {
  StageType type;
  type.name = "use";
  type.help = "Uses what was learnt.";
  type.reads = {"text"};
  type.named_inputs = {{"model", true, true, "What was learnt."},
                       {"words", false, false, "A list of words."}};
  type.metrics = {{"use_rate", "How often.", [](const StageCounts&) { return 1.0; }}};
  type.kind = TransformKind{.make = Never<Transform>()};
  return type;
}

StageType Again() {
  StageType type;
  type.name = "again";
  type.help = "Uses the same once more.";
  type.reads = {"text"};
  type.named_inputs = {{"model", true, true, "What was learnt.", true}};
  type.kind = TransformKind{.make = Never<Transform>()};
  return type;
}

}  // namespace

const Registry& FakeRegistry() {
  static const Registry kRegistry(
      {Fetch(), Lines(), Map(), Divide(), Cut(), Publish(), Learn(), Study(), Use(), Again()});
  return kRegistry;
}

}  // namespace pipeline
