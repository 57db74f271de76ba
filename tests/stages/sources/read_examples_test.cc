#include <gtest/gtest.h>

#include <random>

#include "base/digest.h"
#include "dag/pipeline_file/subset.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/sources/source_stages.h"
#include "tests/stages/sources.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;
using Reasons = decltype(StageCounts::reasons);

Json ExamplesConfig(Json::Array text = {"text"}, std::string_view label = {}) {
  Json config;
  config["text"] = std::move(text);
  if (!label.empty()) config["label"] = label;
  config["markers"] = "none";
  config["partition"] = 64 << 20;
  config["max_record_bytes"] = 8 << 20;
  config["on_bad_row"] = "quarantine";
  config["invalid_utf8"] = "replace";
  config["rules"] = "1";
  return config;
}

std::string File(const std::vector<TfExample>& examples) {
  std::string file;
  for (const TfExample& example : examples) {
    std::string record;
    AppendTfExample(record, example);
    AppendTfRecord(file, record);
  }
  return file;
}

TfExample TextOf(std::string_view text) { return {{"text", TfBytesList{text}}}; }

SourceOutcome ReadExampleFile(const Json& config, const std::string& file,
                              const std::string& name = "a.tfrecord") {
  return RunSource(ReadExamplesType(), config, RequestFor(file, name));
}

std::string WhyRefused(const Json& config) {
  Schema schema;
  return std::string(ReadExamplesType().check(config, schema).message());
}

TEST(ReadExamplesTest, ExampleOfTheFormatPage) {
  const std::string file = File({TextOf("猫")});
  const SourceOutcome outcome = ReadExampleFile(ExamplesConfig(), file);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.partitions.at(0).records, Strings{"0.0 0 " + std::to_string(Hash64("猫")) + ": 猫"});
  EXPECT_EQ(outcome.partitions.at(0).raw_end, 35u);
  const SourceOutcome other = ReadExampleFile(ExamplesConfig({"title", "text"}), file);
  EXPECT_EQ(other.partitions.at(0).counts.reasons, (Reasons{{"dropped_no_field", 1}}));
  EXPECT_EQ(other.partitions.at(0).quarantine[0].substr(0, 19), "0:dropped_no_field:");
  Json rules2 = ExamplesConfig({"title", "text"});
  rules2["rules"] = "2";
  const SourceOutcome now = ReadExampleFile(rules2, file);
  EXPECT_EQ(now.partitions.at(0).records, outcome.partitions.at(0).records);
  EXPECT_EQ(now.partitions.at(0).counts.reasons, (Reasons{{"absent_title", 1}}));
  EXPECT_EQ(now.partitions.at(0).quarantine[0].substr(0, 15), "0:absent_title:");
}

TEST(ReadExamplesTest, AbsentAndEmptyFeaturesLoseNothingElse) {
  Json config = ExamplesConfig({"title", "text"});
  config["rules"] = "2";
  const std::string file = File({{{"title", TfBytesList{"t"}}, {"text", TfBytesList{"a", "\u3000", "b"}}},
                                 {{"title", TfBytesList{}}, {"text", TfBytesList{"c"}}},
                                 {{"title", TfBytesList{""}}, {"text", TfBytesList{"d"}}},
                                 {{"other", TfBytesList{"e"}}},
                                 {{"text", TfInt64List{1}}}});
  const SourceOutcome outcome = ReadExampleFile(config, file);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"t", "a", "b", "c", "d"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"absent_text", 1},
                                                              {"absent_title", 1},
                                                              {"blank_lines", 1},
                                                              {"dropped_no_text", 1},
                                                              {"dropped_wrong_type", 1}}));
  config["columns"] = "fields";
  EXPECT_EQ(ReadExampleFile(config, file).texts, Strings{"[t][a b]"});
  EXPECT_EQ(ReadExampleFile(config, file).partitions.at(0).counts.reasons.at("dropped_empty_field"), 2u);
}

