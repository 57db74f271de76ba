#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/digest.h"
#include "base/str.h"
#include "stages/sources/row_text.h"
#include "stages/sources/source_stages.h"
#include "tests/stages/sources.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"

namespace pipeline {
namespace {

using namespace std::string_literals;
using Strings = std::vector<std::string>;
using Reasons = decltype(StageCounts::reasons);
using Sizes = decltype(StageCounts::sizes);

Json RowsConfig(std::string_view format, Json::Array text, std::string_view label = {}) {
  Json config;
  config["format"] = format;
  config["text"] = std::move(text);
  if (!label.empty()) config["label"] = label;
  config["header"] = true;
  config["partition"] = 64 << 20;
  config["max_record_bytes"] = 8 << 20;
  for (const char* key : {"quoting", "compression", "archive"}) config[key] = "auto";
  for (const char* key : {"on_bad_row", "on_long"}) config[key] = "quarantine";
  config["invalid_utf8"] = "replace";
  config["columns"] = "lines";
  config["max_ratio"] = 200;
  config["rules"] = "1";
  return config;
}

SourceOutcome ReadRowFile(const Json& config, const std::string& bytes, const std::string& name = "rows") {
  return RunSource(ReadRowsType(), config, RequestFor(bytes, name));
}

TEST(ReadRowsTest, ColumnsOfATsvBecomeTextAndLabel) {
  const SourceOutcome outcome =
      ReadRowFile(RowsConfig("tsv", {"document"}, "label"),
                  "id\tdocument\tlabel\r\n1\t\"stray 'quote\t0\r\n2\ttwo\tcolumns\tmore\n\n"
                  "3\t\t1\n4\tb\xFF\t1\n");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"0|\"stray 'quote", "1|b\uFFFD"}));
  const auto& partition = outcome.partitions.at(0);
  EXPECT_EQ(partition.records[1], "3.0 3 " + std::to_string(Hash64("4\tb\xFF\t1")) + ": 1|b\uFFFD");
  EXPECT_EQ(partition.quarantine, (Strings{"1:dropped_columns:2\ttwo\tcolumns\tmore",
                                           "2:dropped_empty_text:", "3:invalid_utf8:b\xFF"}));
  EXPECT_EQ(partition.counts.reasons, (Reasons{{"blank_lines", 1},
                                               {"crlf", 1},
                                               {"dropped_columns", 1},
                                               {"dropped_empty_text", 1},
                                               {"invalid_utf8", 1}}));
  EXPECT_EQ(partition.counts.records_in, 4u);
  EXPECT_EQ(partition.counts.records_out, 2u);
  EXPECT_EQ(outcome.end->documents, 4u);
}

TEST(ReadRowsTest, ColumnsBecomeFieldsOfOneRecord) {
  Json config = RowsConfig("csv", {"premise", "hypothesis"}, "label");
  config["columns"] = "fields";
  const SourceOutcome outcome = ReadRowFile(config,
                                            "premise,label,hypothesis\n"
                                            "one,0,two three\n"
                                            "\"a\r\n\nb\",1,c\xFF\n"
                                            "\"\n\",1,d\n");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"0|[one][two three]", "1|[a b][c\uFFFD]"}));
  const auto& partition = outcome.partitions.at(0);
  EXPECT_EQ(partition.quarantine, (Strings{"1:invalid_utf8:a b\nc\xFF", "2:dropped_empty_field:\nd"}));
  EXPECT_EQ(partition.counts.reasons.at("dropped_empty_field"), 1u);

  Json json = RowsConfig("jsonl", {"a", "b"});
  json["columns"] = "fields";
  EXPECT_EQ(ReadRowFile(json, R"({"a": "x\ny", "b": "z"})").texts, Strings{"[x y][z]"});
}

