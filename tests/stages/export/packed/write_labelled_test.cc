// Rows of labelled documents: the keys `labels`, `labels_file` and `on_unknown_label` of write_packed.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/batches.h"
#include "tests/stages/export/packed/label_model.h"
#include "tests/stages/export/packed/published_rows.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

const std::vector<std::string> kNames = {"no", "yes", "perhaps"};

Json NamesOf(const std::vector<std::string>& names) { return Json(Json::Array(names.begin(), names.end())); }

Json Labelling(const Json& base, const std::vector<std::string>& names = kNames) {
  return With(With(base, "packing", "best_fit"), "labels", NamesOf(names));
}

/// As the pipeline file reads `labels: numbers`.
Json Numbering(const Json& base) { return Labelling(base, {"numbers"}); }

std::unique_ptr<Published> WriteLabelled(const Json& config, const PackedCorpus& corpus,
                                         TokenizerFacts facts = PipeTokenizer(LabelModel()),
                                         std::size_t batch_lines = 16, std::uint64_t memory = kMemory) {
  return Publish(config, facts, corpus, batch_lines, memory, {}, LabelModel());
}

std::unique_ptr<Published> WriteNumbered(const PackedCorpus& corpus, std::size_t batch_lines = 16,
                                         std::uint64_t memory = kMemory) {
  const std::string model = NumberModel();
  return Publish(Numbering(Config(60)), PipeTokenizer(model), corpus, batch_lines, memory, {}, model);
}

/// The documents of a split, each as its scored and other ids, without eos.
using Documents = std::multiset<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>>;

Documents WantedDocuments(const PackedCorpus& corpus, std::uint8_t split, std::size_t seq_len, bool newline) {
  std::map<std::uint64_t, std::pair<std::string, std::vector<std::uint32_t>>> texts;
  for (const auto& [id, lines] : corpus)
    for (const PackedLine& line : lines) {
      if (line.split != split) continue;
      const bool first = !texts.contains(line.document);
      auto& [label, text] = texts[line.document];
      label = line.label;
      if (!first && newline) text.push_back(4);
      text.insert(text.end(), line.ids.begin(), line.ids.end());
    }
  Documents wanted;
  for (auto& [document, text] : texts) {
    const std::vector<std::uint32_t> label = LabelOf(text.first).ids;
    text.second.resize(std::min(text.second.size(), seq_len - label.size() - (newline ? 2 : 1)));
    if (newline) text.second.push_back(4);
    wanted.emplace(label, text.second);
  }
  return wanted;
}

TEST(WriteLabelledTest, EveryDocumentEndsWithItsLabelWhichIsScored) {
  const PackedCorpus corpus = Labelled(RandomPackedCorpus(3, 20), kNames);
  TokenizerFacts by_line = PipeTokenizer(LabelModel());
  by_line.newline_id = by_line.pad_id = -1;
  for (const TokenizerFacts& facts : {PipeTokenizer(LabelModel()), by_line})
    for (const std::string encoding : {"example", "array_record"})
      for (const Json& base : {Config(60), Unshuffled(60)}) {
        const auto published = WriteLabelled(With(Labelling(base), "encoding", encoding), corpus, facts);
        ASSERT_TRUE(published->info.weights);
        ASSERT_EQ(published->info.labels,
                  (std::vector<PackedLabel>{LabelOf("no"), LabelOf("yes"), LabelOf("perhaps")}));
        for (const PackedSplit& split : published->info.splits) {
          Documents found;
          PackedTotals totals;
          for (const PackedShard& shard : split.shards)
            for (const PackedRow& row : RowsOf(*published, shard)) {
              std::vector<std::uint32_t> label, text;
              for (std::uint32_t at = 1; at < row.facts.length; ++at) {
                if (row.ids[at] != 2) {
                  (row.weights[at] == 1 ? label : text).push_back(row.ids[at]);
                  continue;
                }
                EXPECT_EQ(row.weights[at], 1u);
                found.emplace(label, text);
                totals.bytes += label.size() + 1;  // a byte for each id
                totals.scored += label.size() + 1;
                label.clear(), text.clear();
              }
              EXPECT_TRUE(label.empty() && text.empty()) << "a document that the row cuts";
              ++totals.rows;
              totals.tokens += row.facts.length;
            }
          totals.chars = totals.bytes;
          EXPECT_EQ(totals, split.totals());
          EXPECT_EQ(found, WantedDocuments(corpus, split.name == "train" ? 0 : 1, 60, facts.newline_id >= 0));
        }
      }
}

