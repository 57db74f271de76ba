#include <gtest/gtest.h>

#include <string>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "stages/export/packed/packed_export.h"
#include "tests/stages/export/packed/after_first.h"
#include "tests/stages/export/packed/published_rows.h"

namespace pipeline {
namespace {

/// The streams of a split, partition by partition, without the eos in front.
std::vector<std::uint32_t> Targets(const PackedCorpus& corpus, std::uint8_t split,
                                   const TokenizerFacts& facts) {
  std::vector<std::uint32_t> targets;
  for (const auto& [id, lines] : corpus)
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (lines[at].split != split) continue;
      targets.insert(targets.end(), lines[at].ids.begin(), lines[at].ids.end());
      const bool last = at + 1 == lines.size() || lines[at + 1].document != lines[at].document;
      targets.push_back(
          static_cast<std::uint32_t>(last || facts.newline_id < 0 ? facts.eos_id : facts.newline_id));
    }
  return targets;
}

TEST(WritePackedTest, KeepsEveryTargetOnceInTheOrderOfTheCorpus) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  TokenizerFacts by_line = PipeTokenizer(kModel);
  by_line.newline_id = by_line.pad_id = -1;
  by_line.layout = "flax_lm1b";
  for (const TokenizerFacts& facts : {PipeTokenizer(kModel), by_line}) {
    const auto published = Publish(Unshuffled(13), facts, corpus);
    EXPECT_EQ(published->info.fill_id, facts.pad_id < 0 ? 2u : 0u);
    for (const PackedSplit& split : published->info.splits) {
      const std::uint8_t number = split.name == "train" ? 0 : 1;
      std::vector<std::uint32_t> targets;
      PackedTotals totals;
      for (const PackedShard& shard : split.shards)
        for (const PackedRow& row : RowsOf(*published, shard)) {
          EXPECT_EQ(row.ids.size(), 14u);
          targets.insert(targets.end(), row.ids.begin() + 1, row.ids.begin() + row.facts.length);
          totals += {1, row.facts.length, row.facts.bytes, row.facts.chars};
        }
      EXPECT_EQ(targets, Targets(corpus, number, facts));
      EXPECT_EQ(totals, split.totals());
      std::uint64_t bytes = 0;
      std::uint64_t lines_in_split = 0;
      for (const auto& [id, lines] : corpus)
        for (const PackedLine& line : lines)
          if (line.split == number) bytes += line.text.size(), ++lines_in_split;
      EXPECT_EQ(totals.bytes, bytes + lines_in_split);
      EXPECT_EQ(totals.chars, bytes / 3 + lines_in_split);
    }
  }
}

TEST(WritePackedTest, TheShuffleKeepsEachRowAndItsIndexTogether) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const auto rows_of = [](Published& published) {
    std::map<std::string, std::vector<std::pair<std::vector<std::uint32_t>, std::uint32_t>>> rows;
    for (const PackedSplit& split : published.info.splits) {
      for (const PackedShard& shard : split.shards)
        for (const PackedRow& row : RowsOf(published, shard))
          rows[split.name].emplace_back(row.ids, row.facts.chars);
      std::sort(rows[split.name].begin(), rows[split.name].end());
    }
    return rows;
  };
  const auto plain = Publish(Unshuffled(13), PipeTokenizer(kModel), corpus);
  const auto shuffled = Publish(Config(13), PipeTokenizer(kModel), corpus);
  EXPECT_EQ(rows_of(*plain), rows_of(*shuffled));
  EXPECT_EQ(shuffled->info.splits[0].shards.size(), 4u) << "a multiple of the hosts";
  EXPECT_EQ(shuffled->info.splits[1].shards.size(), 3u);
  EXPECT_EQ(shuffled->info.splits[0].totals(), plain->info.splits[0].totals());
}

TEST(WritePackedTest, SameBytesForAnyBatchAndMemory) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const auto wanted = Publish(Config(13), PipeTokenizer(kModel), corpus, 1);
  for (const std::size_t batch_lines : {2u, 7u, 1000u})
    EXPECT_EQ(Publish(Config(13), PipeTokenizer(kModel), corpus, batch_lines, 1000)->out.objects(),
              wanted->out.objects());
  EXPECT_EQ(DigestOfAll(*wanted), "e5fce95c068f6941fcc905ffc4504277")
      << "other bytes: raise the version of write_packed";
}