TEST(ReadRowsTest, FieldsHaveTheNamesOfTheirColumns) {
  Json config = RowsConfig("tsv", {"premise", "hypothesis"});
  Schema schema;
  ASSERT_TRUE(ReadRowsType().check(config, schema).ok());
  EXPECT_TRUE(schema.field_names.empty());
  config["columns"] = "fields";
  ASSERT_TRUE(ReadRowsType().check(config, schema).ok());
  EXPECT_EQ(schema.columns.at("fields"), ColumnType::kU32List);
  EXPECT_EQ(schema.field_names, (Strings{"premise", "hypothesis"}));
}

TEST(ReadRowsTest, ExampleOfTheFormatPage) {
  const SourceOutcome outcome = ReadRowFile(RowsConfig("csv", {"title", "body"}),
                                            "id,title,body\r\n1,猫,\"a\r\n\"\"b\"\r\n2,x,y\"\n3,x\n");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  const std::string key = std::to_string(Hash64("1,猫,\"a\n\"\"b\""));
  EXPECT_EQ(outcome.partitions.at(0).records,
            (Strings{"0.0 0 " + key + ": 猫", "0.1 0 " + key + ": a", "0.2 0 " + key + ": \"b"}));
  EXPECT_EQ(outcome.partitions.at(0).quarantine,
            (Strings{"1:dropped_quotes:2,x,y\"", "2:dropped_columns:3,x"}));
  EXPECT_EQ(
      ReadRowFile(RowsConfig("jsonl", {"title", "body"}), R"({"title": "猫", "body": "a\r\n\"b"})").texts,
      outcome.texts);
}

TEST(ReadRowsTest, JsonRowsThatAreBadAreSetAsideWithTheirReason) {
  const std::string rows =
      "{\"text\": \"good\", \"label\": \"x\"}\n{\"text\": 5, \"label\": \"x\"}\n{\"label\": \"x\"}\n[1]\n"
      "{\"text\": \"torn\n{\"text\": \"a\\nb\\u0000\", \"label\": 7, \"more\": [{\"text\": 1}]}\n"
      "{\"text\": \"a\", \"label\": null}\n{\"text\": \"\\ud800\", \"label\": 1}\n"
      "{\"text\": \"t\", \"label\": true}\n{\"text\": \"\\n\", \"label\": 1}\n";
  const SourceOutcome outcome = ReadRowFile(RowsConfig("jsonl", {"text"}, "label"), rows);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"x|good", "7|a b\uFFFD", "true|t"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"blank_lines", 1},
                                                              {"dropped_empty_text", 1},
                                                              {"dropped_json", 3},
                                                              {"dropped_no_field", 1},
                                                              {"dropped_wrong_type", 2},
                                                              {"nul", 1}}));
  EXPECT_EQ(outcome.partitions.at(0).quarantine[0], "1:dropped_wrong_type:{\"text\": 5, \"label\": \"x\"}");

  Json config = RowsConfig("jsonl", {"text"}, "label");
  config["on_bad_row"] = "fail";
  EXPECT_EQ(ReadRowFile(config, rows).status.message(),
            "'text' is a number, not a string; mend it, or set on_bad_row: quarantine");
  EXPECT_EQ(ReadRowFile(config, "{\"text\": \"torn").status.message().substr(0, 26),
            "the object does not end in");
  EXPECT_EQ(ReadRowFile(config, "{\"text\": 1e}").status.message().substr(0, 7), "column ");
}

TEST(ReadRowsTest, AdviceNamesTheColumnsThatRowsHave) {
  RowTextRules rules;
  rules.text = {"text"};
  rules.label = "label";
  EXPECT_EQ(
      MembersAdvice("{\"content\": \"a\", \"id\": 1}\n{\"cut\": \n{\"text\": \"b\", \"label\": 1}\n", rules),
      "these rows lack 'label', 'text' and have the columns 'content', 'id', 'label', 'text': name those in "
      "the keys "
      "`text` and `label`, or mend the rows");
  EXPECT_EQ(MembersAdvice("{}\n", rules),
            "these rows lack 'label', 'text' and have no columns: name those in the keys `text` and `label`, "
            "or mend the "
            "rows");
  EXPECT_EQ(MembersAdvice("5\nnull", rules), "does not begin with `{`");
}