TEST(WriteLabelledTest, SameBytesForAnyBatchAndMemory) {
  const PackedCorpus corpus = Labelled(RandomPackedCorpus(3, 20), kNames);
  const auto wanted = WriteLabelled(Labelling(Config(60)), corpus);
  for (const std::size_t batch_lines : {1u, 7u, 1000u})
    EXPECT_EQ(WriteLabelled(Labelling(Config(60)), corpus, PipeTokenizer(LabelModel()), batch_lines, 1000)
                  ->out.objects(),
              wanted->out.objects());
  EXPECT_EQ(DigestOfAll(*wanted), "87bc732d6d8de3c7c4af3462f06df771")
      << "other bytes: raise the version of write_packed";
}

TEST(WriteLabelledTest, CutDocumentsAreCounted) {
  const PackedCorpus corpus = Labelled(RandomPackedCorpus(2, 20), kNames);
  std::uint64_t wanted = 0;
  std::map<std::uint64_t, std::size_t> ids;  // of the text of documents
  for (const auto& [id, lines] : corpus)
    for (const PackedLine& line : lines) {
      const bool first = !ids.contains(line.document);
      ids[line.document] += line.ids.size() + (first ? 0 : 1);
    }
  for (const auto& [document, count] : ids) wanted += count + kNames[document % 3].size() + 2 > 40 ? 1 : 0;
  const std::string model = LabelModel();
  const auto stage =
      MakeWritePacked(Labelling(Config(40)), ToJson(PipeTokenizer(model)), model, {"train", "validation"});
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  MapStore artifact;
  std::uint64_t cut = 0, scored = 0;
  for (const PartitionOutput& output : WritePackedPieces(**stage, artifact, corpus, 16))
    for (const auto& [reason, count] : output.committed.reasons) {
      cut += reason == "cut_documents" ? count : 0;
      scored += reason.starts_with("scored_of_") ? count : 0;
      EXPECT_NE(reason, "unscored_documents");
    }
  EXPECT_EQ(cut, wanted);
  EXPECT_GT(cut, 0u);
  EXPECT_LT(cut, 40u);
  EXPECT_GT(scored, 0u);
}

TEST(WriteLabelledTest, TheFileOfNamesGivesTheSameBytes) {
  const TempDir dir;
  WriteFile(dir / "names.txt", "no\nyes\nperhaps\n");
  const PackedCorpus corpus = Labelled(RandomPackedCorpus(1, 20), kNames);
  const Json named = With(With(Config(60), "packing", "best_fit"), "labels_file", dir / "names.txt");
  EXPECT_EQ(WriteLabelled(named, corpus)->out.objects(),
            WriteLabelled(Labelling(Config(60)), corpus)->out.objects());
  const std::vector<StageFile> files = *WritePackedType().files(named);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, dir / "names.txt");
  WriteFile(dir / "names.txt", "no\n");
  EXPECT_EQ(WritePackedType().prepare(named).message(),
            "labels: 1 name, and there is nothing to choose among fewer than two; name all labels");
  EXPECT_TRUE(WritePackedType().prepare(Config(60)).ok());
}

TEST(WriteLabelledTest, ARecordWithAnotherLabelFailsOrIsSetAside) {
  const std::string model = LabelModel();
  const auto apply = [&](const Json& config, Batch& batch, StageCounts& counts) {
    const auto stage = MakeWritePacked(config, ToJson(PipeTokenizer(model)), model, {"train"});
    return (*(*stage)->encoder()->NewWorker())->Apply(batch, 3, counts);
  };
  const std::vector<PackedLine> lines = {
      {"a", {10}, {1}, 0, 0, "no"}, {"b", {11}, {1}, 1, 0, "never"}, {"c", {12}, {1}, 2, 0, ""}};
  Batch batch = PackedBatch({0, 1}, lines, 0, 3);
  StageCounts counts;
  EXPECT_EQ(apply(Labelling(Config(60)), batch, counts).message(),
            "its label 'never' is not among `labels`; name it there, or set "
            "on_unknown_label: quarantine");
  EXPECT_EQ(batch.failed_index, 1u);
  batch = PackedBatch({0, 1}, lines, 0, 3);
  EXPECT_TRUE(apply(With(Labelling(Config(60)), "on_unknown_label", "quarantine"), batch, counts).ok());
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.label[0], "no");
  EXPECT_EQ(batch.ids[0].size(), 1u);
  EXPECT_EQ(counts.reasons.at("dropped_unknown_label"), 2u);
  ASSERT_EQ(batch.quarantine.size(), 2u);
  EXPECT_EQ(batch.quarantine[0].bytes, "never\tb");
  EXPECT_EQ(batch.quarantine[1].bytes, "\tc");
  EXPECT_EQ(batch.quarantine[1].stage, 3u);
  for (const auto& [reason, count] : counts.reasons)
    EXPECT_NE(FindReason(WritePackedType().reasons, reason), nullptr) << reason;

  const auto unlabelled = MakeWritePacked(Config(60), ToJson(PipeTokenizer(model)), model, {"train"});
  EXPECT_EQ((*unlabelled)->encoder(), nullptr);
}

