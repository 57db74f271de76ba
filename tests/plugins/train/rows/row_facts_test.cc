#include "plugins/train/rows/row_facts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pipeline {
namespace {

/// An artifact at `here`, by the names of its files.
class RowFactsTest : public testing::Test {
 protected:
  RowFactsTest() {
    files_["here/bert.json"] =
        R"({"max_seq_length": 128, "tokenizer": {"vocab_size": 4000, "layout": "bert"}})";
    files_["here/MANIFEST.json"] = R"({"shards": [{"split": "train", "records": 3},
      {"split": "train", "records": 4}, {"split": "validation", "records": 2}]})";
  }
  Result<RowFacts> Read() const {
    return ReadRowFacts("here", "here/MANIFEST.json",
                        [this](const std::string& uri, std::uint64_t) -> Result<std::string> {
                          const auto found = files_.find(uri);
                          if (found == files_.end()) return Status(Code::kNotFound, uri);
                          return found->second;
                        });
  }
  void Damaged(std::string_view where, std::string_view why) const {
    const Result<RowFacts> read = Read();
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), Code::kDataLoss);
    EXPECT_TRUE(read.status().message().starts_with(where)) << read.status().message();
    EXPECT_NE(read.status().message().find(why), std::string_view::npos) << read.status().message();
  }

  std::map<std::string, std::string> files_;
};

TEST_F(RowFactsTest, RowsOfPairsAreAddedUpInTheManifest) {
  const Result<RowFacts> read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->maker, kPairsMaker);
  EXPECT_EQ(read->uri, "here/bert.json");
  EXPECT_EQ(read->facts, *Json::Parse(R"({"seq_len": 128, "tokenizer": {"vocab_size": 4000, "layout": "bert"},
      "splits": {"train": {"rows": 7}, "validation": {"rows": 2}}})"));
}

TEST_F(RowFactsTest, PackedRowsTellTheirOwn) {
  files_["here/packed.json"] = R"({"seq_len": 64})";
  const Result<RowFacts> read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->maker, kRowsMaker);
  EXPECT_EQ(read->facts, *Json::Parse(R"({"seq_len": 64})"));
}

TEST_F(RowFactsTest, AnArtifactOfAnotherStageHasNeitherFile) {
  files_.erase("here/bert.json");
  const Result<RowFacts> read = Read();
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::kNotFound);
  EXPECT_EQ(read.status().message(),
            "here: neither packed.json of `write_packed` nor bert.json of `write_bert` is there");
}

TEST_F(RowFactsTest, DamagedFilesAreNamed) {
  files_["here/MANIFEST.json"] = R"({"shards": [{"split": "train", "records": "many"}]})";
  Damaged("here/MANIFEST.json: ", "an entry of `shards` has no split or no number of records");
  files_["here/MANIFEST.json"] = R"({"shards": []})";
  Damaged("here/MANIFEST.json: ", "names no shards; make it again");
  files_["here/MANIFEST.json"] = "{";
  Damaged("here/MANIFEST.json: ", "is not JSON");
  files_.erase("here/MANIFEST.json");
  Damaged("here/MANIFEST.json: ", "only it has the number of rows of here; make them again");
  files_["here/bert.json"] = "[";
  Damaged("here/bert.json: ", "is not JSON");
}

}  // namespace
}  // namespace pipeline
