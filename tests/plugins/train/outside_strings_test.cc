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

std::string_view TextOr(const Json& json, std::string_view member, std::string_view otherwise) {
  return json.Has(member) ? json[member].AsString("null") : otherwise;
}

TEST(OutsideStringsOfTrainTest, StageAndCheckpoints) {
  OutsideStrings strings;
  const Result<Json> description = Json::Parse(Description());
  ASSERT_TRUE(description.ok());
  for (const Json& stage : (*description)["stages"].AsArray()) {
    const std::string name(stage["name"].AsString());
    strings.Add("type",
                StrCat(name, ", kind ", stage["kind"].AsString(), ", place ", stage["place"].AsString()));
    for (const Json& port : stage["ports"].AsArray())
      strings.Add(StrCat("named input of ", name), port["name"].AsString());
    for (const Json& key : stage["keys"].AsArray()) {
      strings.Add(StrCat("key of ", name),
                  StrCat(key["name"].AsString(), ", ", key["type"].AsString(), ", else ",
                         TextOr(key, "default", "required"), ", effect ", TextOr(key, "effect", "bytes")));
      for (const Json& choice : key["choices"].AsArray())
        strings.Add(StrCat("choice of ", key["name"].AsString()), choice.AsString());
    }
  }
  for (const Json& command : (*description)["commands"].AsArray()) {
    strings.Add("command", command["name"].AsString());
    for (const Json& below : command["commands"].AsArray())
      strings.Add(StrCat("command of ", command["name"].AsString()), below["name"].AsString());
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