TEST(ReadExamplesTest, ValuesAndFeaturesBecomeLinesOfADocument) {
  const SourceOutcome outcome =
      ReadExampleFile(ExamplesConfig({"b", "a"}),
                      File({{{"a", TfBytesList{"two\nthree\r\n", "\n", "f\xFF"}}, {"b", TfBytesList{"one"}}},
                            {{"a", TfBytesList{""}}, {"b", TfBytesList{"\n"}}}}));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"one", "two", "three", "f\uFFFD"}));
  const auto& partition = outcome.partitions.at(0);
  const std::string key = std::to_string(Hash64("one\ntwo\nthree\r\n\n\n\nf\xFF"));
  EXPECT_EQ(partition.records[3], "0.3 0 " + key + ": f\uFFFD");
  EXPECT_EQ(partition.counts.reasons.at("dropped_empty_text"), 1u);
  EXPECT_EQ(partition.counts.records_in, 2u);
  EXPECT_EQ(outcome.end->documents, 2u);
}

TEST(ReadExamplesTest, FeaturesStayApartAsFields) {
  Json config = ExamplesConfig({"b", "a"});
  config["columns"] = "fields";
  Schema schema;
  ASSERT_TRUE(ReadExamplesType().check(config, schema).ok());
  EXPECT_EQ(schema.field_names, (Strings{"b", "a"}));
  EXPECT_EQ(schema.columns.at("fields"), ColumnType::kU32List);
  const SourceOutcome outcome =
      ReadExampleFile(config, File({{{"a", TfBytesList{"two\nthree\r\n", "four"}}, {"b", TfBytesList{"one"}}},
                                    {{"a", TfBytesList{"\n"}}, {"b", TfBytesList{"x"}}}}));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, Strings{"[one][two three four]"});
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons,
            (Reasons{{"blank_lines", 2}, {"dropped_empty_field", 1}}));
  config["markers"] = "wiki40b";
  EXPECT_NE(WhyRefused(config).find("columns: the marks of wiki40b"), std::string::npos);
}

TEST(ReadExamplesTest, NumbersOfLabelsBecomeTheirNames) {
  const std::string file = File({{{"text", TfBytesList{"a\nb"}}, {"label", TfInt64List{1}}},
                                 {{"text", TfBytesList{"c"}}, {"label", TfInt64List{0}}},
                                 {{"text", TfBytesList{"d"}}, {"label", TfInt64List{-1}}},
                                 {{"text", TfBytesList{"e"}}, {"label", TfBytesList{"named"}}}});
  EXPECT_EQ(ReadExampleFile(ExamplesConfig({"text"}, "label"), file).texts,
            (Strings{"1|a b", "0|c", "-1|d", "named|e"}));
  Json config = ExamplesConfig({"text"}, "label");
  config["labels"] = Json::Array{"no", "yes"};
  EXPECT_EQ(ReadExampleFile(config, file).texts, (Strings{"yes|a b", "no|c", "named|e"}));
  EXPECT_EQ(ReadExampleFile(config, file).partitions.at(0).counts.reasons,
            (Reasons{{"dropped_unknown_label", 1}}));
  config["on_bad_row"] = "fail";
  EXPECT_EQ(ReadExampleFile(config, file).status.message(),
            "a.tfrecord: record 2 (from 0), at byte 100: label -1 has no name: there are 2, for 0 to 1; mend "
            "it, or set on_bad_row: quarantine");

  const TempDir directory;
  const std::string names = directory.path() / "names.txt";
  WriteFile(names, "\xEF\xBB\xBFno \r\n\nyes");
  config = ExamplesConfig({"text"}, "label");
  config["labels_file"] = names;
  EXPECT_EQ(ReadExampleFile(config, file).texts, (Strings{"yes|a b", "no|c", "named|e"}));
  EXPECT_EQ(ReadExamplesType().files(config)->at(0).path, names);
  EXPECT_TRUE(ReadExamplesType().prepare(config).ok());
  WriteFile(names, "no\nno\n");
  EXPECT_EQ(ReadExamplesType().prepare(config).message(), names + ": labels: 'no' comes twice");
}

