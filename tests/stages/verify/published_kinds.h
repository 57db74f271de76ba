// One artifact of each export format that there is, and how their shards are made of records.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/array_record.h"
#include "formats/tfrecord.h"
#include "stages/export/bert/bert_export.h"
#include "stages/export/jsonl/jsonl_export.h"
#include "stages/export/tfds/tfds_export.h"
#include "tests/stages/export/packed/after_first.h"
#include "tests/stages/export/packed/label_model.h"
#include "tests/stages/export/tfdata/tfdata_artifact.h"
#include "tests/stages/tokenizer/tokenizer_fixture.h"
#include "tests/stages/verify/published_artifact.h"
#include "tests/support/memory_file.h"

namespace pipeline {

/// Takes shards apart into records and puts them together again.
struct ShardLayout {
  std::function<std::vector<std::string>(const std::string& shard)> records;
  std::function<std::string(const std::vector<std::string>& records)> shard;
};

inline ShardLayout TfRecordLayout() {
  return {[](const std::string& shard) {
            MemoryReader bytes(shard);
            TfRecordReader reader(bytes, 1 << 20);
            std::vector<std::string> records;
            while (true) {
              const auto next = reader.Next();
              EXPECT_TRUE(next.ok()) << next.status().message();
              if (!next.ok() || !*next) return records;
              records.emplace_back(**next);
            }
          },
          Framed};
}

inline ShardLayout ArrayRecordLayout() {
  return {[](const std::string& shard) {
            const StringFile file(shard);
            const auto reader = ArrayRecordReader::Open(file, {});
            std::vector<std::string> records;
            while (records.size() < (*reader)->records()) records.emplace_back(**(*reader)->Next());
            return records;
          },
          [](const std::vector<std::string>& records) {
            std::string shard;
            ArrayRecordWriter writer;
            for (const std::string& record : records) writer.Append(record, shard);
            writer.Finish(shard);
            return shard;
          }};
}

/// Records of so many bytes each; of lines, where that is 0.
inline ShardLayout PlainLayout(std::size_t bytes) {
  return {[bytes](const std::string& shard) {
            std::vector<std::string> records;
            for (std::size_t at = 0; at < shard.size(); at += records.back().size())
              records.push_back(shard.substr(at, bytes == 0 ? shard.find('\n', at) + 1 - at : bytes));
            return records;
          },
          [](const std::vector<std::string>& records) {
            std::string shard;
            for (const std::string& record : records) shard += record;
            return shard;
          }};
}

/// Documents of ids as uint16, each up to its eos, which is 2.
inline ShardLayout DocumentLayout() {
  ShardLayout layout = PlainLayout(2);
  layout.records = [ids_of = layout.records](const std::string& shard) {
    std::vector<std::string> documents;
    bool open = false;
    for (const std::string& id : ids_of(shard)) {
      if (!open) documents.emplace_back();
      documents.back() += id;
      open = id != std::string("\x02\0", 2);
    }
    return documents;
  };
  return layout;
}

/// A export format, or a variant of one that is read otherwise.
struct PublishedKind {
  std::string name;
  StageType type;
  Json config;
  ShardLayout layout;
  std::string wrong;  // no record of it, though each checksum holds
  bool labels = false;
};

inline Json ShardedConfig() {
  Json config;
  config["shuffle"]["seed"] = 0;
  config["shards"] = 2;
  return config;
}

inline PublishedKind PackedKind(const std::string& name, Json more, ShardLayout layout, std::string wrong,
                                const ChooseWeights& weights = {}) {
  more["shuffle"]["seed"] = 0;
  more["shards"] = 2;
  if (!more.Has("seq_len")) more["seq_len"] = 4;
  return {"packed_" + name, WritePackedType(weights), std::move(more), std::move(layout), std::move(wrong)};
}

inline std::vector<PublishedKind> PublishedKinds() {
  std::vector<PublishedKind> kinds;
  const auto keys = [](std::vector<std::pair<std::string, Json>> more) {
    Json config = ShardedConfig();
    for (auto& [key, value] : more) config[key] = std::move(value);
    return config;
  };
  const Json tiny = keys({{"name", "tiny"}, {"version", "1.0.0"}});
  kinds.push_back({"tfds", WriteTfdsType(), tiny, TfRecordLayout(), "\xff"});
  kinds.push_back({"tfds_labels", WriteTfdsType(), tiny, TfRecordLayout(), TextExample("no label"), true});
  kinds.back().config["labels"] = Json::Array{"no", "yes"};
  kinds.push_back({"tfds_tokens", WriteTfdsType(), tiny, TfRecordLayout(), ""});
  kinds.back().config["max_tokens"] = 24;
  for (int i = 0; i < 99; ++i) kinds.back().wrong += "猫が";
  kinds.back().wrong = TextExample(kinds.back().wrong);

  kinds.push_back(PackedKind("example", {}, TfRecordLayout(), "\xff"));
  kinds.push_back(PackedKind("segments", Json(Json::Object{{"segments", true}}), TfRecordLayout(), "\xff"));
  const auto encoded = [](std::string_view encoding) {
    return Json(Json::Object{{"encoding", Json(encoding)}});
  };
  kinds.push_back(PackedKind("raw16", encoded("raw16"), PlainLayout(10), std::string(10, '\xff')));
  kinds.push_back(PackedKind("raw32", encoded("raw32"), PlainLayout(20), std::string(20, '\xff')));
  kinds.push_back(PackedKind("mmap", encoded("mmap"), PlainLayout(10), std::string(10, '\xff')));
  kinds.push_back(PackedKind("mmap_documents", encoded("mmap"), DocumentLayout(), "\xff\xff"));
  kinds.back().config["packing"] = "documents";
  kinds.back().config.Remove("seq_len");
  kinds.push_back(PackedKind("array_record", encoded("array_record"), ArrayRecordLayout(), "\xff"));
  kinds.push_back(PackedKind("weights", {}, TfRecordLayout(), "\xff", ChooseAfterFirst(250)));
  kinds.push_back(PackedKind(
      "labels",
      Json(Json::Object{
          {"labels", Json(Json::Array{"no", "yes"})}, {"packing", Json("best_fit")}, {"seq_len", Json(12)}}),
      TfRecordLayout(), "\xff"));
  kinds.back().labels = true;

  kinds.push_back({"jsonl", WriteJsonlType(), keys({{"unit", "record"}, {"task", "text"}}), PlainLayout(0),
                   "{\"other\":\"x\"}\n"});
  kinds.push_back({"jsonl_pairs", WriteJsonlType(),
                   keys({{"unit", "record"}, {"task", "span_corruption"}, {"max_source", 10}}),
                   PlainLayout(0), "{\"source\":\"a <extra_id_0> b\",\"target\":\"<extra_id_1> c\"}\n"});
  kinds.push_back({"tfdata", WriteTfdataType(), TfdataConfig(), TfRecordLayout(), "0123456789"});
  kinds.push_back({"bert", WriteBertType(),
                   keys({{"seq_len", 32},
                         {"max_predictions", 5},
                         {"masked_share", 0.15},
                         {"dupe_factor", 2},
                         {"short_share", 0.1},
                         {"next_sentence", true},
                         {"whole_words", "none"},
                         {"seed", 12345},
                         {"model_size", "tiny"}}),
                   TfRecordLayout(), "\xff"});
  // In corpus order a shard is one that the first pass left, and somebody has to know how many rows it has.
  for (const char* name : {"tfds_labels", "packed_example", "bert"})
    if (const auto made = std::find_if(kinds.begin(), kinds.end(),
                                       [name](const PublishedKind& kind) { return kind.name == name; });
        made != kinds.end()) {
      PublishedKind kind = *made;
      kind.name += "_in_order";
      kind.config["shuffle"] = "none";
      kind.config["shards"] = "auto";
      kinds.push_back(std::move(kind));
    }
  return kinds;
}

inline PublishedKind KindNamed(const std::string& name) {
  for (const PublishedKind& kind : PublishedKinds())
    if (kind.name == name) return kind;
  ADD_FAILURE() << "no kind is named " << name;
  return {};
}

/// A vocab.txt of 512 pieces.
inline std::string SmallVocabulary() {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int piece = 5; piece < 512; ++piece) vocabulary += StrCat("p", piece, "\n");
  return vocabulary;
}

