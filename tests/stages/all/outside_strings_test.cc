// Strings of pipeline files: types of stages, keys, choices, defaults, named inputs, metrics and reasons.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/str.h"
#include "dag/pipeline_file/file_keys.h"
#include "stages/all/builtin.h"
#include "stages/lines/partition_file.h"

namespace pipeline {
namespace {

std::string_view NameOf(ValueType type) {
  constexpr std::array<std::string_view, 13> kNames = {
      "string", "integer", "number", "boolean", "bytes", "choice",         "strings",
      "splits", "range",   "shards", "shuffle", "map",   "integer or auto"};
  return kNames.at(static_cast<std::size_t>(type));
}
std::string_view NameOf(Effect effect) {
  return effect == Effect::kBytes ? "in the recipe" : effect == Effect::kNone ? "in no key" : "continues";
}
std::string_view NameOf(Flow flow) {
  return flow == Flow::kFiles     ? "files"
         : flow == Flow::kRecords ? "records"
         : flow == Flow::kNothing ? "nothing"
                                  : "an artifact";
}
std::string_view NameOf(Reason::Of of) {
  return of == Reason::Of::kRecords     ? "records"
         : of == Reason::Of::kLookedAt  ? "records looked at"
         : of == Reason::Of::kDocuments ? "documents"
                                        : "other things";
}
std::string_view NameOf(Reason::Fate fate) {
  return fate == Reason::Fate::kStays ? "stay" : fate == Reason::Fate::kDropped ? "dropped" : "not meant";
}

void AddKeys(OutsideStrings& strings, std::string_view owner, const std::vector<ConfigKey>& keys) {
  for (const ConfigKey& key : keys) {
    const std::string fallback = key.fallback.empty() ? "required" : StrCat("else ", key.fallback);
    strings.Add(StrCat("key of ", owner),
                StrCat(key.name, ", ", NameOf(key.type), ", ", fallback, ", ", NameOf(key.effect)));
    for (const std::string_view choice : key.choices)
      strings.Add(StrCat("choice of ", owner, ".", key.name), choice);
  }
}

TEST(OutsideStringsOfStagesTest, PipelineFile) {
  OutsideStrings strings;
  strings.Add("version", StrCat(kFileVersion));
  for (const FileKey& key : kFileKeys) strings.Add("key of the file", key.name);
  AddKeys(strings, "limits", LimitKeys());
  AddKeys(strings, "every stage", StageKeys());
  strings.Add("key of every stage", kInputsKey.name).Add("key of every stage", kExpectKey.name);
  strings.Add("key of expect", kReasonsKey.name).Add("metric of every stage", kDroppedMetric.name);
  for (const FileKey& metric : kMetrics) strings.Add("metric of every stage", metric.name);
  EXPECT_TRUE(ArePinned(strings, "pipeline_file"));
}

TEST(OutsideStringsOfStagesTest, Types) {
  const Registry registry = BuiltinStages();
  OutsideStrings strings;
  for (const StageType& type : registry.types()) {
    strings.Add("type", StrCat(type.name, " makes ", NameOf(type.gives), " of ", NameOf(type.takes)));
    AddKeys(strings, type.name, type.keys);
    for (const std::string_view column : type.reads) strings.Add(StrCat("column for ", type.name), column);
    for (const NamedInput& input : type.named_inputs)
      strings.Add(StrCat("named input of ", type.name), input.name);
    if (const SinkKind* sink = type.sink())
      for (const std::string_view key : sink->first_pass_keys)
        strings.Add(StrCat("key of the first pass of ", type.name), key);
    for (const auto& [library, version] : type.libraries)
      strings.Add(StrCat("library of ", type.name), library);
    for (const Metric& metric : type.metrics) strings.Add(StrCat("metric of ", type.name), metric.name);
  }
  EXPECT_TRUE(ArePinned(strings, "stages"));
}

TEST(OutsideStringsOfStagesTest, Columns) {
  OutsideStrings strings;
  const auto add = [&strings](std::string_view column, ColumnType type) {
    Schema schema;
    schema.columns.emplace(column, type);
    const auto sink = PartitionFileFormat().NewSink(schema);
    EXPECT_TRUE(sink.ok()) << column << ": " << sink.status().message();
    strings.Add("column", column);
  };
  add("text", ColumnType::kUtf8);
  add("label", ColumnType::kUtf8);
  for (const std::string_view column : {"fields", "cuts", "ids", "id_ends"})
    add(column, ColumnType::kU32List);
  add("split", ColumnType::kU8);
  EXPECT_TRUE(ArePinned(strings, "columns"));
}

TEST(OutsideStringsOfStagesTest, Reasons) {
  const Registry registry = BuiltinStages();
  OutsideStrings strings;
  for (const StageType& type : registry.types())
    for (const Reason& reason : type.reasons)
      strings.Add(StrCat("reason of ", type.name),
                  StrCat(reason.name, " counts ", NameOf(reason.of), ", ", NameOf(reason.fate)));
  EXPECT_TRUE(ArePinned(strings, "reasons"));
}

}  // namespace
}  // namespace pipeline
