// `pipe verify` and `pipe cat` of what write_tfdata left.
#include "formats/tfdata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "dag/manifest.h"
#include "formats/tfrecord.h"
#include "stages/tfdata_info.h"
#include "tests/cli/found_in.h"
#include "tests/cli/run_pipe.h"
#include "tests/cli/small_artifact.h"
#include "tests/cli/tfdata_artifact.h"

namespace pipeline {
namespace {

void Put(const std::string& place, const std::string& object, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(place + "/" + object).parent_path());
  WriteFile(place + "/" + object, bytes);
}

/// Puts the artifact together as the publisher does.
Manifest Lay(const std::string& place, TfdataPublished made) {
  Manifest manifest;
  LineageStage last;
  last.stage = "ids";
  last.type = "write_tfdata";
  last.config = TfdataConfig();
  last.recipe = DigestOf("recipe");
  manifest.lineage = {last};
  manifest.schema.splits = {"train", "validation"};
  for (std::size_t at = 0; at < made.planned.size(); ++at) {
    const Shard& shard = made.planned[at];
    const std::string& bytes = made.shards.at(shard.object);
    Put(place, shard.object, bytes);
    manifest.shards.push_back(
        {shard.split, shard.number, shard.count, made.outputs[at].records, Stored(shard.object, bytes)});
  }
  for (const auto& [object, bytes] : made.sidecars) {
    Put(place, object, bytes);
    manifest.sidecars.push_back(Stored(object, bytes));
  }
  for (const auto& [object, bytes] : made.followers) {
    Put(place, object, bytes);
    manifest.followers.push_back(Stored(object, bytes));
  }
  Put(place, std::string(kManifestName), EncodeManifest(manifest));
  return manifest;
}

bool Says(const std::vector<std::string>& lines, std::string_view what) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(what) != std::string::npos; });
}

TfdataPublished Good() {
  return PublishTfdata(TfdataConfig(), PipeTokenizer("a model"), RandomPackedCorpus(3, 80));
}

TEST(TfdataArtifactTest, AGoodOneIsGoodAndPrintsIds) {
  const TempDir dir;
  const TfdataPublished made = Good();
  Lay(dir / "out", made);
  EXPECT_EQ(FoundIn(dir / "out"), std::vector<std::string>());
  const Ran ran = RunPipe({"verify", dir / "out"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;

  const std::string& first = made.planned[0].object;
  const auto id = *ParseTfdataElement(made.shards.at(first).substr(12, 10));
  EXPECT_EQ(RunPipe({"cat", dir / "out", "-l", "1"}).out, std::to_string(id) + "\n");
  EXPECT_EQ(RunPipe({"cat", dir / "out/" + first, "-l", "1"}).out, std::to_string(id) + "\n");
  EXPECT_EQ(RunPipe({"cat", dir / "out", "-l", "1", "--json"}).out,
            "{\"id\":" + std::to_string(id) + ",\"index\":0,\"shard\":0,\"split\":\"train\"}\n");
}

TEST(TfdataArtifactTest, EveryFlippedByteIsFoundInItsObject) {
  const TempDir dir;
  const std::string place = dir / "out";
  const TfdataPublished made = Good();
  Lay(place, made);
  for (const std::string& object :
       {made.planned[1].object, std::string("ptb/snapshot.metadata"), std::string("ptb/dataset_spec.pb"),
        std::string("tfdata.json"), std::string("tokenizer.model")}) {
    const std::string good = ReadFile(place + "/" + object);
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 60) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      WriteFile(place + "/" + object, bad);
      EXPECT_TRUE(Says(FoundIn(place), object + ": ")) << object << ", byte " << at;
    }
    WriteFile(place + "/" + object, good);
  }
}

TEST(TfdataArtifactTest, WhatTheManifestCannotKnowIsHeldAgainstEachOther) {
  const auto with = [](const std::function<void(TfdataPublished&)>& change) {
    const TempDir dir;
    TfdataPublished made = Good();
    change(made);
    Lay(dir / "out", std::move(made));
    return FoundIn(dir / "out");
  };
  const auto ids_of = [](std::vector<std::uint32_t> ids) {
    std::string packed, out;
    PackIds(packed, ids, 4);
    AppendTfdataElements(out, packed, 4);
    return out;
  };
  EXPECT_TRUE(Says(with([&](TfdataPublished& made) {
                     std::string& shard = made.shards.at(made.planned[0].object);
                     shard.replace(0, kTfdataElementBytes, ids_of({512}));
                   }),
                   "record 0 at byte 0: id 512 where the tokenizer has 512 pieces"));
  EXPECT_TRUE(Says(with([&](TfdataPublished& made) {
                     std::string element;
                     AppendTfRecord(element, "0123456789");
                     made.shards.at(made.planned[0].object).replace(0, kTfdataElementBytes, element);
                   }),
                   "not an element of a scalar int32"));
  EXPECT_TRUE(
      Says(with([&](TfdataPublished& made) { made.shards.at(made.planned[0].object) += ids_of({5}); }),
           "bytes, not 26 for each"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) {
                     made.sidecars.at("ptb/snapshot.metadata") = TfdataMetadataBytes({"7", 3});
                   }),
                   "ptb/snapshot.metadata: names the run 7"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) { made.followers.at("ptb/dataset_spec.pb") = "x"; }),
                   "ptb/dataset_spec.pb: does not say"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) { made.followers.erase("ptb/dataset_spec.pb"); }),
                   "directory ptb: names no dataset_spec.pb"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) { made.sidecars.at("tokenizer.model") = "another"; }),
                   "the ids were made by a tokenizer with the digest"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) { made.sidecars.at("tfdata.json") = "{}"; }),
                   "the ids cannot be checked without it"));
  EXPECT_TRUE(Says(with([](TfdataPublished& made) {
                     made =
                         PublishTfdata(TfdataConfig(), PipeTokenizer("a model"), RandomPackedCorpus(1, 10));
                   }),
                   "the trainer cuts windows of 512"));
}

}  // namespace
}  // namespace pipeline