TEST(WritePackedTest, EqualLeavesOutRowsAndSaysHowMany) {
  const PackedCorpus corpus = RandomPackedCorpus(2, 30);
  Json config = Config(13);
  config["shards"] = 8;
  const auto all = Publish(config, PipeTokenizer(kModel), corpus);
  config["equal"] = true;
  const auto equal = Publish(config, PipeTokenizer(kModel), corpus);
  const std::uint64_t rows = all->info.splits[0].totals().rows;
  EXPECT_EQ(equal->info.splits[0].left_out, rows % 8);
  EXPECT_GT(rows % 8, 0u);
  EXPECT_EQ(equal->info.splits[0].totals().rows, rows - rows % 8);
  EXPECT_EQ(equal->info.splits[1], all->info.splits[1]);
}

TEST(WritePackedTest, EveryEncodingHasTheSameRows) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const std::map<std::string, std::string> digests = {{"example", "e5fce95c068f6941fcc905ffc4504277"},
                                                      {"raw16", "7f8d809b9a7f3e0bff2d07405b100a20"},
                                                      {"raw32", "e1063ff1944dea38ab6b4de560c353e6"},
                                                      {"mmap", "5efa10f7a3a077dd7997e1336128312a"},
                                                      {"array_record", "27f30bf5dcecf1990bcd7de0440df16a"}};
  for (const Json& base : {Config(13), Unshuffled(13)}) {
    const auto wanted = Publish(base, PipeTokenizer(kModel), corpus);
    for (const auto& [encoding, digest] : digests) {
      const auto found = Publish(With(base, "encoding", encoding), PipeTokenizer(kModel), corpus, 1000, 1000);
      ASSERT_EQ(found->info.splits.size(), 2u);
      EXPECT_EQ(PackedEncodingName(found->info.encoding), encoding);
      for (std::size_t split = 0; split < 2; ++split) {
        const auto& shards = found->info.splits[split].shards;
        ASSERT_EQ(shards.size(), wanted->info.splits[split].shards.size());
        for (std::size_t shard = 0; shard < shards.size(); ++shard) {
          EXPECT_EQ(shards[shard].totals, wanted->info.splits[split].shards[shard].totals);
          const std::vector<PackedRow> rows = RowsOf(*found, shards[shard]);
          const std::vector<PackedRow> others = RowsOf(*wanted, wanted->info.splits[split].shards[shard]);
          ASSERT_EQ(rows.size(), others.size());
          for (std::size_t row = 0; row < rows.size(); ++row) {
            std::vector<std::uint32_t> ids = others[row].ids;
            if (encoding == "mmap") std::fill(ids.begin() + others[row].facts.length, ids.end(), 2u);
            EXPECT_EQ(rows[row].ids, ids);
            EXPECT_TRUE(encoding == "mmap" || rows[row].facts == others[row].facts);
          }
        }
      }
      if (base == Unshuffled(13)) continue;
      EXPECT_EQ(DigestOfAll(*found), digest)
          << encoding << ": other bytes: raise the version of write_packed";
    }
  }
}

