#include "dag/books/manifest.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <map>

#include "base/str.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

// The example of dag/books/manifest.md, byte for byte.
constexpr std::string_view kExampleManifest =
    R"({
  "pipe_manifest": 1,
  "stage": "text",
  "recipe": "e92fec2e89b5d90f3ddb60b440696943",
  "content": "db6af4ace85188fab3ba0e497f7ad3ec",
  "lineage": [
    {"config":{"documents":"blank_line"},"libraries":{"liblzma":"5.4.1"},)"
    R"("recipe":"4e0e8d9dbfbcbb5cafb5232fdbc67df6",)"
    R"("sources":[{"digest":"0123456789abcdef0123456789abcdef","name":"ja.txt.xz"}],)"
    R"("stage":"lines","type":"decompress","version":1},
    {"config":{"name":"tiny"},"libraries":{},"recipe":"e92fec2e89b5d90f3ddb60b440696943",)"
    R"("sources":[],"stage":"text","type":"write_tfds","version":1}
  ],
  "schema": {"columns":{"text":"utf8"},"splits":["train"]},
  "splits": {
    "train": {"bytes":18,"documents":1,"records":2}
  },
  "counts": {
    "lines": {"bytes_in":10,"bytes_out":9,"reasons":{"blank":1},"records_in":3,"records_out":2}
  },
  "sidecars": [
    {"bytes":4,"crc32c":"8a9136aa","digest":"7ec40a0ab14513e81e253e067c8f1a4e","object":"dataset_info.json"}
  ],
  "followers": [],
  "shards": [
    {"bytes":50,"count":1,"crc32c":"01234567","digest":"bcb6de5f4ee6088c8d3699fc88ca4984",)"
    R"("number":0,"object":"tiny-train.tfrecord-00000-of-00001","records":2,"split":"train"}
  ],
  "partitions": [],
  "seal": "1dc4023d1ed89005c8282496a668e2a1"
}
)";

/// The example as an earlier version wrote it.
std::string Unsealed() {
  std::string text(kExampleManifest);
  const std::size_t seal = text.find(",\n  \"seal\"");
  return text.replace(seal, text.rfind('\n', text.size() - 2) - seal, "");
}