TEST(ReadRowsTest, AdviceSaysWhatTheFormOfAFileIs) {
  RowTextRules rules;
  rules.text = {"text"};
  const auto advice = [&rules](std::string_view rows) { return MembersAdvice(rows, rules); };
  EXPECT_EQ(advice("[\n  {\n"),
            "begins with `[`: a JSON array, not one object a line; `jq -c '.[]' FILE` makes lines of it");
  EXPECT_TRUE(
      advice("{\"text\": \"a\"}{\"text\": \"b\"}\n").starts_with("behind the object at byte 13 another one"));
  EXPECT_TRUE(advice("{\"text\": \"a\"},\n").starts_with("behind the object at byte 13 a comma"));
  EXPECT_TRUE(advice("{\n\"text\": \"a\"\n}\n").starts_with("the object does not end in this line"));
  EXPECT_EQ(
      advice("{\"version\": 1, \"data\": [{\"text\": \"a\"}]}\n"),
      "these rows lack 'text', and 'data' is a list of objects: `jq -c '.data[]' FILE` makes lines of it");
  EXPECT_EQ(advice("{\"data\": [{\"text\": \"" + std::string(60 << 10, 'x') + "\n"),
            "'data' is a list of objects: `jq -c '.data[]' FILE` makes lines of it");
  EXPECT_EQ(advice("{\"text\": [\"a\", \"b\"]}\n{}\n").substr(0, 21), "these rows lack 'text");
  EXPECT_EQ(advice("{\"text\": [\"a\", \"b\"]}\n"), "'text' is a list, not a string");
  EXPECT_EQ(advice("{\"text\": {\"a\": 1}}\n"), "'text' is an object, not a string");
  EXPECT_EQ(advice("{\"text\": null}\n"), "'text' is null, not a string");
  EXPECT_EQ(AbsentAdvice("{\"id\": 1, \"body\": \"a\"}\n", "boddy"),
            "they have body, id; did you mean 'body'?");
  EXPECT_EQ(AbsentAdvice("{}\n{\"id\": 1}\n", "boddy"), "they have id");
  EXPECT_EQ(AbsentAdvice("{}\n", "boddy"), "they have none");
}

Json Rules2(Json config) {
  config["rules"] = "2";
  return config;
}

TEST(ReadRowsTest, AbsentNullAndEmptyColumnsAreTheSameAndLoseNothingElse) {
  const std::string rows =
      "{\"title\": \"t\", \"text\": \"a\"}\n{\"text\": \"b\"}\n{\"title\": null, \"text\": \"c\"}\n"
      "{\"title\": \"\", \"text\": \"d\"}\n{\"title\": \"only\"}\n{\"title\": null, \"text\": \"\"}\n{}\n"
      "{\"title\": 5, \"text\": \"e\"}\n";
  const SourceOutcome outcome = ReadRowFile(Rules2(RowsConfig("jsonl", {"title", "text"})), rows);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"t", "a", "b", "c", "d", "only"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"absent_text", 2},
                                                              {"absent_title", 2},
                                                              {"dropped_empty_text", 1},
                                                              {"dropped_no_text", 1},
                                                              {"dropped_wrong_type", 1}}));
  EXPECT_EQ(outcome.partitions.at(0).quarantine.size(), 7u) << "rows that lack a column are a sample";
  EXPECT_EQ(ReadRowFile(RowsConfig("jsonl", {"title", "text"}), rows).partitions.at(0).counts.reasons,
            (Reasons{{"blank_lines", 1}, {"dropped_no_field", 3}, {"dropped_wrong_type", 3}}))
      << "rules 1";

  const SourceOutcome labelled = ReadRowFile(
      Rules2(RowsConfig("jsonl", {"title", "text"}, "label")),
      "{\"text\": \"a\\nb\", \"label\": 1}\n{\"text\": \"c\"}\n{\"text\": \"d\", \"label\": null}\n");
  EXPECT_EQ(labelled.texts, Strings{"1|a b"});
  EXPECT_EQ(labelled.partitions.at(0).counts.reasons,
            (Reasons{{"absent_title", 1}, {"dropped_no_field", 1}, {"dropped_wrong_type", 1}}));
  EXPECT_EQ(labelled.partitions.at(0).quarantine[0], "0:absent_title:{\"text\": \"a\\nb\", \"label\": 1}");

  const SourceOutcome csv =
      ReadRowFile(Rules2(RowsConfig("csv", {"title", "text"})), "title,text\n,a\n\"\",b\n,\nc,\n");
  EXPECT_EQ(csv.texts, (Strings{"a", "b", "c"}));
  EXPECT_EQ(csv.partitions.at(0).counts.reasons, (Reasons{{"dropped_empty_text", 1}}));
}