TEST(WritePackedTest, BestFitKeepsEveryTargetAndSaysHowMuchFillsRows) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const Json config = With(With(Config(100), "packing", "best_fit"), "segments", true);
  const auto published = Publish(config, PipeTokenizer(kModel), corpus);
  EXPECT_EQ(published->info.packing, Packing::kBestFit);
  for (const PackedSplit& split : published->info.splits) {
    std::vector<std::uint32_t> targets,
        wanted = Targets(corpus, split.name == "train" ? 0 : 1, PipeTokenizer(kModel));
    for (const PackedShard& shard : split.shards)
      for (const PackedRow& row : RowsOf(*published, shard)) {
        targets.insert(targets.end(), row.ids.begin() + 1, row.ids.begin() + row.facts.length);
        for (std::size_t at = 0; at < row.ids.size(); ++at) {
          EXPECT_EQ(row.segments.ids[at] == 0, at >= row.facts.length);
          if (at == 0 || at >= row.facts.length) continue;
          EXPECT_EQ(row.segments.ids[at] != row.segments.ids[at - 1], row.ids[at - 1] == 2);
        }
      }
    std::sort(targets.begin(), targets.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(targets, wanted);
    const double padding = published->info.padding(split.totals());
    EXPECT_GT(padding, 0);
    EXPECT_LT(padding, 0.3);
  }
  for (const std::size_t batch_lines : {1u, 7u})
    EXPECT_EQ(Publish(config, PipeTokenizer(kModel), corpus, batch_lines, 1000)->out.objects(),
              published->out.objects());
  EXPECT_EQ(DigestOfAll(*published), "97a61349a8d775fa5d587f7ba045aedd")
      << "other bytes: raise the version of write_packed";

  const auto stage = MakeWritePacked(config, ToJson(PipeTokenizer(kModel)), kModel, {"train", "validation"});
  MapStore artifact;
  StageCounts counts;
  for (const PartitionOutput& output : WritePackedPieces(**stage, artifact, corpus, 16))
    for (const auto& [reason, count] : output.committed.reasons) counts.Add(reason, count);
  std::uint64_t rows = 0, tokens = 0;
  for (const PackedSplit& split : published->info.splits)
    rows += split.totals().rows, tokens += split.totals().tokens;
  EXPECT_EQ(counts.reasons.at("row_ids"), rows * 101);
  EXPECT_EQ(counts.reasons.at("fill_ids"), rows * 101 - tokens);
  const Metric metric = WritePackedType().metrics.at(0);
  EXPECT_EQ(metric.name, "padding");
  EXPECT_NEAR(metric.value(counts), 1 - static_cast<double>(tokens) / (static_cast<double>(rows) * 101),
              1e-9);
}

TEST(WritePackedTest, WeightsGoWithTheirRows) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  for (const std::string encoding : {"example", "array_record"})
    for (const std::string packing : {"stream", "best_fit"})
      for (const Json& base : {Config(13), Unshuffled(13)}) {
        const Json config = With(With(base, "encoding", encoding), "packing", packing);
        const auto plain = Publish(config, PipeTokenizer(kModel), corpus);
        const auto found = Publish(config, PipeTokenizer(kModel), corpus, 16, kMemory, ChooseAfterFirst(250));
        EXPECT_FALSE(plain->info.weights);
        ASSERT_TRUE(found->info.weights);
        for (std::size_t split = 0; split < 2; ++split) {
          PackedTotals totals;
          for (std::size_t shard = 0; shard < found->info.splits[split].shards.size(); ++shard) {
            const std::vector<PackedRow> rows = RowsOf(*found, found->info.splits[split].shards[shard]);
            const std::vector<PackedRow> others = RowsOf(*plain, plain->info.splits[split].shards[shard]);
            ASSERT_EQ(rows.size(), others.size());
            for (std::size_t row = 0; row < rows.size(); ++row) {
              EXPECT_EQ(rows[row].ids, others[row].ids);
              EXPECT_EQ(rows[row].facts.length, others[row].facts.length);
              EXPECT_LE(rows[row].facts.bytes, others[row].facts.bytes);
              const auto scored = std::count(rows[row].weights.begin(), rows[row].weights.end(), 1u);
              totals += {1, rows[row].facts.length, rows[row].facts.bytes, rows[row].facts.chars,
                         static_cast<std::uint64_t>(scored)};
            }
          }
          EXPECT_EQ(totals, found->info.splits[split].totals());
          EXPECT_GT(totals.scored, 0u);
          EXPECT_LT(totals.scored, totals.tokens - totals.rows);
          EXPECT_LT(totals.bytes, plain->info.splits[split].totals().bytes);
        }
        for (const std::size_t batch_lines : {1u, 1000u})
          EXPECT_EQ(Publish(config, PipeTokenizer(kModel), corpus, batch_lines, 1000, ChooseAfterFirst(250))
                        ->out.objects(),
                    found->out.objects());
      }
}

TEST(WritePackedTest, BytesWithWeightsStayTheSame) {
  const auto published = Publish(Config(13), PipeTokenizer(kModel), RandomPackedCorpus(3, 20), 16, kMemory,
                                 ChooseAfterFirst(250));
  EXPECT_EQ(DigestOfAll(*published), "f1360dd763f061eb3246e24e0b152358")
      << "other bytes: raise the version of write_packed";
}