TEST(ReadExamplesTest, BadRecordsAreSetAsideWithTheirReason) {
  std::string file = File({TextOf("good"), {{"text", TfInt64List{5}}}, {}, {{"text", TfBytesList{}}}});
  AppendTfRecord(file, "no example");
  AppendTfRecord(file, "");
  file += File({TextOf("last")});
  const SourceOutcome outcome = ReadExampleFile(ExamplesConfig(), file);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"good", "last"}));
  const auto& partition = outcome.partitions.at(0);
  EXPECT_EQ(partition.counts.reasons,
            (Reasons{{"dropped_example", 1}, {"dropped_no_field", 3}, {"dropped_wrong_type", 1}}));
  EXPECT_EQ(partition.quarantine[3], "4:dropped_example:no example");
  EXPECT_TRUE(partition.records[1].starts_with("6.0 6 "));

  Json config = ExamplesConfig();
  config["on_bad_row"] = "fail";
  EXPECT_EQ(
      ReadExampleFile(config, file).status.message(),
      "a.tfrecord: record 1 (from 0), at byte 36: feature 'text' has numbers, and a text is bytes; mend "
      "it, or set on_bad_row: quarantine");
  EXPECT_EQ(ReadExampleFile(ExamplesConfig({"txt"}), File({TextOf("x")})).texts, Strings{});
  Json wrong = config;
  wrong["text"] = Json::Array{"txt"};
  EXPECT_EQ(ReadExampleFile(wrong, File({TextOf("x")})).status.message(),
            "a.tfrecord: record 0 (from 0), at byte 0: has no value of feature 'txt'; its features are text; "
            "mend it, or set on_bad_row: quarantine");
  Json label = ExamplesConfig({"text"}, "label");
  const std::string two = File({{{"text", TfBytesList{"x"}}, {"label", TfInt64List{1, 2}}},
                                {{"text", TfBytesList{"x"}}, {"label", TfFloatList{1}}}});
  EXPECT_EQ(ReadExampleFile(label, two).partitions.at(0).counts.reasons,
            (Reasons{{"dropped_wrong_type", 2}}));
}

TEST(ReadExamplesTest, DamageIsAnErrorThatNamesTheByte) {
  const std::string file = File({TextOf("one"), TextOf("two"), TextOf("three")});
  std::string damaged = file;
  damaged[60] = static_cast<char>(damaged[60] ^ 1);
  const SourceOutcome outcome = ReadExampleFile(ExamplesConfig(), damaged);
  EXPECT_EQ(outcome.status.code(), Code::kDataLoss);
  EXPECT_TRUE(
      outcome.status.message().starts_with("a.tfrecord: record at offset 35: damaged: the CRC of the"))
      << outcome.status.message();
  EXPECT_NE(ReadExampleFile(ExamplesConfig(), file.substr(0, 100))
                .status.message()
                .find("record at offset 70: truncated"),
            std::string::npos);
  const std::string text = "This is plain text, and not a TFRecord file at all.\n";
  EXPECT_NE(ReadExampleFile(ExamplesConfig(), text)
                .status.message()
                .find("if the file is no TFRecord, or a compressed one"),
            std::string::npos);
  Json config = ExamplesConfig();
  config["max_record_bytes"] = 1024;
  const std::string long_one = File({TextOf("short"), TextOf(std::string(2000, 'x'))});
  EXPECT_EQ(
      ReadExampleFile(config, long_one).status.message(),
      "a.tfrecord: record at offset 37: has 2021 bytes: more than the limit of 1024 (max_record_bytes); "
      "raise it");
}

TEST(ReadExamplesTest, MarkersOfWiki40bLeaveTheLinesOfParagraphs) {
  const std::string article =
      "\n_START_ARTICLE_\n猫\n_START_SECTION_\n歴史\n_START_PARAGRAPH_\n猫は鳴く。_NEWLINE_猫は眠る。\xFF";
  const std::string file = File({TextOf(article), TextOf("no marks")});
  Json config = ExamplesConfig();
  config["markers"] = "wiki40b";
  const SourceOutcome outcome = ReadExampleFile(config, file);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"猫は鳴く。", "猫は眠る。\uFFFD"}));
  EXPECT_EQ(outcome.partitions.at(0).quarantine,
            (Strings{"0:invalid_utf8:猫は鳴く。\n猫は眠る。\xFF", "1:dropped_empty_text:no marks"}));
  EXPECT_EQ(outcome.partitions.at(0).records[0], "0.0 0 " + std::to_string(Hash64(article)) + ": 猫は鳴く。");
  config["titles"] = true;
  EXPECT_EQ(ReadExampleFile(config, file).texts, (Strings{"猫", "歴史", "猫は鳴く。", "猫は眠る。\uFFFD"}));
}