TEST(ReadRowsTest, ARowOfFieldsNeedsAllOfThem) {
  Json config = Rules2(RowsConfig("jsonl", {"a", "b"}));
  config["columns"] = "fields";
  const SourceOutcome outcome =
      ReadRowFile(config,
                  "{\"a\": \"x\\n\\n \\ny\", \"b\": \"z\"}\n{\"a\": \"x\"}\n{\"a\": null, \"b\": \"y\"}\n"
                  "{\"a\": \"x\", \"b\": \" \"}\n");
  EXPECT_EQ(outcome.texts, Strings{"[x y][z]"});
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons,
            (Reasons{{"absent_b", 1}, {"blank_lines", 3}, {"dropped_empty_field", 3}}));
  Json csv = RowsConfig("csv", {"a", "b"});
  csv["columns"] = "fields";
  EXPECT_EQ(ReadRowFile(csv, "a,b\n\"x\n\ny\",z\n").partitions.at(0).counts.reasons,
            (Reasons{{"blank_lines", 1}}))
      << "blank lines inside a column are counted";
}

TEST(ReadRowsTest, LoneSurrogatesOfATextBecomeReplacementCharacters) {
  const std::string rows =
      "{\"text\": \"a\\ud83d\", \"x\": NaN}\n{\"text\": \"b\", \"x\": \"\\ud83d\"}\n"
      "{\"text\": \"\\ud83d\\ude00\"}\n{\"text\": \"\\udc00\", \"broken\": }\n";
  Json config = Rules2(RowsConfig("jsonl", {"text"}));
  const SourceOutcome outcome = ReadRowFile(config, rows);
  EXPECT_EQ(outcome.texts, (Strings{"a\uFFFD", "b", "\U0001F600"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"dropped_json", 1}, {"lone_surrogate", 1}}));
  config["invalid_utf8"] = "quarantine";
  EXPECT_EQ(ReadRowFile(config, rows).partitions.at(0).counts.reasons,
            (Reasons{{"dropped_invalid_utf8", 1}, {"dropped_json", 1}}));
  config["invalid_utf8"] = "fail";
  EXPECT_EQ(ReadRowFile(config, rows).status.message(),
            "half of a surrogate pair, such as \\ud800, stands in it; mend it, or set "
            "invalid_utf8: replace");
}