TEST(WritePackedTest, ASplitWithoutAScoredTargetIsRefused) {
  const PackedCorpus corpus = RandomPackedCorpus(2, 20);
  const auto stage = MakeWritePacked(Config(13), ToJson(PipeTokenizer(kModel)), kModel,
                                     {"train", "validation"}, ChooseAfterFirst(400));
  MapStore artifact, out;
  const std::vector<PartitionOutput> outputs = WritePackedPieces(**stage, artifact, corpus, 16);
  ArtifactTotals totals;
  totals.splits["train"].records = totals.splits["validation"].records = 1;
  std::uint64_t unscored = 0;
  for (const PartitionOutput& output : outputs)
    for (const auto& [reason, count] : output.committed.reasons) {
      totals.counts.Add(reason, count);
      if (reason == "unscored_documents") unscored += count;
    }
  EXPECT_EQ(unscored, 40u);
  const std::string why = "' has no scored target, so that its loss would be 0 / 0: no id opens it";
  EXPECT_EQ((*stage)->CheckCounts(totals).message(), "split 'train" + why + "; split 'validation" + why);
  totals.counts.Add("scored_of_train", 1);
  EXPECT_EQ((*stage)->CheckCounts(totals).message(), "split 'validation" + why);
  // `equal` may leave out all rows with one, which nothing before the shards shows.
  const auto plan = (*stage)->Plan(artifact, outputs);
  const auto shards = WriteAll(**plan, out, kMemory);
  const Status described = (*plan)->Describe(*shards).status();
  EXPECT_EQ(described.code(), Code::kFailedPrecondition);
  EXPECT_EQ(described.message(), "split 'train" + why);
}

/// A model of 512 pieces with a user-defined symbol.
std::string ModelWithAnswer(std::uint32_t id) {
  SentencePieceModel model = *SentencePieceModel::Parse("\x0a\x09\x0a\x05<unk>\x18\x02");
  for (std::uint32_t piece = 1; piece < 512; ++piece)
    model.AppendPiece(piece == id ? SentencePiece{"<answer>", 0, PieceType::kUserDefined}
                                  : SentencePiece{StrCat("p", piece), 0, PieceType::kNormal});
  return model.Serialize();
}

Result<std::unique_ptr<SinkStage>> MakeAnswersAlone(const Json& config, const std::string& model) {
  return MakeWritePacked(config, ToJson(PipeTokenizer(model)), model, {"train", "validation"});
}

TEST(AnswersAfterTest, ScoresTheIdsBehindThePiece) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  const std::uint32_t mark = 105;
  const std::string model = ModelWithAnswer(mark);
  for (const std::string packing : {"stream", "best_fit"})
    for (const Json& base : {Config(13), Unshuffled(13)}) {
      const Json config = With(With(base, "packing", packing), "answers_after", "<answer>");
      std::uint64_t wanted = 0, without = 0, scored = 0, unscored = 0;
      for (const auto& [id, lines] : corpus) {
        std::map<std::uint64_t, std::uint64_t> of_document;  // scored
        std::uint64_t open = UINT64_MAX;
        for (const PackedLine& line : lines) {
          std::uint64_t& count = of_document[line.document];
          for (const std::uint32_t line_id : line.ids) {
            count += line.document == open ? 1 : 0;
            if (line_id == mark) open = line.document;
          }
          count += line.document == open ? 1 : 0;
        }
        for (const auto& [document, count] : of_document) wanted += count, without += count == 0 ? 1 : 0;
      }
      const auto stage = MakeAnswersAlone(config, model);
      ASSERT_TRUE(stage.ok()) << stage.status().message();
      MapStore artifact;
      for (const PartitionOutput& output : WritePackedPieces(**stage, artifact, corpus, 16))
        for (const auto& [reason, count] : output.committed.reasons)
          (reason == "unscored_documents" ? unscored : scored) += reason.ends_with("_ids") ? 0 : count;
      EXPECT_EQ(scored, wanted);
      EXPECT_EQ(unscored, without);
      EXPECT_GT(scored, 0u);
      EXPECT_GT(unscored, 0u);
    }
}

