// Pairs of sentences of write_bert at `data`, before they are made and as they are.
#include "plugins/train/input_check.h"
#include "tests/plugins/train/train_stage_fixture.h"

namespace pipeline {
namespace {

class PairsOfSentencesTest : public TrainStageTest {
 protected:
  PairsOfSentencesTest() {
    config_["config"] = *Json::Parse(R"({"preset": "tiny-masked", "objective": {"name": "next_sentence"}})");
    info_ = "bert.json";
    packed_ = Json::Object{{"max_seq_length", 128}};
    packed_["tokenizer"]["layout"] = "bert";
    packed_["tokenizer"]["vocab_size"] = 400;
    packed_["tokenizer"]["model_digest"] = DigestOf(kModel).ToHex();
    WriteFile(root_ / "packed/MANIFEST.json", R"({"recipe": "cc", "shards": [
      {"split": "train", "records": 600}, {"split": "train", "records": 100},
      {"split": "validation", "records": 30}]})");
  }
  /// What is said of a stage of this type at `data`.
  std::string Refusal(std::string_view type) const {
    Json makers;
    makers["data"]["type"] = type;
    makers["data"]["config"]["seq_len"] = 128;
    makers["data"]["splits"] = splits_;
    return std::string(CheckMakers(config_, makers).message());
  }
  void Refuses(std::string_view type, std::string_view why) const {
    EXPECT_NE(Refusal(type).find(why), std::string::npos) << Refusal(type);
  }

  Json splits_ = Json::Array{Json("train"), Json("validation")};
};

TEST_F(PairsOfSentencesTest, AreTrainedOn) {
  const Result<JobOutput> output = Run();
  ASSERT_TRUE(output.ok()) << output.status().message() << log_;
  EXPECT_NE(notes_.find("700 rows of 128 ids (88 steps an epoch), 30 held out, 400 pieces"),
            std::string::npos)
      << notes_;
  const Result<Json> job = Json::Parse(ReadFile(root_ / "run/job.json"));
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["data"]["dir"].AsString(), (root_ / "packed"));
  EXPECT_EQ((*job)["tokenizer"]["vocab_size"].AsInt(), 400);
  EXPECT_EQ((*job)["lineage"]["data"]["recipe"].AsString(), "cc");
}

TEST_F(PairsOfSentencesTest, AreForOneObjectiveWhichReadsNoOtherRows) {
  EXPECT_EQ(Refusal("write_bert"), "");
  Refuses("write_packed",
          "data: rows of write_packed, and config.objective.name: next_sentence learns masked pairs of "
          "sentences: give the stage `write_bert` at `data`");
  Refuses("write_tfds", "and the trainer reads artifacts of `write_packed` or `write_bert` only");
  config_["config"].Remove("objective");
  Refuses(
      "write_bert",
      "data: masked pairs of sentences of write_bert, which config.objective.name: masked does not learn: "
      "write `config: { objective: { name: next_sentence } }` with a preset of the family bert, such as "
      "bert-base or tiny-masked, or give rows of `write_packed`");
  EXPECT_EQ(Refusal("write_packed"), "");
}

TEST_F(PairsOfSentencesTest, OfAnExternalTrainerAreItsDataSet) {
  config_["trainer"] = "external";
  Refuses(
      "write_bert",
      "data: is made by a stage of type write_bert, and the trainer reads artifacts of `write_packed` only");
}

TEST_F(PairsOfSentencesTest, HaveTheSplitsAndTheLengthOfTheTraining) {
  config_["config"]["model"]["seq_len"] = 64;
  Refuses("write_bert", "config.model.seq_len is 64, and the rows of `data` have 128");
  splits_ = Json::Array{Json("train"), Json("test")};
  Refuses("write_bert", "data: there is no split 'validation', only train, test");
  Fails(Code::kInvalidArgument, "config.model.seq_len is 64, and the rows of `data` have 128", 0);
  WriteFile(root_ / "packed/MANIFEST.json", R"({"shards": [{"split": "train", "records": 600}]})");
  Fails(Code::kInvalidArgument, "bert.json: there is no split 'validation', only train", 0);
}

TEST_F(PairsOfSentencesTest, ThatAreThereAreRefusedAsTheirStageIs) {
  config_["config"].Remove("objective");
  Fails(Code::kInvalidArgument, "bert.json: masked pairs of sentences of write_bert, which config.objective",
        0);
  info_ = "packed.json";
  config_["config"]["objective"]["name"] = "next_sentence";
  Fails(Code::kInvalidArgument, "packed.json: rows of write_packed, and config.objective.name: next_sentence",
        0);
}

TEST_F(PairsOfSentencesTest, OfAnotherTokenizerOrDamagedOnesAreRefused) {
  packed_["tokenizer"]["model_digest"] = "0123";
  Fails(Code::kInvalidArgument, "the rows of `data` were made with another tokenizer (0123)", 0);
  packed_["tokenizer"].Remove("vocab_size");
  Fails(Code::kDataLoss, "bert.json: says no length of the rows or no size of the vocabulary", 0);
  WriteFile(root_ / "packed/MANIFEST.json", R"({"shards": [{"split": "train"}]})");
  Fails(Code::kDataLoss, "MANIFEST.json: an entry of `shards` has no split or no number of records", 0);
}

TEST_F(PairsOfSentencesTest, AnArtifactOfNeitherStageIsNamed) {
  info_ = "README";
  Fails(Code::kInvalidArgument,
        "neither packed.json of `write_packed` nor bert.json of `write_bert` is there, so another stage", 0);
}

}  // namespace
}  // namespace pipeline
