#include <gtest/gtest.h>

#include "plugins/train/checkpoint_marker.h"

namespace pipeline {
namespace {

CheckpointPart PartOf(int host, std::vector<std::string> names) {
  CheckpointPart part{host, {}};
  for (std::string& name : names) part.files.push_back({std::move(name), 3, 0x1234});
  return part;
}

CheckpointMarker TwoParts() {
  CheckpointMarker marker;
  marker.step = 20;
  marker.attempt = 6;
  marker.parts = {PartOf(0, {"facts/metadata", "state/a/0"}), PartOf(1, {"state/a/1"})};
  return marker;
}

Code CodeOfMarker(const Json& json) { return ReadCheckpointMarker(json, "m").status().code(); }

TEST(CheckpointPartTest, AMarkerOfPartsIsReadAsItWasWritten) {
  CheckpointMarker marker = TwoParts();
  marker.pinned = {"best"};
  marker.best = Json(Json::Object{{"loss", 2.5}});
  const Result<CheckpointMarker> read = ParseCheckpointMarker(marker.Encode(), "m");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->parts, marker.parts);
  EXPECT_EQ(read->attempt, 6);
  EXPECT_EQ(read->pinned, marker.pinned);
  EXPECT_EQ(read->Name(), marker.Name());
  EXPECT_EQ(read->AllFiles().size(), 3u);
  EXPECT_EQ(read->Folders()[1].path, "20/" + marker.parts[1].Digest());
}

TEST(CheckpointPartTest, AMarkerOfASingleHostHasTheBytesOfEarlierVersions) {
  CheckpointMarker marker;
  marker.step = 20;
  marker.files = PartOf(0, {"facts/metadata"}).files;
  EXPECT_EQ(
      marker.ToJson().Dump(),
      R"({"files":[{"bytes":3,"crc32c":"00001234","name":"facts/metadata"}],"pipe_checkpoint":1,"step":20})");
  EXPECT_EQ(marker.Name().id, marker.Folders()[0].path.substr(3));
  EXPECT_EQ(marker.Name().id, DigestOfFiles(marker.files));
}

TEST(CheckpointPartTest, AMarkerThatLacksAPartOrHasAFileTwiceIsDamaged) {
  const Json whole = TwoParts().ToJson();
  ASSERT_EQ(CodeOfMarker(whole), Code::kOk);
  Json json = whole;
  json["hosts"] = 3;
  EXPECT_EQ(CodeOfMarker(json), Code::kDataLoss) << "a part is missing";
  CheckpointMarker twice = TwoParts();
  twice.parts[1] = PartOf(1, {"state/a/0"});
  EXPECT_EQ(CodeOfMarker(twice.ToJson()), Code::kDataLoss) << "two hosts have one file";
  CheckpointMarker order = TwoParts();
  std::swap(order.parts[0], order.parts[1]);
  EXPECT_EQ(CodeOfMarker(order.ToJson()), Code::kDataLoss);
  CheckpointMarker unnumbered = TwoParts();
  unnumbered.attempt = 0;
  EXPECT_EQ(CodeOfMarker(unnumbered.ToJson()), Code::kDataLoss);
  std::string text = TwoParts().Encode();
  text.replace(text.find("state/a/1"), 9, "state/a/2");
  EXPECT_EQ(ParseCheckpointMarker(text, "m").status().code(), Code::kDataLoss) << "not the digest's files";
}

TEST(CheckpointPartTest, ARecordIsReadAsItWasWritten) {
  PartRecord record{1500, 6, 4, PartOf(2, {"state/a/2"})};
  const Result<PartRecord> read = ParsePartRecord(record.Encode(), "r");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, record);
  record.part.files.clear();  // another host has all of its chunks
  EXPECT_TRUE(ParsePartRecord(record.Encode(), "r").ok());
  record.part.host = 4;
  EXPECT_EQ(ParsePartRecord(record.Encode(), "r").status().code(), Code::kDataLoss);
  EXPECT_EQ(ParsePartRecord("{}", "r").status().code(), Code::kDataLoss);
}

TEST(CheckpointPartTest, TheNameOfARecordTellsItsStep) {
  EXPECT_EQ(PartRecord::Name(1500, 6, 2), "1500/00006-2.json");
  EXPECT_EQ(StepOfPartRecord("1500/00006-2.json"), 1500);
  EXPECT_EQ(StepOfPartRecord(PartRecord::Name(7, 123456, 4095)), 7);
  for (const char* name : {"1500/6-2.json", "1500/00006-.json", "x/00006-2.json", "1500/00006-2",
                           "00006-2.json", "1500/0123456789abcdef.json", "1500/00006-2/x.json"})
    EXPECT_EQ(StepOfPartRecord(name), std::nullopt) << name;
  EXPECT_FALSE(ParseCheckpointObject("1500/00006-2.json")) << "no object of a checkpoint";
}

TEST(CheckpointPartTest, AListOnTheOwnDiskTellsWhatTheHostMaySend) {
  Json json = TwoParts().ToJson();
  EXPECT_EQ(ParseLocalPart(json, "l").status().code(), Code::kDataLoss) << "a marker";
  json = Json();
  json["pipe_checkpoint"] = 2;
  json["step"] = 20;
  json["unfinished"] = true;
  auto local = ParseLocalPart(json, "l");
  ASSERT_TRUE(local.ok() && *local);
  EXPECT_TRUE((*local)->unfinished);
  json.Remove("unfinished");
  EXPECT_EQ(ParseLocalPart(json, "l").status().code(), Code::kDataLoss);
  json["attempt"] = 6;
  json["host"] = 1;
  json["hosts"] = 2;
  json["files"] = FilesToJson(PartOf(1, {"state/a/1"}).files);
  json["fetched"] = true;
  local = ParseLocalPart(json, "l");
  ASSERT_TRUE(local.ok() && *local) << local.status().message();
  EXPECT_TRUE((*local)->fetched);
  EXPECT_EQ((*local)->part, PartOf(1, {"state/a/1"}));
  json["pipe_checkpoint"] = 1;
  EXPECT_FALSE(*ParseLocalPart(json, "l"));
}

}  // namespace
}  // namespace pipeline
