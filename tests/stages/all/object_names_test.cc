// How stages that publish tell their own objects, and what their readers would take for one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "stages/all/builtin.h"

namespace pipeline {
namespace {

struct Case {
  std::string type, config;
  std::vector<std::string> own, read, neither;  // read: by a pattern, and not our own
};

const std::vector<Case> kCases = {
    {"write_packed",
     R"({"encoding":"example"})",
     {"train-00003-of-00008.tfrecord", "train-00003-of-00008.idx", "packed.json", "tokenizer.model",
      "vocab.txt"},
     {"train-mine.tfrecord", "train-00008-of-00008.tfrecord", "validation-old.tfrecord.bak"},
     {"NOTES.md", "mine.tfrecord", "train.tfrecord", "my_model/train-x.tfrecord", "train-notes.txt"}},
    {"write_packed",
     R"({"encoding":"raw16"})",
     {"train-00000-of-00001.bin", "train-00000-of-00001.rows"},
     {"train-mine.bin"},
     {"train-mine.tfrecord", "my_model/pytorch_model.bin"}},
    {"write_packed",
     R"({"encoding":"mmap"})",
     {"train/train-00000-of-00001.bin", "train/train-00000-of-00001.idx"},
     {"train/mine.bin", "validation/mine.idx"},
     {"train/NOTES.md", "my_model/pytorch_model.bin", "train-00000-of-00001.bin"}},
    {"write_packed",
     R"({"encoding":"array_record"})",
     {"train-00000-of-00001.array_record", "train-00000-of-00001.rows"},
     {"train-mine.array_record"},
     {"mine.array_record"}},
    {"write_bert",
     "{}",
     {"train-00000-of-00008.tfrecord", "vocab.txt", "bert_config.json"},
     {"mine.tfrecord", "mytfrecord"},
     {"my_model/a.tfrecord", "NOTES.md", "test-00000-of-00008.tfrecord.gz"}},
    {"write_jsonl",
     R"({"names":{"validation":"held_out"}})",
     {"train.json", "train-00000-of-00004.json", "held_out.json"},
     {"train-mine.json"},
     {"validation.json", "train-data.pkl", "config.json", "NOTES.md"}},
    {"write_tfds",
     R"({"name":"tiny"})",
     {"tiny-train.tfrecord-00000-of-00004", "dataset_info.json", "features.json", "label.labels.txt"},
     {"tiny-train.tfrecord-00004-of-00004", "tiny-mine.tfrecord-00000-of-00001"},
     {"other-train.tfrecord-00000-of-00004", "NOTES.md", "my_model/tiny-train.tfrecord-00000-of-00004"}},
    {"write_tfdata",
     R"({"name":"wiki","names":{"validation":"ptb"}})",
     {"wiki-00000-of-00004/dataset_spec.pb", "wiki-00000-of-00004/7/00000000.shard/00000000.snapshot",
      "ptb/snapshot.metadata", "tfdata.json"},
     {"wiki-00000-of-00004/mine", "wiki-old-of-mine/x", "ptb/8/00000001.shard/00000000.snapshot"},
     {"my_model/dataset_spec.pb", "wiki-notes/x", "NOTES.md"}},
};

TEST(ObjectNamesTest, EachStageKnowsItsOwnAndWhatItsReadersTake) {
  const Registry registry = BuiltinStages();
  const std::vector<std::string> splits = {"train", "validation"};
  for (const Case& at : kCases) {
    const StageType* type = registry.Find(at.type);
    ASSERT_NE(type, nullptr) << at.type;
    const Result<Json> config = Json::Parse(at.config);
    ASSERT_TRUE(config.ok());
    const auto own = [&](const std::string& name) { return type->names()->own(*config, splits, name); };
    const auto read = [&](const std::string& name) { return type->names()->read(*config, splits, name); };
    for (const std::string& name : at.own) EXPECT_TRUE(own(name)) << at.type << " " << name;
    for (const std::string& name : at.read) EXPECT_TRUE(!own(name) && read(name)) << at.type << " " << name;
    for (const std::string& name : at.neither)
      EXPECT_TRUE(!own(name) && !read(name)) << at.type << " " << name;
  }
}

TEST(ObjectNamesTest, EveryStageThatPublishesKnowsItsOwn) {
  const Registry registry = BuiltinStages();
  for (const StageType& type : registry.types())
    EXPECT_EQ(type.names() != nullptr && type.names()->own, type.publishes()) << type.name;
}

}  // namespace
}  // namespace pipeline