TEST(ReadRowsTest, LinesOfWhiteSpaceInsideATextAreBlank) {
  const std::string rows =
      "{\"text\": \"a\\n\u3000\\nb\\n\\n\"}\n \t\n{\"text\": \" \"}\n{\"text\": \"\u3000c\"}\n";
  const SourceOutcome outcome = ReadRowFile(Rules2(RowsConfig("jsonl", {"text"})), rows);
  EXPECT_EQ(outcome.texts, (Strings{"a", "b", "\u3000c"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons,
            (Reasons{{"blank_lines", 4}, {"dropped_empty_text", 1}}));
  EXPECT_EQ(outcome.end->documents, 3u);
  EXPECT_EQ(ReadRowFile(RowsConfig("jsonl", {"text"}), rows).texts,
            (Strings{"a", "\u3000", "b", " ", "\u3000c"}))
      << "rules 1";
  EXPECT_EQ(ReadRowFile(Rules2(RowsConfig("tsv", {"a"})), "a\tb\n\t\n  \nx\ty\n").end->documents, 1u);
}

TEST(ReadRowsTest, TablesWithCrHaveRowsByTheirCrs) {
  const SourceOutcome csv =
      ReadRowFile(Rules2(RowsConfig("csv", {"text"})), "id,text\r1,alpha\r2,\"be\rta\"\r");
  ASSERT_TRUE(csv.status.ok()) << csv.status.message();
  EXPECT_EQ(csv.texts, (Strings{"alpha", "be", "ta"}));
  EXPECT_EQ(csv.partitions.at(0).counts.reasons, (Reasons{{"cr", 2}}));
  EXPECT_EQ(
      ReadRowFile(Rules2(RowsConfig("jsonl", {"text"})), "{\"text\":\"a\"}\r{\"text\":\"b\\rc\"}\r").texts,
      (Strings{"a", "b\rc"}))
      << "an escape is no line end of the file";
}

TEST(ReadRowsTest, MembersThatNobodyReadsMayHoldWhatPythonWrites) {
  const SourceOutcome outcome =
      ReadRowFile(RowsConfig("jsonl", {"text"}),
                  "{\"score\": NaN, \"text\": \"a\"}\n{\"text\": \"b\", \"user\": {\"name\": \"\\ud83d\"}}\n"
                  "{\"x\": 1, \"x\": {\"y\": 1, \"y\": 2, \"text\": 3}, \"text\": \"c\"}\n{\"text\": NaN}\n"
                  "{\"x\": nan, \"text\": \"d\"}\n{\"x\": 1e400, \"text\": \"e\"}\n");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"a", "b", "c", "e"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"dropped_json", 2}}));
}

TEST(ReadRowsTest, AHeaderThatIsNotUtf8IsSaidToBe) {
  Json config = RowsConfig("csv", {"\u6C0F\u540D"});  // the first name, in UTF-8
  config["encoding"] = "utf-8";
  const auto why = [&](const std::string& rows) {
    return std::string(ReadRowFile(config, rows, "a.csv").status.message());
  };
  EXPECT_EQ(why("\x8E\x81\x96\xBC,\x8F\x5A\x8F\x8A\n"),
            "a.csv: no column '\u6C0F\u540D' is in the header, which is not UTF-8 and fits shift_jis: set "
            "encoding");
  EXPECT_EQ(why("na\xEFve\xFF,b\n"),
            "a.csv: no column '\u6C0F\u540D' is in the header, which is not UTF-8 and fits windows-1252 or "
            "one like "
            "it, which is not read: convert the text to UTF-8");
}

TEST(ReadRowsTest, HeadersAreHeldAgainstTheColumns) {
  const auto why = [](Json::Array text, const std::string& rows) {
    return std::string(ReadRowFile(RowsConfig("tsv", std::move(text)), rows, "a.tsv").status.message());
  };
  EXPECT_EQ(why({"documnet"}, "id\tdocument\n"),
            "a.tsv: no column 'documnet' is in the header, which has id, document; did you mean 'document'?");
  EXPECT_EQ(why({"text"}, "id,text\n1,a\n"),
            "a.tsv: no column 'text' is in the header, which has id,text; is `format` right?");
  EXPECT_EQ(
      why({"a"}, "a\ta\n"),
      "a.tsv: two columns of the header are named 'a'; name the one you want by its position, from 1 on");
  EXPECT_EQ(ReadRowFile(RowsConfig("tsv", {"2"}), "a\ta\n1\t2\n").texts, Strings{"2"});
  EXPECT_EQ(ReadRowFile(RowsConfig("tsv", {"2"}), "a\t2\t2nd\nx\ty\tz\n").texts, Strings{"y"})
      << "a name comes first";

  // GA in one code point, and as KA with a mark.
  EXPECT_EQ(ReadRowFile(RowsConfig("tsv", {"\u30ac"}), "id\t\u30ab\u3099\n1\t2\n").texts, Strings{"2"});
  EXPECT_EQ(ReadRowFile(RowsConfig("tsv", {"\u30ac"}), "\u30ab\u3099\t\u30ac\n1\t2\n").texts, Strings{"2"})
      << "the same code points come first";

  Json config = RowsConfig("tsv", {"2"}, "3");
  config["header"] = false;
  EXPECT_EQ(ReadRowFile(config, "x\ty\tz\nx\ty\n1\t2\t3\t4\n").texts, (Strings{"z|y", "3|2"}));
  config["on_bad_row"] = "fail";
  EXPECT_EQ(ReadRowFile(config, "x\ty\tz\nx\ty\n", "a.tsv").status.message(),
            "a.tsv: line 2: has 2 fields, and column 3 is wanted; mend it, or set on_bad_row: quarantine");
}