/// The tokenizer that a kind takes; none where it takes none.
inline std::optional<ArtifactInput> TokenizerOf(const PublishedKind& kind) {
  if (kind.config.Has("max_tokens")) {
    static const Trained trained = Train(SmallCorpus());
    EXPECT_TRUE(trained.status.ok()) << trained.status.message();
    return ArtifactInput{trained.store, "", trained.output.facts};
  }
  auto directory = std::make_shared<MapStore>();
  if (kind.type.name == "write_bert") {
    const std::string vocabulary = SmallVocabulary();
    (*directory)["vocab.txt"] = vocabulary;
    const auto pieces = WordPieceVocabulary::Parse(vocabulary);
    return ArtifactInput{directory, "", ToJson(FactsOfVocabulary(*pieces, "vocab.txt", vocabulary))};
  }
  if (kind.type.name != "write_packed" && kind.type.name != "write_tfdata") return std::nullopt;
  const std::string model = kind.labels ? LabelModel() : "a model";
  (*directory)["spm.model"] = model;
  return ArtifactInput{directory, "", ToJson(PipeTokenizer(model))};
}

/// Two partitions in the splits train and validation, of some hundred records.
inline Manifest PublishKind(const PublishedKind& kind, const std::string& place) {
  StageContext context;
  context.name = "out";
  context.config = kind.config;
  context.schema = {{{"text", ColumnType::kUtf8}, {"split", ColumnType::kU8}}, {"train", "validation"}};
  if (const auto tokenizer = TokenizerOf(kind)) context.artifacts.emplace("tokenizer", *tokenizer);
  std::vector<Batch> batches = BatchesOf(RandomPackedCorpus(2, 60));
  if (kind.labels) {
    const bool by_document =
        kind.type.name == "write_packed";  // all its records of a document have one label
    context.schema.columns["label"] = ColumnType::kUtf8;
    for (Batch& batch : batches)
      for (std::size_t row = 0; row < batch.size(); ++row)
        batch.label.Append((by_document ? batch.heads[row].document : row) % 3 == 0 ? "no" : "yes");
  }
  return PublishAt(place, kind.type, context, batches);
}

}  // namespace pipeline
