// The stage `train` with its inputs and its run in a fake bucket: CONTRACT.md, section 10.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "plugins/train/checkpoint_marker.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/uri.h"
#include "tests/plugins/train/train_stage_fixture.h"
#include "tests/storage/remote/gcs/gcs_fixture.h"

namespace pipeline {

class BucketStageTest : public TrainStageTest, public GcsFixture {
 protected:
  BucketStageTest() {
    home_ = StrCat("gs://", kFakeBucket, "/home");
    config_["patience"] = 1.0;
    config_["grace"] = 30;
    host_.open_store = [this](const std::string& uri) -> Result<std::unique_ptr<Store>> {
      ASSIGN_OR_RETURN(const Uri parsed, Uri::Parse(uri));
      if (parsed.scheme->form != Scheme::Form::kBucket) return OpenStore(uri);
      GcsWriterOptions writing;
      writing.spool = spool / "s";
      return std::unique_ptr<Store>(NewGcsStore(Client(Settings()), parsed.authority, parsed.path, writing));
    };
    WriteFile(root_ / "packed/train-00000-of-00001.tfrecord", std::string(5000, 't'));
    WriteFile(root_ / "packed/validation-00000-of-00001.tfrecord", std::string(700, 'v'));
  }

  /// An artifact below root_ with a manifest of all its files, into the bucket.
  void Upload(const std::string& artifact, Json manifest) {
    manifest["sidecars"] = Json(Json::Array{});
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(root_ / artifact))
      if (file.path().filename() != "MANIFEST.json")
        files.emplace(file.path().filename().string(), ReadFile(file.path()));
    for (const auto& [name, bytes] : files) {
      FileFacts facts{name, bytes.size(), Crc32c(bytes)};
      Json entry;
      entry["object"] = name;
      entry["bytes"] = facts.bytes;
      entry["crc32c"] = ShownCrc(facts);
      manifest["sidecars"].Append(entry);
    }
    files["MANIFEST.json"] = manifest.Dump();
    for (const auto& [name, bytes] : files) {
      const std::string object = StrCat("home/", artifact, "/", name);
      if (!damaged_.contains(object)) fake.Put(kFakeBucket, object, bytes);
    }
  }
  void Place() override {
    Json manifest;
    manifest["recipe"] = "cc";
    manifest["facts"]["rows"] = 1000;
    Upload("packed", manifest);
    manifest["facts"] = Json(Json::Object{});
    manifest["facts"]["vocab_size"] = 400;
    Upload("tokenizer", manifest);
  }
  std::string RunDir() const override {
    return StrCat(kept_, "/train/runs/", std::filesystem::path(run_).filename().string());
  }

  /// From now on on a machine that has nothing.
  void Elsewhere() { kept_ = root_ / StrCat("kept-", ++machines_); }
  std::string Object(std::string_view name) const {
    return fake.Get(kFakeBucket, StrCat("home/", run_, "/", name));
  }
  /// Steps with a marker in the bucket, each held to be whole.
  std::set<std::int64_t> Kept() {
    std::set<std::int64_t> steps;
    const std::string below = StrCat("home/", run_, "/checkpoints/");
    for (const std::string& name : Everything()) {
      if (!name.starts_with(below)) continue;
      const auto object = ParseCheckpointObject(name.substr(below.size()));
      if (!object || !object->file.empty()) continue;
      const auto marker = ParseCheckpointMarker(fake.Get(kFakeBucket, name), name);
      EXPECT_TRUE(marker.ok()) << name;
      for (const FileFacts& file : marker->files) {
        const std::string bytes = Object(StrCat("checkpoints/", object->checkpoint.Path(), "/", file.name));
        EXPECT_EQ(bytes.size(), file.bytes) << file.name;
        EXPECT_EQ(Crc32c(bytes), file.crc32c) << file.name;
      }
      steps.insert(object->checkpoint.step);
    }
    return steps;
  }
  std::int64_t Newest() {
    const std::set<std::int64_t> steps = Kept();
    return steps.empty() ? -1 : *steps.rbegin();
  }
  bool Noted(std::string_view what) const { return notes_.find(what) != std::string::npos; }
  void GoesOnFrom(std::int64_t from, std::int64_t to) {
    config_["steps"] = to;
    const Result<JobOutput> output = Run();
    ASSERT_TRUE(output.ok()) << output.status().message() << "\n" << log_;
    EXPECT_TRUE(Noted(StrCat("goes on from the checkpoint at step ", from, "\n"))) << notes_;
    EXPECT_EQ(Newest(), to);
  }
  void Damage(const std::string& name, std::size_t at) {
    std::string bytes = fake.Get(kFakeBucket, name);
    bytes[at] ^= 1;
    fake.Put(kFakeBucket, name, bytes);
    damaged_.insert(name);
  }

  std::set<std::string> damaged_;  // objects that Upload leaves alone
  int machines_ = 0;
};

}  // namespace pipeline