TEST(ReadRowsTest, LongRowsAreSetAsideInPieces) {
  Json config = RowsConfig("csv", {"a"});
  config["max_record_bytes"] = 1024;
  config["rules"] = "2";
  const std::string rows = "a\nshort\n\"" + std::string(2000, 'x') + "\n\"\nlast\n";
  const SourceOutcome outcome = ReadRowFile(config, rows);
  EXPECT_EQ(outcome.texts, (Strings{"short", "last"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons,
            (Reasons{{"dropped_quotes", 1}, {"long_quarantined", 1}}));
  EXPECT_EQ(outcome.partitions.at(0).quarantine.size(), 3u);
  config["rules"] = "1";
  const SourceOutcome first = ReadRowFile(config, rows);
  EXPECT_EQ(first.texts, (Strings{"short", "last"}));
  EXPECT_EQ(first.partitions.at(0).counts.reasons, (Reasons{{"long_quarantined", 1}}));
  EXPECT_EQ(first.partitions.at(0).quarantine.size(), 2u);
  EXPECT_EQ(first.partitions.at(0).counts.sizes, (Sizes{{"long_quarantined", {2003, 0}}}));
  config["on_long"] = "fail";
  EXPECT_TRUE(ReadRowFile(config, rows, "l.csv")
                  .status.message()
                  .starts_with("l.csv: line at byte 8 of the text is longer"));
}

TEST(ReadRowsTest, NameThatPromisesCompressionNamesTheKeyOfTheStage) {
  EXPECT_EQ(
      ReadRowFile(RowsConfig("jsonl", {"text"}), "{}\n", "a.jsonl.gz").status.message(),
      "a.jsonl.gz: is named .gz but holds no such data; fetch the file again, or set compression: plain "
      "if it is text");
}

TEST(ReadRowsTest, QuoteThatNothingClosesCostsItsRowAlone) {
  Json config = RowsConfig("csv", {"text"});
  config["rules"] = "2";
  std::string rows = "id,text\n";
  for (int row = 0; row < 300; ++row) rows += StrCat(row, row == 100 ? ",\"" : ",", "text\n");
  const SourceOutcome outcome = ReadRowFile(config, rows);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts.size(), 299u);
  EXPECT_EQ(outcome.partitions.at(0).quarantine, Strings{"100:dropped_quotes:100,\"text"});
  EXPECT_EQ(outcome.partitions.at(0).counts.sizes, (Sizes{{"dropped_quotes", {9, 0}}}));
  config["rules"] = "1";
  const SourceOutcome first = ReadRowFile(config, rows);
  EXPECT_EQ(first.texts.size(), 100u);
  EXPECT_EQ(first.partitions.at(0).counts.sizes, (Sizes{{"dropped_quotes", {1801, 199}}}));
}

TEST(ReadRowsTest, LabelsAreCleanToo) {
  Json config = RowsConfig("tsv", {"a"}, "b");
  const std::string rows = "a\tb\nx\t1\ny\t\xFF\n";
  EXPECT_EQ(ReadRowFile(config, rows).texts, (Strings{"1|x", "\uFFFD|y"}));
  config["invalid_utf8"] = "quarantine";
  const SourceOutcome outcome = ReadRowFile(config, rows);
  EXPECT_EQ(outcome.texts, Strings{"1|x"});
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"dropped_invalid_utf8", 1}}));
  config["invalid_utf8"] = "fail";
  EXPECT_EQ(ReadRowFile(config, rows).status.message(),
            "its label '?' is not UTF-8; mend it, or set invalid_utf8: replace");
}