TEST(WriteLabelledTest, ANumberIsTheLastLineInTheOneTextOfItsValue) {
  const PackedCorpus corpus =
      Labelled(RandomPackedCorpus(3, 20), {"+4.50", "-0", "1e3", "12345678901234567890", "0.00001"});
  const PackedCorpus same =
      Labelled(RandomPackedCorpus(3, 20), {"4.5", "0", "1000", "1.2345678901234567e19", "1e-05"});
  const auto published = WriteNumbered(corpus);
  EXPECT_TRUE(published->info.number_labels && published->info.labels.empty() && published->info.weights);
  std::set<std::vector<std::uint32_t>> found, wanted;
  for (const PackedSplit& split : published->info.splits)
    for (const PackedShard& shard : split.shards)
      for (const PackedRow& row : RowsOf(*published, shard)) {
        std::vector<std::uint32_t> number;
        for (std::uint32_t at = 1; at < row.facts.length; ++at) {
          if (row.weights[at] == 0) continue;
          if (row.ids[at] != 2) number.push_back(row.ids[at]);
          if (row.ids[at] == 2) found.insert(std::exchange(number, {}));
        }
      }
  for (const std::string_view text : {"4.5", "0", "1000", "1.2345678901234567e19", "1e-05"})
    wanted.insert(LabelOf(text).ids);
  EXPECT_EQ(found, wanted);
  for (const std::size_t batch_lines : {1u, 1000u})
    EXPECT_EQ(WriteNumbered(same, batch_lines, 1000)->out.objects(), published->out.objects());
  EXPECT_EQ(DigestOfAll(*published), "22e63688b1bfbb59abba1cc225129357")
      << "other bytes: raise the version of write_packed";
}

TEST(WriteLabelledTest, ALabelThatIsNoNumberFailsOrIsSetAside) {
  const std::string model = NumberModel();
  const auto apply = [&](const Json& config, Batch& batch, StageCounts& counts) {
    const auto stage = MakeWritePacked(config, ToJson(PipeTokenizer(model)), model, {"train"});
    return (*(*stage)->encoder()->NewWorker())->Apply(batch, 3, counts);
  };
  std::vector<PackedLine> lines = {{"a", {10}, {1}, 0, 0, "4.5"}};
  for (const std::string none : {"nan", "1e999", "", "inf", "4,5", " 4", "4 ", "0x10", "+-4", "four"})
    lines.push_back({"b", {11}, {1}, lines.size(), 0, none});
  Batch batch = PackedBatch({0, 1}, lines, 0, lines.size());
  StageCounts counts;
  EXPECT_EQ(apply(Numbering(Config(60)), batch, counts).message(),
            "its label 'nan' is no finite decimal number; correct it, or set "
            "on_unknown_label: quarantine");
  EXPECT_EQ(batch.failed_index, 1u);
  batch = PackedBatch({0, 1}, lines, 0, lines.size());
  EXPECT_TRUE(apply(With(Numbering(Config(60)), "on_unknown_label", "quarantine"), batch, counts).ok());
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.label[0], "4.5");
  EXPECT_EQ(counts.reasons.at("dropped_unknown_label"), lines.size() - 1);
}

TEST(WriteLabelledTest, NumbersNeedTheirCharactersAndRoom) {
  const auto refused = [](const std::string& model, std::int64_t seq_len) {
    return std::string(
        MakeWritePacked(Numbering(Config(seq_len)), ToJson(PipeTokenizer(model)), model, {"train"})
            .status()
            .message());
  };
  EXPECT_EQ(refused(NumberModel(), 30), "");
  EXPECT_EQ(refused(NumberModel(), 29),
            "labels: a number and the ends of lines take up to 29 ids, and a row has room for 29, so that no "
            "text may fit beside it; give a larger `seq_len`");
  EXPECT_EQ(refused(LabelModel("abcdefghijklmnopqrstuvwxyz012345678.-"), 60),
            "labels: the tokenizer has no piece for '9', which numbers have; take one with `byte_fallback: "
            "true`");
  EXPECT_TRUE(WritePackedType().prepare(Numbering(Config(60))).ok());
}