TEST(AnswersAfterTest, RefusesAPieceThatIsNoSymbolOfTheTokenizer) {
  const std::string model = ModelWithAnswer(105);
  for (const std::string piece : {"<question>", "p104"})
    EXPECT_EQ(MakeAnswersAlone(With(Config(4), "answers_after", piece), model).status().message(),
              "answers_after: '" + piece +
                  "' is no user-defined symbol of the tokenizer, so that text does not always give it as one "
                  "id; name one, or give a tokenizer that has it");
  Schema schema;
  const auto refused = [&](Json config) {
    return std::string(WritePackedType().check(config, schema).message());
  };
  EXPECT_EQ(refused(With(With(Config(4), "answers_after", "<answer>"), "encoding", "raw16")),
            "answers_after: rows in raw16 have no room for weights; write `encoding: example` or "
            "`array_record`");
  EXPECT_EQ(refused(With(Config(4), "answers_after", "")), "answers_after: the piece is empty; name one");
  EXPECT_EQ(refused(With(With(Config(4), "answers_after", "<answer>"), "encoding", "array_record")), "");
}

TEST(AnswersAfterTest, RefusesATokenizerThatWillNotHaveThePieceBeforeItIsTrained) {
  const Schema schema;
  const Json facts = ToJson(PipeTokenizer(kModel));
  const auto refused = [&](const Json& symbols, std::string_view maker) {
    Json tokenizer{Json::Object{}};
    tokenizer["symbols"] = symbols;
    const Json config = With(Config(4), "answers_after", "<answer>");
    return std::string(WritePackedType()
                           .check_promised(config, schema, {"tokenizer", maker, tokenizer, schema, facts})
                           .message());
  };
  const std::string why =
      "answers_after: the tokenizer will not have '<answer>' as a piece of its own; add it to `symbols` of "
      "the stage that trains it";
  EXPECT_EQ(refused({}, "train_tokenizer"), why);
  EXPECT_EQ(refused(Json::Array{"<question>"}, "train_tokenizer"), why);
  EXPECT_EQ(refused(Json::Array{"<question>", "<answer>"}, "train_tokenizer"), "");
  EXPECT_EQ(refused({}, "plugin.tokenizer"), "");
}

TEST(AnswersAfterTest, NamesTheKeyWhereASplitHasNoAnswer) {
  const auto stage = MakeAnswersAlone(With(Config(13), "answers_after", "<answer>"), ModelWithAnswer(400));
  ArtifactTotals totals;
  totals.splits["train"].records = totals.splits["validation"].records = 1;
  totals.counts.Add("scored_of_validation", 1);
  EXPECT_EQ((*stage)->CheckCounts(totals).message(),
            "split 'train' has no scored target, so that its loss would be 0 / 0: none of its rows has an id "
            "behind '<answer>', the piece of `answers_after`; give it documents with an answer, or leave the "
            "key out");
}

TEST(WritePackedTest, RefusesAnEncodingThatDoesNotFit) {
  TokenizerFacts facts = PipeTokenizer(kModel);
  facts.vocab_size = 65537;
  const Json raw16 = With(Config(4), "encoding", "raw16");
  EXPECT_EQ(
      MakeWritePacked(raw16, ToJson(facts), kModel, {"train"}).status().message(),
      "raw16 has room for ids below 65536, and the tokenizer has 65537 pieces; write `encoding: raw32`");
  facts.vocab_size = 65536;
  EXPECT_TRUE(MakeWritePacked(raw16, ToJson(facts), kModel, {"train"}).ok());
  Schema schema;
  for (const std::string encoding : {"raw16", "raw32", "mmap"})
    EXPECT_EQ(WritePackedType()
                  .check(With(With(Config(4), "encoding", encoding), "segments", true), schema)
                  .message(),
              "segments: rows in " + encoding +
                  " are ids and nothing else; write `encoding: example` or `array_record`");
  EXPECT_TRUE(WritePackedType()
                  .check(With(With(Config(4), "encoding", "array_record"), "segments", true), schema)
                  .ok());
}