TEST(ReadExamplesTest, AnyBatchAndResumeGivesTheSame) {
  std::mt19937 random(4);
  std::string file;
  for (int record = 0; record < 2000; ++record) {
    if (random() % 20 == 0) {
      AppendTfRecord(file, "bad");
      continue;
    }
    const std::string text = std::to_string(record) + std::string(random() % 90, 'x') + "\n猫";
    file += File({{{"text", TfBytesList{text}}, {"label", TfInt64List{record % 3}}}});
  }
  for (const bool label : {false, true}) {
    Json config = ExamplesConfig({"text"}, label ? "label" : "");
    config["partition"] = 9000;
    const SourceOutcome whole = ReadExampleFile(config, file, "rows");
    const auto partitions = static_cast<std::uint32_t>(whole.partitions.size());
    ASSERT_GT(partitions, 8u);
    for (const std::size_t batch : {300u, 1u << 20})
      for (std::uint32_t done = 0; done <= partitions; ++done)
        for (const bool ends : {false, true}) {
          SourceRequest request = RequestFor(file, "rows", 999);
          request.batch_bytes = batch;
          request.wanted = [done](std::uint32_t p) { return p >= done; };
          if (ends) request.last_wanted = partitions - 1;
          request.known_end = [&whole, done](std::uint32_t p) -> std::optional<PartitionEnd> {
            if (p >= done) return std::nullopt;
            return PartitionEnd{whole.partitions.at(p).raw_end, whole.partitions.at(p).document_end};
          };
          SourceOutcome expected = whole;
          for (std::uint32_t p = 0; p < done; ++p) expected.partitions.erase(p);
          SourceOutcome found = RunSource(ReadExamplesType(), config, std::move(request));
          if (ends && !found.end) expected.end.reset();
          ExpectSame(found, expected, std::to_string(done));
        }
  }
}

TEST(ReadExamplesTest, AScanFindsTheEndsOfAllPartitions) {
  std::vector<std::string> texts;
  for (int i = 0; i < 400; ++i) texts.push_back("document " + std::to_string(i));
  std::vector<TfExample> examples;
  for (const std::string& text : texts) examples.push_back(TextOf(text));
  const std::string file = File(examples);
  Json config = ExamplesConfig();
  config["partition"] = 1000;
  const SourceOutcome whole = ReadExampleFile(config, file);
  ASSERT_GT(whole.partitions.size(), 8u);
  std::vector<PartitionEnd> ends;
  SourceRequest request = RequestFor(file, "rows");
  request.wanted = [](std::uint32_t) { return false; };
  request.passed = [&ends](std::uint32_t, const PartitionEnd& end) {
    ends.push_back(end);
    return Status();
  };
  const SourceOutcome scan = RunSource(ReadExamplesType(), config, std::move(request));
  EXPECT_TRUE(scan.partitions.empty());
  ASSERT_EQ(ends.size(), whole.partitions.size());
  EXPECT_EQ(scan.end->documents, whole.end->documents);
  for (const auto& [p, partition] : whole.partitions) {
    EXPECT_EQ(ends[p].raw_end, partition.raw_end);
    EXPECT_EQ(ends[p].document_end, partition.document_end);
    SourceRequest alone = RequestFor(file, "rows");
    alone.wanted = [only = p](std::uint32_t each) { return each == only; };
    alone.last_wanted = p;
    alone.known_end = [&ends](std::uint32_t each) { return std::optional(ends.at(each)); };
    const SourceOutcome outcome = RunSource(ReadExamplesType(), config, std::move(alone));
    ASSERT_EQ(outcome.partitions.size(), 1u);
    EXPECT_TRUE(outcome.partitions.at(p) == partition);
    // A scan that goes on behind this partition passes over those after it.
    std::vector<PartitionEnd> rest(ends.begin(), ends.begin() + p + 1);
    SourceRequest second = RequestFor(file, "rows");
    second.wanted = [](std::uint32_t) { return false; };
    second.known_end = [&ends, last = p](std::uint32_t each) {
      return each <= last ? std::optional(ends[each]) : std::nullopt;
    };
    second.passed = [&rest](std::uint32_t each, const PartitionEnd& end) {
      EXPECT_EQ(each, rest.size());
      rest.push_back(end);
      return Status();
    };
    const SourceOutcome further = RunSource(ReadExamplesType(), config, std::move(second));
    ASSERT_EQ(rest.size(), ends.size());
    for (std::size_t each = 0; each < ends.size(); ++each) {
      EXPECT_EQ(rest[each].raw_end, ends[each].raw_end);
      EXPECT_EQ(rest[each].document_end, ends[each].document_end);
    }
    EXPECT_EQ(further.end->documents, whole.end->documents);
    EXPECT_EQ(further.end->partitions, whole.end->partitions);
  }
}