TEST(WriteLabelledTest, RefusesNamesThatTheTokenizerDoesNotTellApart) {
  const auto refused = [](const std::vector<std::string>& names, std::int64_t seq_len) {
    const std::string model = LabelModel();
    return std::string(
        MakeWritePacked(Labelling(Config(seq_len), names), ToJson(PipeTokenizer(model)), model, {"train"})
            .status()
            .message());
  };
  EXPECT_EQ(refused({"no", "yes"}, 60), "");
  EXPECT_EQ(refused({"no", "never"}, 60), "") << "both begin with n";
  EXPECT_EQ(
      refused({"no", "yes", "never"}, 60),
      "labels: 'no' and 'never' have the same id 0, 23: trainers decide by the first id behind those with "
      "which all names begin; choose names whose first pieces differ");
  EXPECT_EQ(
      refused({"no", "YES"}, 60),
      "labels: 'YES' has text for which the tokenizer has no piece, so that its ids do not give the name; "
      "choose another name, or a tokenizer with `byte_fallback: true`");
  EXPECT_EQ(refused({"no", "yes"}, 5),
            "labels: 'yes' and the ends of lines take 5 ids, and a row has room for 5, so that no text fits "
            "beside it; give a larger `seq_len` or a shorter name");
  EXPECT_EQ(refused({"no", "yes"}, 6), "");
}

TEST(WriteLabelledTest, ChecksItsKeys) {
  const auto refused = [](const Json& config, bool labelled = true) {
    Schema schema;
    if (labelled) schema.columns["label"] = ColumnType::kUtf8;
    return std::string(WritePackedType().check(config, schema).message());
  };
  const Json good = Labelling(Config(60));
  EXPECT_EQ(refused(good), "");
  EXPECT_EQ(refused(With(good, "encoding", "array_record")), "");
  EXPECT_EQ(refused(Numbering(Config(60))), "");
  EXPECT_EQ(refused(good, false),
            "labels: the records that come in have none; map one with the key `label` of a stage that reads "
            "rows");
  EXPECT_EQ(
      refused(With(good, "packing", "stream")),
      "labels: a label stands in one row with its document, and `packing: stream` cuts documents; write "
      "`packing: best_fit`");
  EXPECT_EQ(refused(With(good, "encoding", "raw16")),
            "labels: rows in raw16 have no room for weights; write `encoding: example` or `array_record`");
  EXPECT_EQ(
      refused(With(good, "answers_after", "<answer>")),
      "labels: beside answers_after: the answer to a document with a label is its label; leave one of the "
      "two out");
  EXPECT_EQ(refused(Labelling(Config(60), {"no"})),
            "labels: 1 name, and there is nothing to choose among fewer than two; name all labels");
  EXPECT_EQ(refused(Labelling(Config(60), {"no", "no"})), "labels: 'no' comes twice");
  EXPECT_EQ(refused(With(good, "labels_file", "names.txt")),
            "labels and labels_file: name the labels in one of the two");
  EXPECT_EQ(refused(With(Config(60), "on_unknown_label", "fail")),
            "on_unknown_label: no label is named; name all with `labels`");
  EXPECT_EQ(refused(Config(60)), "") << "records may have labels that rows do not";
}

TEST(WriteLabelledTest, NamesASplitThatHasNoScoredTarget) {
  const std::string model = LabelModel();
  const auto stage =
      MakeWritePacked(Labelling(Config(60)), ToJson(PipeTokenizer(model)), model, {"train", "validation"});
  ArtifactTotals totals;
  totals.splits["train"].records = totals.splits["validation"].records = 1;
  totals.counts.Add("scored_of_train", 1);
  EXPECT_EQ(
      (*stage)->CheckCounts(totals).message(),
      "split 'validation' has no scored target, so that its loss would be 0 / 0: none of its rows has a "
      "document with a label; give it more documents");
}

TEST(WriteLabelledTest, LongLabelsAreInTheMemoryOfAPartition) {
  const std::string model = LabelModel();
  const auto memory_of = [&](const std::vector<std::string>& names) {
    const auto stage =
        MakeWritePacked(Labelling(Config(60), names), ToJson(PipeTokenizer(model)), model, {"train"});
    return (*stage)->partition_memory(1 << 20);
  };
  EXPECT_EQ(memory_of({"no", "perhaps"}) - memory_of({"no", "yes"}), 4u * 6 * (1 << 16));
}

}  // namespace
}  // namespace pipeline