TEST(WritePackedTest, ASplitWithoutRowsIsOneEmptyShard) {
  PackedCorpus corpus = {{{0, 0}, {}}};
  for (const Json& config : {Config(4), Unshuffled(4)}) {
    const auto published = Publish(config, PipeTokenizer(kModel), corpus);
    for (const PackedSplit& split : published->info.splits) {
      EXPECT_EQ(split.totals(), PackedTotals());
      ASSERT_EQ(split.shards.size(), 1u);
      EXPECT_EQ(published->out[split.shards[0].object], "");
      EXPECT_TRUE(published->out.objects().contains(split.shards[0].index));
    }
    for (const std::string encoding : {"mmap", "array_record"}) {
      const auto other = Publish(With(config, "encoding", encoding), PipeTokenizer(kModel), corpus);
      EXPECT_EQ(RowsOf(*other, other->info.splits[0].shards[0]).size(), 0u) << encoding;
    }
  }
}

Json AsDocuments(Json config) {
  config.Remove("seq_len");
  config["packing"] = "documents";
  config["encoding"] = "mmap";
  return config;
}

/// The documents of a split with their eos, in the order of the corpus.
std::vector<std::vector<std::uint32_t>> DocumentsOf(const PackedCorpus& corpus, std::uint8_t split,
                                                    const TokenizerFacts& facts, std::uint64_t& empty) {
  std::vector<std::vector<std::uint32_t>> documents;
  for (const auto& [id, lines] : corpus)
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (lines[at].split != split) continue;
      const bool first = at == 0 || lines[at - 1].document != lines[at].document;
      if (first)
        documents.emplace_back();
      else if (facts.newline_id >= 0)
        documents.back().push_back(static_cast<std::uint32_t>(facts.newline_id));
      documents.back().insert(documents.back().end(), lines[at].ids.begin(), lines[at].ids.end());
    }
  const auto newline = static_cast<std::uint32_t>(facts.newline_id);
  empty += std::erase_if(documents, [newline](const std::vector<std::uint32_t>& ids) {
    return std::count(ids.begin(), ids.end(), newline) == static_cast<std::ptrdiff_t>(ids.size());
  });
  for (auto& document : documents) document.push_back(static_cast<std::uint32_t>(facts.eos_id));
  return documents;
}

/// The documents of a shard, as its index divides them.
std::vector<std::vector<std::uint32_t>> DocumentsIn(Published& published, const PackedShard& shard) {
  const auto index = MegatronSequencesIn(published.out[shard.index]);
  EXPECT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->type, MegatronType::kUint16);
  std::vector<std::uint32_t> ids;
  EXPECT_TRUE(ParseRawIds(published.out[shard.object], 2, ids).ok());
  std::vector<std::vector<std::uint32_t>> documents;
  auto at = ids.begin();
  for (const std::uint32_t length : index->lengths) {
    documents.emplace_back(at, at + length);
    at += length;
  }
  EXPECT_EQ(at, ids.end());
  return documents;
}

TEST(WriteDocumentsTest, ADocumentIsItsIdsAndEos) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 60);
  TokenizerFacts without_newline = PipeTokenizer(kModel);
  without_newline.newline_id = -1;
  for (const TokenizerFacts& facts : {PipeTokenizer(kModel), without_newline})
    for (const Json& base : {Config(13), Unshuffled(13)}) {
      const auto published = Publish(AsDocuments(base), facts, corpus);
      std::uint64_t empty = 0;
      for (const PackedSplit& split : published->info.splits) {
        std::vector<std::vector<std::uint32_t>> found,
            wanted = DocumentsOf(corpus, split.name == "train" ? 0 : 1, facts, empty);
        std::uint64_t tokens = 0;
        for (const PackedShard& shard : split.shards)
          for (std::vector<std::uint32_t>& document : DocumentsIn(*published, shard)) {
            tokens += document.size();
            found.push_back(std::move(document));
          }
        EXPECT_EQ(split.totals().rows, wanted.size());
        EXPECT_EQ(split.totals().tokens, tokens);
        if (base == Config(13)) {
          EXPECT_NE(found, wanted) << "shuffled";
          std::sort(found.begin(), found.end());
          std::sort(wanted.begin(), wanted.end());
        }
        EXPECT_EQ(found, wanted);
      }
      EXPECT_GT(empty, 0u);
      const auto stage = MakeWritePacked(AsDocuments(base), ToJson(facts), kModel, {"train", "validation"});
      MapStore artifact;
      std::uint64_t counted = 0;
      for (const PartitionOutput& output : WritePackedPieces(**stage, artifact, corpus, 16)) {
        const auto reason = output.committed.reasons.find("empty_documents");
        counted += reason == output.committed.reasons.end() ? 0 : reason->second;
      }
      EXPECT_EQ(counted, empty);
    }
}