TEST(ReadExamplesTest, AFailureOfTheScanEndsTheReading) {
  const std::string file = File({TextOf("one"), TextOf("two"), TextOf("six")});
  Json config = ExamplesConfig();
  config["partition"] = 1;
  int passed = 0;
  SourceRequest request = RequestFor(file, "rows");
  request.wanted = [](std::uint32_t) { return false; };
  request.passed = [&passed](std::uint32_t partition, const PartitionEnd&) {
    ++passed;
    return partition == 1 ? Status(Code::kUnavailable, "no network") : Status();
  };
  EXPECT_EQ(RunSource(ReadExamplesType(), config, std::move(request)).status.code(), Code::kUnavailable);
  EXPECT_EQ(passed, 2);
}

TEST(ReadExamplesTest, PartitionsCloseWithTheRecordThatReachesTheirSize) {
  const std::string file = File({TextOf("one"), TextOf("two"), TextOf("six")});
  Json config = ExamplesConfig();
  config["partition"] = 36;
  const SourceOutcome outcome = ReadExampleFile(config, file);
  ASSERT_EQ(outcome.partitions.size(), 2u);
  EXPECT_EQ(outcome.partitions.at(0).raw_end, 70u);
  EXPECT_EQ(outcome.partitions.at(0).document_end, 2u);
  EXPECT_EQ(outcome.end->partitions, 2u);
  EXPECT_EQ(outcome.end->raw_bytes, file.size());
  EXPECT_EQ(ReadExampleFile(config, "").end->partitions, 0u);
  config["partition"] = 35;
  EXPECT_EQ(ReadExampleFile(config, file).end->partitions, 3u) << "and none that is empty";
}

TEST(ReadExamplesTest, ASubsetIsTheBeginningOrTheSamePart) {
  std::vector<std::string> texts;
  std::vector<TfExample> examples;
  for (int i = 0; i < 400; ++i) texts.push_back("document " + std::to_string(i));
  for (const std::string& text : texts) examples.push_back(TextOf(text));
  Json config = ExamplesConfig();
  config["partition"] = 1000;
  config["subset"] = "150";
  const SourceOutcome first = ReadExampleFile(config, File(examples));
  ASSERT_TRUE(first.status.ok());
  EXPECT_EQ(first.texts, Strings(texts.begin(), texts.begin() + 150));
  EXPECT_EQ(first.end->documents, 150u);
  EXPECT_EQ(first.end->partitions, first.partitions.size());

  config["subset"] = "10%";
  const SourceOutcome part = ReadExampleFile(config, File(examples));
  EXPECT_EQ(part.end->documents, 400u);
  EXPECT_NEAR(static_cast<double>(part.texts.size()), 40, 18);  // three sigma
  for (const std::string& text : part.texts) EXPECT_TRUE(ParseSubset("10%")->Has(Hash64(text)));
  std::uint64_t outside = 0;
  for (const auto& [number, partition] : part.partitions)
    outside += partition.counts.reasons.at("outside_subset");
  EXPECT_EQ(outside, 400 - part.texts.size());
}

TEST(ReadExamplesTest, StopsWhenAskedTo) {
  std::stop_source stop;
  SourceRequest request = RequestFor(File({TextOf("one")}), "rows");
  request.stop = stop.get_token();
  stop.request_stop();
  EXPECT_EQ(RunSource(ReadExamplesType(), ExamplesConfig(), std::move(request)).status.code(),
            Code::kCancelled);
}

TEST(ReadExamplesTest, ChecksItsKeys) {
  EXPECT_EQ(WhyRefused(ExamplesConfig()), "");
  EXPECT_EQ(WhyRefused(ExamplesConfig({})), "text: an empty list; name at least one feature");
  EXPECT_EQ(WhyRefused(ExamplesConfig({"a", "a"})), "text: 'a' comes twice");
  Json labels = ExamplesConfig();
  labels["labels"] = Json::Array{"a"};
  EXPECT_NE(WhyRefused(labels).find("name the feature that has their numbers"), std::string::npos);
  labels["label"] = "label";
  EXPECT_EQ(WhyRefused(labels), "");
  labels["labels_file"] = "names.txt";
  EXPECT_EQ(WhyRefused(labels), "labels and labels_file: name the labels in one of the two");
  Json titles = ExamplesConfig();
  titles["titles"] = true;
  EXPECT_NE(WhyRefused(titles).find("titles: texts without markers have none"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
