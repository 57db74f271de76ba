// Strings of the plugin `train`: the keys of its stage, and the marker of a checkpoint in a bucket.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/str.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/description.h"
#include "plugins/train/rows/row_checksums.h"
#include "tests/plugins/train/rows/packed_rows.h"

namespace pipeline {
namespace {

std::string_view WordOf(ValueType type) {
  switch (type) {
    case ValueType::kString: return "string";
    case ValueType::kInteger: return "integer";
    case ValueType::kNumber: return "number";
    case ValueType::kBoolean: return "boolean";
    case ValueType::kBytes: return "bytes";
    case ValueType::kChoice: return "choice";
    case ValueType::kStrings: return "strings";
    case ValueType::kMap: return "map";
    default: return "unknown";
  }
}

std::string_view WordOf(Effect effect) {
  return effect == Effect::kBytes ? "bytes" : effect == Effect::kNone ? "none" : "continue";
}

TEST(OutsideStringsOfTrainTest, StageAndCheckpoints) {
  OutsideStrings strings;
  const std::unique_ptr<const PluginDescription> description = Description();
  for (const StageType& stage : description->stages) {
    const std::string name(stage.name.substr(stage.name.find('.') + 1));
    ASSERT_NE(stage.job(), nullptr);
    strings.Add("type",
                StrCat(name, ", kind job, place ", stage.job()->location_of_recipe ? "recipe" : "out"));
    for (const NamedInput& named_input : stage.named_inputs)
      strings.Add(StrCat("named input of ", name), std::string(named_input.name));
    for (const ConfigKey& key : stage.keys) {
      const std::string_view fallback = key.fallback.empty()  ? "required"
                                        : key.fallback == "~" ? "null"
                                                              : key.fallback;
      strings.Add(StrCat("key of ", name), StrCat(key.name, ", ", WordOf(key.type), ", else ", fallback,
                                                  ", effect ", WordOf(key.effect)));
      for (const std::string_view choice : key.choices)
        strings.Add(StrCat("choice of ", key.name), std::string(choice));
    }
  }
  for (const CommandEntry& command : description->commands) {
    strings.Add("command", command.name);
    for (const CommandEntry& below : command.commands)
      strings.Add(StrCat("command of ", command.name), below.name);
  }

  // A struct with a further member stops the build here; set the member then, and bind it.
  const FileFacts file{"<name>", 1, 2};
  Json best;
  best["<member>"] = 1;
  CheckpointMarker marker{7, {file}, 0, {}, best, {std::string(kBest)}};
  [[maybe_unused]] const auto& [file_name, bytes, crc32c] = file;
  [[maybe_unused]] const auto& [step, files, attempt, parts, its_best, pinned] = marker;
  strings.AddMembers("member of a checkpoint's marker", marker.ToJson());
  strings.Add("version of the marker", marker.ToJson()["pipe_checkpoint"].Dump());
  strings.Add("object", marker.Name().Marker());
  const PartRecord record{7, 6, 2, {1, {file}}};
  strings.Add("object", PartRecord::Name(7, 6, 1));
  const Result<Json> record_json = Json::Parse(record.Encode());
  ASSERT_TRUE(record_json.ok());
  strings.AddMembers("member of a part record", *record_json);
  marker.files.clear();
  marker.parts = {record.part};
  strings.AddMembers("member of a marker of parts", marker.ToJson());
  strings.AddMembers("member of a part", marker.ToJson()["parts"].AsArray().front());
  const Result<Json> checksums = Json::Parse(PackedRows({1}).Checksums("<data>"));
  ASSERT_TRUE(checksums.ok());
  strings.AddMembers("member of the checksums of rows", *checksums);
  strings.Add("object", RowChecksumsName("<data>"));
  for (const std::string_view pin : kPins) strings.Add("name of a pin", pin);
  EXPECT_TRUE(ArePinned(strings, "train"));
}

}  // namespace
}  // namespace pipeline