TEST(WriteDocumentsTest, TheTextOfAllIsCountedExceptThatOfEmptyOnes) {
  const PackedCorpus corpus = RandomPackedCorpus(2, 60);
  const auto published = Publish(AsDocuments(Unshuffled(13)), PipeTokenizer(kModel), corpus);
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> documents;  // bytes of text, lines
  for (const auto& [id, lines] : corpus)
    for (const PackedLine& line : lines) {
      documents[line.document].first += line.text.size();
      ++documents[line.document].second;
    }
  std::uint64_t bytes = 0, chars = 0;
  for (const auto& [document, counts] : documents)
    if (counts.first > 0) bytes += counts.first + counts.second, chars += counts.first / 3 + counts.second;
  PackedTotals totals;
  for (const PackedSplit& split : published->info.splits) totals += split.totals();
  EXPECT_EQ(totals.bytes, bytes);
  EXPECT_EQ(totals.chars, chars);
}

TEST(WriteDocumentsTest, SameBytesForAnyBatchAndMemory) {
  const PackedCorpus corpus = RandomPackedCorpus(3, 20);
  for (const auto& [base, digest] : {std::pair(Config(13), "8b595ed70a6cc517caacf52434959f5a"),
                                     std::pair(Unshuffled(13), "94b7b4cf254dc59711e145c732101832")}) {
    const auto wanted = Publish(AsDocuments(base), PipeTokenizer(kModel), corpus, 1);
    for (const std::size_t batch_lines : {2u, 7u, 1000u})
      EXPECT_EQ(Publish(AsDocuments(base), PipeTokenizer(kModel), corpus, batch_lines, 1000)->out.objects(),
                wanted->out.objects());
    EXPECT_EQ(DigestOfAll(*wanted), digest) << "other bytes: raise the version of write_packed";
  }
}

TEST(WriteDocumentsTest, KeysAboutRowsAreRefused) {
  Schema schema;
  const auto refused = [&](const Json& config) {
    return std::string(WritePackedType().check(config, schema).message());
  };
  const Json good = AsDocuments(Unshuffled(13));
  EXPECT_EQ(refused(good), "");
  for (const auto& [key, value] : std::vector<std::pair<std::string, Json>>{{"seq_len", 4},
                                                                            {"segments", true},
                                                                            {"answers_after", "<answer>"},
                                                                            {"labels", Json::Array{"a", "b"}},
                                                                            {"labels_file", "x"},
                                                                            {"on_unknown_label", "fail"},
                                                                            {"equal", true},
                                                                            {"eval_batch", 2}})
    EXPECT_EQ(refused(With(good, key, value)),
              key +
                  ": is about rows, and `packing: documents` makes none; leave it out, or make rows with "
                  "`packing: stream` or `best_fit`");
  EXPECT_EQ(refused(With(good, "segments", false)), "");
  for (const std::string encoding : {"example", "raw16", "raw32", "array_record"})
    EXPECT_EQ(refused(With(good, "encoding", encoding)),
              "packing: documents are the sequences of a Megatron data set; write `encoding: mmap`, or make "
              "rows with `packing: stream`");
  Json rows = Unshuffled(13);
  rows.Remove("seq_len");
  EXPECT_EQ(refused(rows),
            "seq_len: is missing, and rows need a length; write `seq_len: 1024`, for example, or documents "
            "with `packing: documents` and `encoding: mmap`");
}

TEST(WriteDocumentsTest, ASplitOfEmptyDocumentsIsRefused) {
  const PackedCorpus corpus = {{{0, 0}, {{"", {}, {}, 0, 0}, {"a", {9}, {1}, 1, 1}}}};
  const auto stage = MakeWritePacked(AsDocuments(Unshuffled(13)), ToJson(PipeTokenizer(kModel)), kModel,
                                     {"train", "validation"});
  MapStore artifact, out;
  const auto plan = (*stage)->Plan(artifact, WritePackedPieces(**stage, artifact, corpus, 16));
  const auto shards = WriteAll(**plan, out, kMemory);
  ASSERT_TRUE(shards.ok()) << shards.status().message();
  EXPECT_EQ((*plan)->Describe(*shards).status().message(),
            "split 'train' has no document with an id of text; give it a larger share, or leave it out");
}