std::string ReadPage(const std::string& path) {
  std::ifstream file(StrCat(SourceDir(), "/", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Manifest ExampleManifest() {
  const Result<Manifest> manifest = ParseManifest(kExampleManifest, "example");
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  return *manifest;
}

std::string Reason(std::string_view text) {
  const Result<Manifest> manifest = ParseManifest(text, "out/MANIFEST.json");
  return manifest.ok() ? "" : std::string(manifest.status().message());
}

/// Holds one object, and nothing can be written to it.
class OneObjectStore final : public Store {
 public:
  OneObjectStore(std::string name, std::string bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    if (name != name_) return Status(Code::kNotFound, StrCat(name, ": no such object"));
    return std::unique_ptr<ByteFile>(new File(bytes_));
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view, Condition) override { return Refused(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view) override { return Refused(); }
  Result<std::vector<ObjectInfo>> List(std::string_view) override { return Refused(); }
  Status Remove(std::string_view) override { return Refused(); }
  Status Sweep(std::string_view) override { return Refused(); }

 private:
  static Status Refused() { return Status(Code::kPermissionDenied, "read only"); }
  class File final : public ByteFile {
   public:
    explicit File(std::string bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t size() const override { return bytes_.size(); }
    Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token) const override {
      return std::unique_ptr<ByteReader>(new Reader(std::string_view(bytes_).substr(offset)));
    }

   private:
    std::string bytes_;
  };
  class Reader final : public ByteReader {
   public:
    explicit Reader(std::string_view rest) : rest_(rest) {}
    Result<std::size_t> Read(std::span<char> out) override {
      const std::size_t count = rest_.copy(out.data(), out.size());
      rest_.remove_prefix(count);
      return count;
    }

   private:
    std::string_view rest_;
  };
  std::string name_;
  std::string bytes_;
};

TEST(ManifestTest, ReadsAndWritesTheExampleOfItsDocument) {
  const Manifest manifest = ExampleManifest();
  EXPECT_EQ(manifest.stage(), "text");
  EXPECT_EQ(manifest.recipe(), RecipeOf(manifest.lineage[1], manifest.lineage[0].recipe));
  EXPECT_EQ(manifest.lineage[0].sources[0].name, "ja.txt.xz");
  EXPECT_EQ(manifest.schema.columns.at("text"), ColumnType::kUtf8);
  EXPECT_EQ(manifest.splits.at("train"), (ArtifactTotals::Split{2, 1, 18}));
  EXPECT_EQ(manifest.counts.at("lines").reasons.at("blank"), 1u);
  EXPECT_EQ(manifest.shards[0].object.crc32c, 0x01234567u);
  EXPECT_TRUE(manifest.sealed);
  EXPECT_EQ(EncodeManifest(manifest), kExampleManifest);
  EXPECT_NE(ReadPage("dag/books/manifest.md").find(kExampleManifest), std::string::npos);
}

TEST(ManifestTest, EveryDigitThatIsChangedIsFound) {
  std::string text(kExampleManifest);
  std::size_t digits = 0;
  for (char& digit : text) {
    if (!std::isxdigit(static_cast<unsigned char>(digit))) continue;
    ++digits;
    const char was = std::exchange(digit, digit == '1' ? '2' : '1');
    const Result<Manifest> changed = ParseManifest(text, "m");
    EXPECT_FALSE(changed.ok()) << "the " << digits << "th, at " << &digit - text.data();
    digit = was;
  }
  EXPECT_GT(digits, 300u);
  EXPECT_EQ(Reason(text), "");
}

TEST(ManifestTest, TheSealDoesNotDependOnHowTheTextIsLaidOut) {
  const Result<Json> json = Json::Parse(kExampleManifest);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(Reason(json->Dump()), "");
  EXPECT_EQ(Reason(json->DumpPretty()), "");
}

TEST(ManifestTest, WhatAnEarlierVersionWroteIsReadAndStaysUnsealed) {
  const std::string text = ReadPage("tests/golden/unsealed/MANIFEST.json");
  const Result<Manifest> manifest = ParseManifest(text, "m");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_FALSE(manifest->sealed);
  EXPECT_EQ(manifest->shards.size(), 2u);
  EXPECT_EQ(EncodeManifest(*manifest), text);
  EXPECT_EQ(Reason(Unsealed()), "");
}

TEST(ManifestTest, PartitionsComeBack) {
  Manifest manifest = ExampleManifest();
  manifest.shards.clear();
  manifest.schema.columns = {{"ids", ColumnType::kU32List}, {"split", ColumnType::kU8}};
  manifest.schema.field_names = {"premise", "hypothesis"};
  for (std::uint32_t p = 0; p < 3; ++p) {
    PartitionOutput output;
    output.id = {2, p};
    output.committed.digest = DigestOf(StrCat(p));
    output.committed.objects = {{StrCat("0002-0000", p, ".part"), 9, p, DigestOf("bytes")}};
    output.splits = {{"train", {p, 1, 2}}};
    manifest.partitions.push_back(output);
  }
  const std::string text = EncodeManifest(manifest);
  const Result<Manifest> back = ParseManifest(text, "m");
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->partitions[2].id, (PartitionId{2, 2}));
  EXPECT_EQ(back->partitions[2].committed.objects, manifest.partitions[2].committed.objects);
  EXPECT_EQ(back->schema, manifest.schema);
  EXPECT_EQ(EncodeManifest(*back), text);
}

TEST(ManifestTest, WhatAJobSaysOfItselfComesBack) {
  Manifest manifest = ExampleManifest();
  manifest.facts["rows"] = 7;
  manifest.continues["steps"] = 100;
  const Result<Manifest> again = ParseManifest(EncodeManifest(manifest), "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->facts, manifest.facts);
  EXPECT_EQ(again->continues, manifest.continues);
  EXPECT_TRUE(ExampleManifest().continues.is_null());
}

TEST(ManifestTest, TheContentRootFollowsBytesAndNotNamesOfShards) {
  Manifest manifest = ExampleManifest();
  const Digest root = manifest.ContentRoot();
  manifest.shards[0].object.name = "elsewhere";
  manifest.lineage[0].stage = "renamed";
  EXPECT_EQ(manifest.ContentRoot(), root);
  manifest.shards[0].object.digest = DigestOf("other");
  EXPECT_NE(manifest.ContentRoot(), root);
}

/// Every way to take one member out of `json`, by the path of the member.
void TakeOut(const Json& json, const std::string& path, const std::function<Json(Json)>& rebuild,
             std::map<std::string, Json>& out) {
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.AsArray().size(); ++i) {
      const auto put = [&, i](Json element) {
        Json::Array copy = json.AsArray();
        copy[i] = std::move(element);
        return rebuild(Json(std::move(copy)));
      };
      TakeOut(json.AsArray()[i], StrCat(path, '[', i, ']'), put, out);
    }
  }
  for (const auto& [key, value] : json.AsObject()) {
    const std::string inner = path.empty() ? key : StrCat(path, '.', key);
    Json::Object without = json.AsObject();
    without.erase(key);
    out[inner] = rebuild(Json(without));
    const auto put = [&, name = key](Json member) {
      Json::Object copy = json.AsObject();
      copy[name] = std::move(member);
      return rebuild(Json(std::move(copy)));
    };
    TakeOut(value, inner, put, out);
  }
}

TEST(ManifestTest, EveryMissingMemberIsNamed) {
  const Result<Json> json = Json::Parse(Unsealed());
  ASSERT_TRUE(json.ok());
  std::map<std::string, Json> mutilated;
  TakeOut(
      *json, "", [](Json whole) { return whole; }, mutilated);
  // Maps from names that are free; one less is no missing member.
  for (const char* free_name :
       {"splits.train", "counts.lines", "counts.lines.reasons.blank", "schema.columns.text",
        "lineage[0].libraries.liblzma", "lineage[0].config.documents", "lineage[1].config.name"})
    ASSERT_EQ(mutilated.erase(free_name), 1u) << free_name;
  EXPECT_GT(mutilated.size(), 40u);
  for (const auto& [path, without] : mutilated)
    EXPECT_EQ(Reason(without.Dump()).substr(0, 28 + path.size()),
              StrCat("out/MANIFEST.json: ", path, ": missing"))
        << path;
}

TEST(ManifestTest, WrongKindsAreNamed) {
  const std::map<std::string, std::string> changes = {{"\"records\":2,\"split\"", "\"records\":-2,\"split\""},
                                                      {"\"01234567\"", "\"0123456\""},
                                                      {"\"number\":0", "\"number\":4294967296"},
                                                      {"\"partitions\": []", "\"partitions\": {}"},
                                                      {"\"utf8\"", "\"utf7\""},
                                                      {"\"content\": \"d", "\"content\": \"x"},
                                                      {"\"blank\":1", "\"blank\":\"1\""}};
  for (const auto& [from, to] : changes) {
    std::string text = Unsealed();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_NE(Reason(text.replace(at, from.size(), to)), "") << to;
  }
}

TEST(ManifestTest, AnEditedManifestIsRefused) {
  for (const auto& [from, to] :
       std::map<std::string, std::string>{{"bcb6de5f", "bcb6de5e"},
                                          {"\"stage\": \"text\"", "\"stage\": \"tex\""},
                                          {": \"e92f", ": \"e92e"}}) {
    std::string text = Unsealed();
    text.replace(text.find(from), from.size(), to);
    EXPECT_NE(Reason(text), "") << to;
  }
}

TEST(ManifestTest, ANewerVersionIsRefused) {
  std::string text(kExampleManifest);
  text.replace(text.find(": 1"), 3, ": 2");
  const Result<Manifest> manifest = ParseManifest(text, "out/MANIFEST.json");
  EXPECT_EQ(manifest.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(manifest.status().message(),
            "out/MANIFEST.json: written by a newer program: version 2 where this one reads 1; use the newer "
            "program");
}

/// Returns `text` with the seal that its members need.
std::string Resealed(const std::string& text) {
  Json json = Json::Parse(text).value();
  json.Remove("seal");
  Hasher hasher;
  hasher.UpdateField("pipe seal v1");
  for (const auto& [name, value] : json.AsObject()) {
    const Digest digest = DigestOf(value.Dump());
    hasher.UpdateField(name).UpdateU64(digest.high).UpdateU64(digest.low);
  }
  json["seal"] = hasher.Finish().ToHex();
  return json.Dump();
}

TEST(ManifestTest, UnknownMembersArePassedOver) {
  std::string text(kExampleManifest);
  text.replace(text.find("\"number\""), 0, "\"mood\":[{}],");
  text.replace(1, 0, "\"weather\": null,");
  EXPECT_EQ(Reason(Resealed(text)), "");
}

TEST(ManifestTest, ABitFlippedInANameIsNoManifestOfAnEarlierVersion) {
  std::string text(kExampleManifest);
  std::size_t unknown = 0;
  for (std::size_t letter = text.find("\"seal\"") + 1; text[letter] != '"'; ++letter)
    for (int bit = 0; bit < 8; ++bit) {
      const char was = std::exchange(text[letter], static_cast<char>(text[letter] ^ (1 << bit)));
      EXPECT_NE(Reason(text), "") << text.substr(text.size() - 50);
      unknown += Reason(text).find(": unknown in a manifest without `seal`") != std::string::npos ? 1 : 0;
      text[letter] = was;
    }
  EXPECT_EQ(unknown, 28u);  // the others are no UTF-8
  text = Unsealed();
  text.replace(1, 0, "\"fact3\": {},");
  EXPECT_EQ(Reason(text).substr(0, 62), "out/MANIFEST.json: fact3: unknown in a manifest without `seal`");
}

TEST(ManifestTest, EveryTruncationIsAnError) {
  for (std::size_t size = 0; size + 2 < kExampleManifest.size(); size += 7)
    EXPECT_NE(Reason(kExampleManifest.substr(0, size)), "") << size;
}

TEST(ManifestTest, IsReadFromAStoreAndItsAbsenceIsAnAnswer) {
  OneObjectStore full("MANIFEST.json", std::string(kExampleManifest));
  EXPECT_TRUE(ReadManifest(full, "gs://bucket/out").ok());
  OneObjectStore empty("other", "");
  EXPECT_EQ(ReadManifest(empty, "gs://bucket/out").status().code(), Code::kNotFound);
  OneObjectStore damaged("MANIFEST.json", "{}");
  EXPECT_EQ(
      ReadManifest(damaged, "gs://bucket/out").status().message(),
      "gs://bucket/out/MANIFEST.json: pipe_manifest: missing; this is no manifest; put back the file as it "
      "was, or let `pipe run FILE --force STAGE` make the artifact again");
}

}  // namespace
}  // namespace pipeline