std::string Table(std::string_view format, int rows) {
  std::mt19937 random(9);
  std::string table = format == "csv" ? "id,text,label\n" : "";
  for (int row = 0; row < rows; ++row) {
    const std::string text(random() % 60, 'x');
    const std::string id = std::to_string(row), label = std::to_string(random() % 3);
    const bool bad = random() % 20 == 0;
    if (format == "csv")
      table += id + ",\"" + text + (random() % 3 == 0 ? "\n\"\"猫\"" : "\"") + (bad ? "" : "," + label);
    else
      table +=
          "{\"id\": " + id + ", \"text\": \"" + text + "\\n猫\"" + (bad ? "" : ", \"label\": " + label) + "}";
    table += random() % 9 == 0 ? "\r\n\n" : "\n";
  }
  return table;
}

TEST(ReadRowsTest, AnyPackingBatchAndResumeGivesTheSame) {
  for (const std::string format : {"csv", "jsonl", "csv by CR", "jsonl by CR"})
    for (const bool label : {false, true}) {
      Json config = RowsConfig(format.substr(0, format.find(' ')), {"text"}, label ? "label" : "");
      config["partition"] = 5000;
      std::string table = Table(config["format"].AsString(), 1500);
      if (format.ends_with("CR")) {
        config = Rules2(config);
        std::replace(table.begin(), table.end(), '\n', '\r');
      }
      const SourceOutcome whole = ReadRowFile(config, table);
      const auto partitions = static_cast<std::uint32_t>(whole.partitions.size());
      ASSERT_GT(partitions, 8u);
      for (const std::string& bytes :
           {table, XzCompress(table, 10'000), Bzip2Compress(table), Lz4Compress(table)})
        for (const std::size_t batch : {300u, 1u << 20})
          for (std::uint32_t done = 0; done <= partitions; done += 3) {
            SourceRequest request = RequestFor(bytes, "rows", 999);
            request.decoder_threads = 2;
            request.batch_bytes = batch;
            request.wanted = [done](std::uint32_t p) { return p >= done; };
            request.known_end = [&whole, done](std::uint32_t p) -> std::optional<PartitionEnd> {
              if (p >= done) return std::nullopt;
              return PartitionEnd{whole.partitions.at(p).raw_end, whole.partitions.at(p).document_end};
            };
            SourceOutcome expected = whole;
            for (std::uint32_t p = 0; p < done; ++p) expected.partitions.erase(p);
            ExpectSame(RunSource(ReadRowsType(), config, std::move(request)), expected, format);
          }
    }
}

TEST(ReadRowsTest, MembersOfArchivesHaveHeadersOfTheirOwn) {
  const std::string one = "id,text\n1,\"never closed\n", two = "\xEF\xBB\xBFtext,id\nb,2\n";
  Json config = RowsConfig("csv", {"text"});
  config["members"] = Json::Array{"*.csv"};
  for (const std::string& bytes :
       {Tar({{"d", "", '5'}, {"d/1.csv", one}, {"d/README", "?"}, {"d/2.csv", two}}),
        GzipCompress(Tar({{"d", "", '5'}, {"1.csv", one}, {"README", "?"}, {"2.csv", two}})),
        Zip({{"d/", "", '5'}, {"1.csv", one}, {"README", "?"}, {"2.csv", two}})}) {
    const SourceOutcome outcome = ReadRowFile(config, bytes);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.texts, Strings{"b"});
    EXPECT_EQ(outcome.partitions.at(0).counts.reasons, (Reasons{{"bom", 1}, {"dropped_quotes", 1}}));
    EXPECT_EQ(outcome.end->outside.reasons,
              (Reasons{{"members", 2}, {"members_left_out", 1}, {"members_not_files", 1}}));
  }
  EXPECT_EQ(ReadRowFile(config, Zip({{"1.csv", one}, {"2.csv", "other\n1\n"}}), "z.zip").status.message(),
            "z.zip: member '2.csv': no column 'text' is in the header, which has other; is `format` right?");
  EXPECT_EQ(ReadRowFile(config, Zip({{"1.tsv", one}}), "z.zip").status.message(),
            "z.zip: none of its 1 files has a name that the patterns of `members` describe");
}

TEST(ReadRowsTest, ChecksKeysAndGivesColumns) {
  const auto why = [](const Json& config) {
    Schema schema;
    return std::string(ReadRowsType().check(config, schema).message());
  };
  Schema schema;
  EXPECT_TRUE(ReadRowsType().check(RowsConfig("tsv", {"a"}, "b"), schema).ok());
  EXPECT_EQ(schema.columns,
            (decltype(schema.columns){{"text", ColumnType::kUtf8}, {"label", ColumnType::kUtf8}}));
  EXPECT_EQ(why(RowsConfig("tsv", {})), "text: an empty list; name at least one column");
  EXPECT_EQ(why(RowsConfig("tsv", {"a", "a"})), "text: 'a' comes twice");
  Json config = RowsConfig("tsv", {"a"});
  config["header"] = false;
  EXPECT_NE(why(config).find("without a header, columns are positions from 1"), std::string::npos);
  config = RowsConfig("jsonl", {"a"});
  config["quoting"] = "none";
  EXPECT_EQ(why(config), "quoting: JSON has its own; leave the key out");
  config = RowsConfig("tsv", {"a"});
  config["max_ratio"] = 0;
  EXPECT_NE(why(config).find("max_ratio: 0: must be from 1"), std::string::npos);
  config = RowsConfig("tsv", {"a"});
  config["members"] = Json::Array{};
  EXPECT_NE(why(config).find("members: an empty list"), std::string::npos);
}

TEST(ArchivedLinesTest, ArchivesOfTextAreReadByDecompress) {
  Json config = RowsConfig("", {});
  config["format"] = "auto";
  config["documents"] = "blank_line";
  config["max_document_bytes"] = 64 << 20;
  const std::string tar = Tar({{"1", "a\nb"},
                               {"2",
                                "\xEF\xBB\xBF"
                                "c\n\nd\n"}});
  const auto read = [&](const std::string& bytes, const std::string& name) {
    return RunSource(DecompressType(), config, RequestFor(bytes, name, 100));
  };
  const SourceOutcome plain = read(tar, "a.tar");
  EXPECT_EQ(plain.texts, (Strings{"a", "b", "c", "d"}));
  EXPECT_EQ(plain.end->documents, 3u);
  for (const std::string& bytes : {XzCompress(tar), XzCompress(tar, 600), ZstdCompress(tar),
                                   GzipCompress(tar), Bzip2Compress(tar), Lz4Compress(tar)})
    ExpectSame(read(bytes, "a.tar.x"), plain, "compressed");
  EXPECT_EQ(read("text", "a.tar.gz").status.code(), Code::kDataLoss);
  EXPECT_NE(read(GzipCompress("text"), "a.tgz").status.message().find("named as a tar archive"),
            std::string::npos);
  EXPECT_EQ(read(Zip({{"u",
                       "\xFF\xFE\0\0"
                       "a\0\0\0"s}}),
                 "a.zip")
                .status.message()
                .substr(0, 37),
            "a.zip: member 'u': text is UTF-32LE, ");
  EXPECT_NE(read(GzipCompress(Zip({{"a", "b"}})), "a").status.message().find("zip inside gzip"),
            std::string::npos);
  config["archive"] = "none";
  EXPECT_TRUE(read(tar, "a.tar").status.ok());
  EXPECT_NE(read(tar, "a.tar").texts, plain.texts);
}

}  // namespace
}  // namespace pipeline