TEST(WritePackedTest, TheTokenizerGoesWithItsIds) {
  const auto published = Publish(Config(4), PipeTokenizer(kModel), RandomPackedCorpus(1, 2));
  EXPECT_EQ(published->out["tokenizer.model"], kModel);
  EXPECT_EQ(published->info.tokenizer.model, "tokenizer.model");
  EXPECT_EQ(published->info.tokenizer.model_digest, DigestOf(kModel));
  EXPECT_EQ(published->info.tokenizer.layout, "pipe");

  TokenizerFacts changed = PipeTokenizer("another model");
  const auto stage = MakeWritePacked(Config(4), ToJson(changed), kModel, {"train"});
  MapStore artifact;
  const auto plan = (*stage)->Plan(artifact, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Status why = (*plan)->Describe({ShardOutput()}).status();
  EXPECT_EQ(why.code(), Code::kDataLoss);
  EXPECT_NE(why.message().find("spm.model is not the one that its facts name"), std::string::npos);
}

TEST(WritePackedTest, RefusesATokenizerThatDoesNotFit) {
  TokenizerFacts facts = PipeTokenizer(kModel);
  facts.layout = "bert";
  facts.eos_id = -1;
  const Status no_eos = MakeWritePacked(Config(4), ToJson(facts), kModel, {"train"}).status();
  EXPECT_EQ(
      no_eos.message(),
      "write_packed ends documents with the id eos, which a tokenizer of layout 'bert' lacks; train one of "
      "another layout, such as pipe or flax_lm1b");
  Json broken = ToJson(PipeTokenizer(kModel));
  broken["eos_id"] = 512;
  EXPECT_EQ(MakeWritePacked(Config(4), broken, kModel, {"train"}).status().message(),
            "tokenizer.eos_id: 512, where the vocabulary has 512 pieces");
  EXPECT_EQ(MakeWritePacked(Config(4), Json(), kModel, {"train"}).status().code(), Code::kFailedPrecondition);
}

TEST(WritePackedTest, RefusesIdsOfAnotherTokenizer) {
  const auto stage = MakeWritePacked(Config(4), ToJson(PipeTokenizer(kModel)), kModel, {"train"});
  MapStore artifact;
  const auto sink = (*stage)->OpenPartition(artifact, {0, 0});
  const Status written = (*sink)->Write(PackedBatch({0, 0}, {{"a", {512}, {1}, 0, 0}}, 0, 1));
  EXPECT_EQ(
      written.message(),
      "packed rows: an id is 512 and the tokenizer has 512 pieces: the ids were made by another tokenizer");
}

TEST(WritePackedTest, ChecksItsKeys) {
  Schema schema;
  EXPECT_TRUE(WritePackedType().check(Config(1), schema).ok());
  EXPECT_EQ(WritePackedType().check(Config(0), schema).message(), "seq_len: 0: must be from 1 to 1048576");
  Json hosts = Config(4);
  hosts["hosts"] = 0;
  EXPECT_EQ(WritePackedType().check(hosts, schema).message(), "hosts: 0: must be from 1 to 1000000");
}

TEST(WritePackedTest, SegmentsAndWeightsAreInTheMemoryOfAPartition) {
  const auto memory_of = [](bool segments) {
    const auto stage = MakeWritePacked(With(Config(1 << 20), "segments", segments),
                                       ToJson(PipeTokenizer(kModel)), kModel, {"train"});
    return (*stage)->partition_memory(1 << 20);
  };
  EXPECT_EQ(memory_of(true) - memory_of(false), 2 * sizeof(std::uint32_t) * ((1 << 20) + 1));
  const auto weighted = MakeWritePacked(Config(1 << 20), ToJson(PipeTokenizer(kModel)), kModel, {"train"},
                                        ChooseAfterFirst(250));
  EXPECT_EQ((*weighted)->partition_memory(1 << 20) - memory_of(false),
            sizeof(std::uint32_t) * ((1 << 20) + 1));
}

}  // namespace
}  // namespace pipeline
