#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/byte_reader.h"
#include "dag/records/source.h"
#include "stages/sources/source_stages.h"
#include "tests/stages/sources.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"
#include "tests/support/times.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

struct Partition {
  std::vector<std::string> texts;
  std::vector<RecordHead> heads;
  std::vector<std::string> quarantine;  // INDEX:REASON:BYTES
  PartitionEnd end;
  StageCounts counts;
};

bool operator==(const Partition& a, const Partition& b) {
  const auto same = [](const RecordHead& x, const RecordHead& y) {
    return x.index == y.index && x.sub == y.sub && x.document == y.document && x.key == y.key;
  };
  return a.texts == b.texts &&
         std::equal(a.heads.begin(), a.heads.end(), b.heads.begin(), b.heads.end(), same) &&
         a.quarantine == b.quarantine && a.end.raw_end == b.end.raw_end &&
         a.end.document_end == b.end.document_end && a.counts == b.counts;
}

struct Outcome {
  std::map<std::uint32_t, Partition> partitions;  // that were closed
  std::optional<InputEnd> end;
  Status status;
};

Json DefaultConfig() {
  Json config;
  for (const ConfigKey& key : DecompressType().keys) {
    if (key.fallback == "~") continue;
    if (key.type == ValueType::kBytes) {
      const bool record = key.name == "max_record_bytes";
      config[key.name] = Json(record ? 8 << 20 : 64 << 20);
    } else {
      config[key.name] = Json(key.fallback);
    }
  }
  return config;
}

SourceRequest TextRequest(std::string bytes, std::string name = "ja.txt", std::size_t chunk = 1 << 20) {
  return RequestFor(std::move(bytes), std::move(name), chunk);
}

Outcome RunDecompress(const Json& config, SourceRequest request) {
  Outcome outcome;
  const std::size_t target = request.batch_bytes;
  const auto stage = DecompressType().source()->make({"lines", config, {}});
  EXPECT_TRUE(stage.ok());
  auto source = (*stage)->Open(std::move(request));
  if (!source.ok()) {
    outcome.status = source.status();
    return outcome;
  }
  const auto worker = (*stage)->repair()->NewWorker();
  std::map<std::uint32_t, Partition> open;
  Batch batch;
  while (true) {
    batch.Clear(1);
    const auto more = (*source)->Next(batch);
    if (!more.ok()) {
      outcome.status = more.status();
      return outcome;
    }
    if (!*more) break;
    EXPECT_TRUE(batch.text.bytes() <= target || batch.size() == 1);
    EXPECT_EQ(batch.counts[0].records_out, batch.size());
    EXPECT_EQ(batch.counts[0].bytes_out, batch.text.bytes());
    if (outcome.status = (*worker)->Apply(batch, 0, batch.counts[0]); !outcome.status.ok()) return outcome;
    Partition& partition = open[batch.partition.partition];
    for (std::size_t row = 0; row < batch.size(); ++row) partition.texts.emplace_back(batch.text[row]);
    partition.heads.insert(partition.heads.end(), batch.heads.begin(), batch.heads.end());
    for (const Quarantined& bad : batch.quarantine)
      partition.quarantine.push_back(std::to_string(bad.index) + ":" + bad.reason + ":" + bad.bytes);
    partition.counts += batch.counts[0];
    if (batch.closes) {
      partition.end = batch.end;
      outcome.partitions.insert(open.extract(batch.partition.partition));
    }
  }
  outcome.end = (*source)->End();
  EXPECT_TRUE(open.empty());
  return outcome;
}

std::string Corpus(std::size_t bytes) {
  std::mt19937 random(11);
  std::string text = "\xEF\xBB\xBF\n\n";
  while (text.size() < bytes) {
    for (std::size_t lines = 1 + random() % 8; lines > 0; --lines) {
      static const std::vector<std::string> kWords = {"猫",  "である", "名前はまだ無い。",
                                                      "abc", "\xFF",   "\0"s};
      const std::size_t words = 1 + random() % 40;
      for (std::size_t i = 0; i < words; ++i) text += kWords[random() % (random() % 16 == 0 ? 6 : 4)];
      text += random() % 9 == 0 ? "\r\n" : "\n";
    }
    text += random() % 5 == 0 ? "\n\n\n" : "\n";
  }
  return text;
}

Json SmallPartitions() {
  Json config = DefaultConfig();
  config["invalid_lines"] = Json(1.0);  // a Corpus has many
  config["partition"] = Json(20'000);
  return config;
}

void ExpectSameOutcome(const Outcome& a, const Outcome& b, const std::string& what) {
  EXPECT_TRUE(a.status.ok() && b.status.ok()) << what << a.status.message() << b.status.message();
  EXPECT_TRUE(a.partitions == b.partitions) << what;
  ASSERT_EQ(a.end.has_value(), b.end.has_value()) << what;
  if (!a.end) return;
  EXPECT_EQ(a.end->partitions, b.end->partitions) << what;
  EXPECT_EQ(a.end->raw_bytes, b.end->raw_bytes) << what;
  EXPECT_EQ(a.end->documents, b.end->documents) << what;
  EXPECT_EQ(a.end->outside, b.end->outside) << what;
}

TEST(DecompressTest, LinesBecomeRecordsWithCounts) {
  const Outcome outcome = RunDecompress(DefaultConfig(), TextRequest("\n猫\r\nb\xFF\n\n\nc"));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  ASSERT_EQ(outcome.partitions.size(), 1u);
  const Partition& partition = outcome.partitions.at(0);
  EXPECT_EQ(partition.texts, (std::vector<std::string>{"猫", "b\uFFFD", "c"}));
  EXPECT_EQ(partition.heads[2].document, 1u);
  EXPECT_EQ(partition.quarantine, std::vector<std::string>{"1:invalid_utf8:b\xFF"});
  EXPECT_EQ(partition.counts.records_in, 3u);
  EXPECT_EQ(partition.counts.records_out, 3u);
  EXPECT_EQ(partition.counts.bytes_in, 6u);
  EXPECT_EQ(partition.counts.bytes_out, 6u);  // as cut; the Segment adds what the repair changes
  EXPECT_EQ(partition.counts.reasons,
            (decltype(StageCounts::reasons){{"blank_lines", 2}, {"crlf", 1}, {"invalid_utf8", 1}}));
  ASSERT_TRUE(outcome.end);
  EXPECT_EQ(outcome.end->outside.reasons, (decltype(StageCounts::reasons){{"blank_lines", 1}}));
  EXPECT_EQ(outcome.end->partitions, 1u);
  EXPECT_EQ(outcome.end->documents, 2u);
  EXPECT_EQ(outcome.end->raw_bytes, 12u);
}

TEST(DecompressTest, EveryPackingThreadCountAndBatchSizeGivesTheSame) {
  const std::string text = Corpus(300'000);
  const Json config = SmallPartitions();
  const Outcome plain = RunDecompress(config, TextRequest(text));
  ASSERT_GT(plain.partitions.size(), 10u);
  EXPECT_EQ(plain.end->outside.reasons, (decltype(StageCounts::reasons){{"blank_lines", 2}, {"bom", 1}}));
  const std::map<std::string, std::string> packed = {
      {"one block", XzCompress(text)},
      {"many blocks", XzCompress(text, 30'000)},
      {"streams", XzCompress(text.substr(0, 99'999), 10'000) + XzCompress(text.substr(99'999))},
      {"zstd", ZstdCompress(text.substr(0, 7)) + ZstdCompress(text.substr(7))},
      {"gzip", GzipCompress(text.substr(0, 150'000)) + GzipCompress(text.substr(150'000))},
      {"plain", text}};
  for (const auto& [name, bytes] : packed)
    for (const int threads : {1, 3})
      for (const std::size_t batch : {500u, 1u << 20})
        for (const std::size_t chunk : {997u, 1u << 20}) {
          SourceRequest request = TextRequest(bytes, "ja.txt", chunk);
          request.decoder_threads = threads;
          request.batch_bytes = batch;
          ExpectSameOutcome(RunDecompress(config, std::move(request)), plain, name);
        }
  SourceRequest request = TextRequest(packed.at("many blocks"));
  request.decoder_memory = 1000;  // no block fits
  ExpectSameOutcome(RunDecompress(config, std::move(request)), plain, "blocks that do not fit");
}

TEST(DecompressTest, TellsWhetherOneThreadDecodesTheInput) {
  const std::string text = Corpus(100'000);
  const std::vector<std::tuple<std::string, std::string, bool>> inputs = {
      {"one block", XzCompress(text), true},  {"many blocks", XzCompress(text, 30'000), false},
      {"gzip", GzipCompress(text), true},     {"zip", Zip({{"a.txt", text}}), true},
      {"tar", Tar({{"a.txt", text}}), false}, {"plain", text, false}};
  const auto stage = DecompressType().source()->make({"lines", SmallPartitions(), {}});
  ASSERT_TRUE(stage.ok());
  for (const auto& [name, bytes, one_thread] : inputs) {
    SourceRequest request = TextRequest(bytes);
    request.decoder_threads = 2;
    const auto source = (*stage)->Open(std::move(request));
    ASSERT_TRUE(source.ok()) << name << source.status().message();
    EXPECT_EQ((*source)->decodes_on_one_thread(), one_thread) << name;
  }
  SourceRequest request = TextRequest(XzCompress(text, 30'000));
  request.decoder_threads = 2;
  request.decoder_memory = 1000;  // no block fits
  const auto source = (*stage)->Open(std::move(request));
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->decodes_on_one_thread());
  EXPECT_EQ((*source)->bytes_to_cut(), text.size()) << "readers begin at its blocks all the same";
}

TEST(DecompressTest, ResumesWithWhatIsWantedWhereverThatIs) {
  const std::string text = Corpus(200'000);
  for (const bool cut_documents : {false, true}) {
    Json config = SmallPartitions();
    if (cut_documents) config["max_document_bytes"] = Json(3000);
    const Outcome whole = RunDecompress(config, TextRequest(text));
    const auto partitions = static_cast<std::uint32_t>(whole.partitions.size());
    ASSERT_GT(partitions, 5u);
    for (const std::string& bytes : {text, XzCompress(text, 30'000), XzCompress(text), GzipCompress(text)})
      for (std::uint32_t done = 0; done <= partitions; ++done)
        for (const bool end_known : {false, true}) {
          const std::uint32_t hole = done / 2;  // a failed partition among those that are done
          SourceRequest request = TextRequest(bytes);
          request.decoder_threads = 2;
          request.wanted = [=](std::uint32_t p) { return p >= done || (done % 3 == 2 && p == hole); };
          request.known_end = [&, done](std::uint32_t p) {
            return p < done && !(done % 3 == 2 && p == hole) ? std::optional(whole.partitions.at(p).end)
                                                             : std::nullopt;
          };
          if (end_known)
            request.last_wanted = done % 3 == 2 ? std::max(hole, partitions - 1) : partitions - 1;
          Outcome expected = whole;
          for (std::uint32_t p = 0; p < done; ++p)
            if (!(done % 3 == 2 && p == hole)) expected.partitions.erase(p);
          if (end_known) expected.end.reset();
          ExpectSameOutcome(RunDecompress(config, std::move(request)), expected, std::to_string(done));
        }
  }
}

/// The cuts of an input as a scan finds them. Absent: it is not worth it, before or after the reading.
/// `firsts` receives those that were known when each was found. `before`: of an earlier scan.
std::optional<InputCuts> Scan(const Json& config, SourceRequest request,
                              std::vector<InputCuts>* firsts = nullptr, const InputCuts& before = {}) {
  InputCuts cuts{before.ends, {}, {}};
  const Source* opened = nullptr;
  request.wanted = [](std::uint32_t) { return false; };
  request.passed = [&](std::uint32_t partition, const PartitionEnd& end) {
    if (partition < before.ends.size()) return Status();
    EXPECT_EQ(partition, cuts.ends.size());
    cuts.ends.push_back(end);
    if (firsts != nullptr) firsts->push_back({cuts.ends, opened->note(), {}});
    return Status();
  };
  if (!before.ends.empty()) {
    request.known_end = [&before](std::uint32_t partition) { return before.EndOf(partition); };
    request.note = before.note;
  }
  const auto stage = DecompressType().source()->make({"lines", config, {}});
  EXPECT_TRUE(stage.ok());
  const auto source = (*stage)->Open(std::move(request));
  opened = source->get();
  EXPECT_TRUE(source.ok()) << source.status().message();
  if (!(*source)->bytes_to_cut()) return std::nullopt;
  Batch batch;
  batch.Clear(1);
  const Result<bool> more = (*source)->Next(batch);
  EXPECT_TRUE(more.ok() && !*more);
  if (!(*source)->bytes_to_cut()) return std::nullopt;
  cuts.note = (*source)->note();
  cuts.end = *(*source)->End();
  return cuts;
}

bool SameEnds(const std::vector<PartitionEnd>& a, const std::vector<PartitionEnd>& b) {
  return std::ranges::equal(a, b, [](const PartitionEnd& one, const PartitionEnd& other) {
    return one.raw_end == other.raw_end && one.document_end == other.document_end;
  });
}

/// Members of `bytes` of text each, one after the other.
std::string InMembers(const std::string& text, std::size_t bytes, std::string (*compress)(std::string_view)) {
  std::string members;
  for (std::size_t at = 0; at < text.size(); at += bytes) members += compress(text.substr(at, bytes));
  return members;
}

TEST(DecompressTest, AScanFindsTheCutsFromWhichEachPartitionIsReadAlone) {
  const std::string text = Corpus(200'000), ascii = std::string(70'000, 'a');
  for (const bool cut_documents : {false, true})
    for (const std::string& front : {std::string(), "a line\n\n" + ascii + "\n\n"}) {
      Json config = SmallPartitions();
      if (cut_documents) config["max_document_bytes"] = Json(3000);
      const Outcome whole = RunDecompress(config, TextRequest(front + text));
      for (const std::string& bytes :
           {front + text, XzCompress(front + text, 30'000), InMembers(front + text, 3000, &GzipCompress)}) {
        SourceRequest scan = TextRequest(bytes);
        scan.decoder_threads = 2;
        const std::optional<InputCuts> cuts = Scan(config, std::move(scan));
        ASSERT_TRUE(cuts);
        ASSERT_EQ(cuts->ends.size(), whole.partitions.size());
        EXPECT_EQ(cuts->end->partitions, whole.end->partitions);
        EXPECT_EQ(cuts->end->raw_bytes, whole.end->raw_bytes);
        EXPECT_EQ(cuts->end->documents, whole.end->documents);
        EXPECT_TRUE(cuts->end->outside == whole.end->outside);
        for (const auto& [p, partition] : whole.partitions) {
          SourceRequest request = TextRequest(bytes);
          request.decoder_threads = 2;
          request.wanted = [only = p](std::uint32_t each) { return each == only; };
          request.last_wanted = p;
          request.known_end = [&cuts](std::uint32_t each) { return std::optional(cuts->ends.at(each)); };
          request.note = cuts->note;
          const Outcome alone = RunDecompress(config, std::move(request));
          ASSERT_TRUE(alone.status.ok()) << alone.status.message();
          ASSERT_EQ(alone.partitions.size(), 1u);
          EXPECT_TRUE(alone.partitions.at(p) == partition) << p;
        }
      }
    }
}

TEST(DecompressTest, AScanGoesOnBehindTheCutsOfAnEarlierOneAndNotesTheSame) {
  const std::string text = Corpus(100'000), ascii = "a line\n\n" + std::string(30'000, 'a') + "\n\n";
  for (const bool cut_documents : {false, true})
    for (const std::string& front : {std::string(), ascii}) {
      Json config = SmallPartitions();
      if (cut_documents) config["max_document_bytes"] = Json(3000);
      for (const std::string& bytes :
           {front + text, XzCompress(front + text, 30'000), InMembers(front + text, 3000, &GzipCompress),
            InMembers(front + text, 25'000, &GzipCompress)}) {
        std::vector<InputCuts> firsts;
        const std::optional<InputCuts> whole = Scan(config, TextRequest(bytes), &firsts);
        ASSERT_TRUE(whole && firsts.size() == whole->ends.size());
        for (std::size_t known = 1; known <= firsts.size(); ++known) {
          std::vector<InputCuts> further;
          const std::optional<InputCuts> cuts = Scan(config, TextRequest(bytes), &further, firsts[known - 1]);
          ASSERT_TRUE(cuts) << known;
          EXPECT_TRUE(SameEnds(cuts->ends, whole->ends)) << known;
          EXPECT_EQ(cuts->note, whole->note) << known;
          EXPECT_EQ(cuts->end->partitions, whole->end->partitions);
          EXPECT_EQ(cuts->end->raw_bytes, whole->end->raw_bytes);
          EXPECT_EQ(cuts->end->documents, whole->end->documents);
          EXPECT_TRUE(cuts->end->outside == whole->end->outside) << known;
          ASSERT_EQ(further.size(), firsts.size() - known);
          for (std::size_t later = 0; later < further.size(); ++later)
            EXPECT_EQ(further[later].note, firsts[known + later].note) << known << " " << later;
        }
      }
    }
}

TEST(DecompressTest, AScanThatGoesOnDecodesNothingBeforeItsMember) {
  const std::string text = Corpus(400'000);
  std::string bytes = InMembers(text, 3000, &GzipCompress);
  std::vector<InputCuts> firsts;
  const std::optional<InputCuts> whole = Scan(SmallPartitions(), TextRequest(bytes), &firsts);
  ASSERT_TRUE(whole);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  const std::optional<InputCuts> cuts =
      Scan(SmallPartitions(), TextRequest(bytes), nullptr, firsts[firsts.size() - 3]);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(cuts->note, whole->note);
}

TEST(DecompressTest, AnInputIsCutIfItsPartitionsCanBeReadAlone) {
  const std::string text = Corpus(100'000);
  const std::string sjis =
      Times("\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x82\xC5\x82\xB7\x81\x42\n\n", 4000);
  const std::vector<std::tuple<std::string, std::string, bool>> inputs = {
      {"one block", XzCompress(text), false},
      {"many blocks", XzCompress(text, 30'000), true},
      {"gzip", GzipCompress(text), false},
      {"tar", Tar({{"a.txt", text}}), false},
      {"another encoding", sjis, false},
      {"plain", text, true},
      {"short frames", InMembers(text, 5000, [](std::string_view part) { return ZstdCompress(part); }), true},
      {"long frames", InMembers(text, 60'000, [](std::string_view part) { return ZstdCompress(part); }),
       false}};
  for (const auto& [name, bytes, is_cut] : inputs)
    EXPECT_EQ(Scan(SmallPartitions(), TextRequest(bytes)).has_value(), is_cut) << name;
  Json beginning = SmallPartitions();
  beginning["subset"] = Json("10");
  EXPECT_FALSE(Scan(beginning, TextRequest(text)));
}

TEST(DecompressTest, AReaderOfOnePartitionDecodesNothingBeforeItsMember) {
  const std::string text = Corpus(400'000);
  std::string bytes = InMembers(text, 3000, &GzipCompress);
  const std::optional<InputCuts> cuts = Scan(SmallPartitions(), TextRequest(bytes));
  ASSERT_TRUE(cuts);
  const auto last = static_cast<std::uint32_t>(cuts->ends.size() - 1);
  const auto read_last = [&] {
    SourceRequest request = TextRequest(bytes);
    request.wanted = [last](std::uint32_t partition) { return partition == last; };
    request.last_wanted = last;
    request.known_end = [&cuts](std::uint32_t each) { return std::optional(cuts->ends.at(each)); };
    request.note = cuts->note;
    return RunDecompress(SmallPartitions(), std::move(request));
  };
  const std::size_t before = bytes.size() / 2, inside = bytes.size() - 100;
  bytes[before] = static_cast<char>(~bytes[before]);
  EXPECT_TRUE(read_last().status.ok()) << read_last().status.message();
  bytes[inside] = static_cast<char>(~bytes[inside]);
  const std::string message(read_last().status.message());
  const std::string_view words = "damaged gzip data at byte ";
  const std::size_t at = message.find(words);
  ASSERT_NE(at, std::string::npos) << message;
  EXPECT_GT(std::stoul(message.substr(at + words.size())), bytes.size() * 9 / 10) << "of the file";
}

// The last bytes in front of a partition do not show that its block or member begins behind a blank line.
TEST(DecompressTest, ALongLineOfWhiteSpaceBehindABlockOrMemberDoesNotChangeAPartition) {
  std::string text;
  for (int document = 0; text.size() < 60'000; ++document)
    text += std::to_string(document) + " words\n" + std::string(document % 30, ' ') + "\n";
  Json config = SmallPartitions();
  config["partition"] = Json(2000);
  const Outcome whole = RunDecompress(config, TextRequest(text));
  for (const std::size_t length : {41, 300, 1500})
    for (std::string bytes : {InMembers(text, length, &GzipCompress), XzCompress(text, length)}) {
      const std::optional<InputCuts> cuts = Scan(config, TextRequest(bytes));
      ASSERT_TRUE(cuts) << length;
      ASSERT_EQ(cuts->ends.size(), whole.partitions.size());
      const auto partitions = static_cast<std::uint32_t>(cuts->ends.size());
      const auto read = [&](std::uint32_t only) {
        SourceRequest request = TextRequest(bytes);
        request.wanted = [only](std::uint32_t partition) { return partition == only; };
        request.last_wanted = only;
        request.known_end = [&cuts](std::uint32_t each) { return std::optional(cuts->ends.at(each)); };
        request.note = cuts->note;
        return RunDecompress(config, std::move(request));
      };
      for (std::uint32_t only = 0; only < partitions; ++only) {
        const Outcome outcome = read(only);
        ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
        ASSERT_EQ(outcome.partitions.size(), 1u);
        EXPECT_TRUE(outcome.partitions.at(only) == whole.partitions.at(only)) << only << " of " << length;
      }
      const std::size_t damage = bytes.size() / 2;
      bytes[damage] = static_cast<char>(~bytes[damage]);
      for (std::uint32_t only = partitions * 3 / 4; only < partitions; ++only)
        EXPECT_TRUE(read(only).status.ok()) << "decodes far in front of " << only << " of " << length;
    }
}

TEST(DecompressTest, ATextOfAnotherLengthThanItsCutsIsRefused) {
  const std::string text = Corpus(100'000);
  std::optional<InputCuts> cuts = Scan(SmallPartitions(), TextRequest(text));
  ASSERT_TRUE(cuts);
  ++cuts->ends.at(3).raw_end;
  SourceRequest request = TextRequest(text);
  request.wanted = [](std::uint32_t partition) { return partition == 3; };
  request.last_wanted = 3;
  request.known_end = [&cuts](std::uint32_t each) { return std::optional(cuts->ends.at(each)); };
  EXPECT_EQ(RunDecompress(SmallPartitions(), std::move(request)).status.code(), Code::kInvalidArgument);
}

TEST(DecompressTest, BlocksThatMemoryCannotHoldAreEnteredWhereverAPartitionBegins) {
  std::mt19937_64 random(7);
  std::string text = Corpus(100'000);
  while (text.size() < 4'000'000) text += std::to_string(random()) + (random() % 5 == 0 ? "\n\n" : "\n");
  Json config = SmallPartitions();
  config["partition"] = Json(100'000);
  const Outcome whole = RunDecompress(config, TextRequest(text));
  const auto partitions = static_cast<std::uint32_t>(whole.partitions.size());
  // Several streams with padding between them.
  const std::string bytes = XzCompress(text.substr(0, 2'500'000), 900'000) + std::string(8, '\0') +
                            XzCompress(text.substr(2'500'000), 700'000);
  std::size_t read = 0;
  for (std::uint32_t done = 1; done < partitions; done += 6)
    for (const int threads : {1, 4}) {
      SourceRequest request = TextRequest(bytes);
      request.input.file = std::make_shared<CountingFile>(
          std::move(request.input.file),
          [&read](std::uint64_t, std::string_view more) { read += more.size(); });
      request.decoder_threads = threads;
      request.decoder_memory = 1000;  // no block fits
      request.wanted = [done](std::uint32_t p) { return p >= done; };
      request.known_end = [&, done](std::uint32_t p) {
        return p < done ? std::optional(whole.partitions.at(p).end) : std::nullopt;
      };
      read = 0;
      Outcome expected = whole;
      for (std::uint32_t p = 0; p < done; ++p) expected.partitions.erase(p);
      ExpectSameOutcome(RunDecompress(config, std::move(request)), expected, std::to_string(done));
      const std::uint64_t border = whole.partitions.at(done - 1).end.raw_end;
      const double left = 1 - (static_cast<double>(border) - 900'000) / static_cast<double>(text.size());
      // Beside the blocks, the front is read for its format and its encoding, and the end for the index.
      EXPECT_LT(static_cast<double>(read), static_cast<double>(bytes.size()) * left + 700'000) << done;
    }
}

TEST(DecompressTest, SeekableInputIsNotDecodedFromItsStart) {
  const std::string text = Corpus(4'000'000);
  Json config = SmallPartitions();
  config["partition"] = Json(100'000);
  const Outcome whole = RunDecompress(config, TextRequest(text));
  const auto last = static_cast<std::uint32_t>(whole.partitions.size() - 1);
  // Damage behind the bytes that decide the encoding, which a resume has no reason to read.
  std::string bytes = XzCompress(text, 10'000);
  const std::size_t damage = bytes.size() * 7 / 10;
  bytes[damage] = static_cast<char>(bytes[damage] ^ 1);
  EXPECT_FALSE(RunDecompress(config, TextRequest(bytes)).status.ok());
  SourceRequest request = TextRequest(bytes);
  request.wanted = [last](std::uint32_t p) { return p == last; };
  request.known_end = [&](std::uint32_t p) { return std::optional(whole.partitions.at(p).end); };
  request.last_wanted = last;
  const Outcome outcome = RunDecompress(config, std::move(request));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  ASSERT_EQ(outcome.partitions.size(), 1u);
  EXPECT_TRUE(outcome.partitions.at(last) == whole.partitions.at(last));
}

// As an earlier run logged the first `done` partitions of `whole`.
void PassOver(const Outcome& whole, std::uint32_t done, SourceRequest& request) {
  request.wanted = [done](std::uint32_t p) { return p >= done; };
  request.known_end = [&whole, done](std::uint32_t p) {
    return p < done ? std::optional(whole.partitions.at(p).end) : std::nullopt;
  };
}

TEST(DecompressTest, DecodedTextIsWhatItsUtf8IsAlsoWhereItIsResumed) {
  const std::string utf8 = "日本語の文です。\n\n",
                    sjis = "\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x82\xC5\x82\xB7\x81\x42\n\n";
  for (const std::size_t ascii : {0, 1000}) {
    const std::string front = Times("nothing that tells\n\n", ascii);
    const Json config = SmallPartitions();
    const Outcome whole = RunDecompress(config, TextRequest(front + Times(sjis, 4000)));
    const Outcome wanted = RunDecompress(config, TextRequest(front + Times(utf8, 4000)));
    std::uint64_t decoded = 0;  // which a text in UTF-8 has none of
    for (const auto& [p, partition] : whole.partitions) {
      const auto found = partition.counts.reasons.find("decoded_shift_jis");
      if (found != partition.counts.reasons.end()) decoded += found->second;
    }
    Outcome compared = whole;
    for (auto& [p, partition] : compared.partitions) partition.counts.reasons.erase("decoded_shift_jis");
    ExpectSameOutcome(compared, wanted, "decoded");
    const auto partitions = static_cast<std::uint32_t>(whole.partitions.size());
    for (const std::string& text : {utf8, sjis})
      for (std::uint32_t done = 0; done <= partitions; ++done) {
        const Outcome& before = text == utf8 ? wanted : whole;
        SourceRequest request = TextRequest(front + Times(text, 4000));
        PassOver(before, done, request);
        const Outcome rest = RunDecompress(config, std::move(request));
        ASSERT_TRUE(rest.status.ok()) << rest.status.message();
        ASSERT_EQ(rest.partitions.size(), partitions - done);
        for (const auto& [p, partition] : rest.partitions) {
          ASSERT_TRUE(partition == before.partitions.at(p)) << p << " behind " << done;
        }
      }
    EXPECT_EQ(decoded, 4000u);
  }
}

// A version that knew no encodings took it for UTF-8 and went by other offsets.
TEST(DecompressTest, PartitionsThatWereReadInAnotherEncodingAreNotMixedWithIt) {
  const std::string sjis =
      Times("\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x82\xC5\x82\xB7\x81\x42\n\n", 4000);
  Json config = SmallPartitions();
  config["encoding"] = Json("utf-8");
  const Outcome before = RunDecompress(config, TextRequest(sjis));
  config["encoding"] = Json("auto");
  for (const std::string& bytes : {sjis, GzipCompress(sjis)}) {
    SourceRequest request = TextRequest(bytes);
    PassOver(before, 2, request);
    EXPECT_NE(
        RunDecompress(config, std::move(request)).status.message().find("that run read another encoding"),
        std::string::npos);
  }
}

TEST(DecompressTest, NothingWantedReadsNothing) {
  SourceRequest request = TextRequest("a\n");
  request.wanted = [](std::uint32_t) { return false; };
  request.known_end = [](std::uint32_t) { return std::optional(PartitionEnd{2, 1}); };
  request.last_wanted = 0;
  const Outcome outcome = RunDecompress(DefaultConfig(), std::move(request));
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_TRUE(outcome.partitions.empty());
  EXPECT_FALSE(outcome.end);
}

TEST(DecompressTest, EmptyAndBlankInputsEndWithoutPartitions) {
  for (const std::string& text : {""s, "\n\n\r\n"s, "\xEF\xBB\xBF"s}) {
    for (const std::string& bytes : {text, XzCompress(text), ZstdCompress(text), GzipCompress(text)}) {
      const Outcome outcome = RunDecompress(DefaultConfig(), TextRequest(bytes));
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
      EXPECT_TRUE(outcome.partitions.empty());
      ASSERT_TRUE(outcome.end);
      EXPECT_EQ(outcome.end->partitions, 0u);
      EXPECT_EQ(outcome.end->raw_bytes, text.size());
    }
  }
}

TEST(DecompressTest, TruncationFailsAfterThePartitionsThatAreWhole) {
  const std::string text = Corpus(120'000);
  Json config = SmallPartitions();
  const Outcome whole = RunDecompress(config, TextRequest(text));
  for (const std::string& bytes :
       {XzCompress(text), XzCompress(text, 15'000), ZstdCompress(text), GzipCompress(text)}) {
    std::size_t most = 0;
    for (std::size_t part = 0; part < 16; ++part) {
      const Outcome outcome =
          RunDecompress(config, TextRequest(bytes.substr(0, 1 + (bytes.size() - 2) * part / 15), "ja.txt"));
      if (part == 0) continue;  // too short for a magic number: text
      EXPECT_EQ(outcome.status.code(), Code::kDataLoss) << part;
      EXPECT_TRUE(outcome.status.message().starts_with("ja.txt: damaged ")) << outcome.status.message();
      EXPECT_FALSE(outcome.end);
      for (const auto& [number, partition] : outcome.partitions)
        EXPECT_TRUE(partition == whole.partitions.at(number));
      most = std::max(most, outcome.partitions.size());
    }
    EXPECT_EQ(most, whole.partitions.size() - 1);  // the last one is not known to be whole
  }
}

TEST(DecompressTest, ErrorsNameTheInputTheOffsetAndWhatToDo) {
  const Outcome page = RunDecompress(DefaultConfig(), TextRequest("<html>not found", "ja.txt.xz"));
  EXPECT_EQ(page.status.message(),
            "ja.txt.xz: is named .xz but holds no such data; fetch the file again, or set format: plain if "
            "it is text");
  Json config = DefaultConfig();
  config["format"] = Json("xz");
  EXPECT_EQ(RunDecompress(config, TextRequest("garbage, whatever it may be", "ja")).status.message(),
            "ja: damaged xz data at byte 12: no stream header stands here; fetch the file again");
  EXPECT_EQ(RunDecompress(DefaultConfig(), TextRequest("\xFF\xFE\0\0"
                                                       "a\0\0\0"s,
                                                       "u.txt"))
                .status.code(),
            Code::kInvalidArgument);
}

TEST(DecompressTest, LongLinesGoToTheQuarantineInPieces) {
  Json config = DefaultConfig();
  config["max_record_bytes"] = Json(1024);
  config["on_long"] = Json("quarantine");
  const std::string line(2500, 'x');
  SourceRequest request = TextRequest("a\n" + line + "\nb\n");
  request.batch_bytes = 2000;
  const Outcome outcome = RunDecompress(config, std::move(request));
  ASSERT_TRUE(outcome.status.ok());
  const Partition& partition = outcome.partitions.at(0);
  EXPECT_EQ(partition.texts, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(partition.quarantine.size(), 3u);
  EXPECT_EQ(partition.quarantine[2], "3:long_quarantined:" + line.substr(0, 452));
  EXPECT_EQ(partition.counts.records_in, 3u);
  EXPECT_EQ(partition.counts.records_out, 2u);
  EXPECT_EQ(partition.counts.reasons.at("long_quarantined"), 1u);

  config["on_long"] = Json("fail");
  EXPECT_TRUE(RunDecompress(config, TextRequest("a\n" + line, "l.txt"))
                  .status.message()
                  .starts_with("l.txt: line at byte 2 "));
  config["on_long"] = Json("split");
  EXPECT_EQ(RunDecompress(config, TextRequest(line)).partitions.at(0).texts.size(), 3u);
}

TEST(DecompressTest, StopIsNoticedWhilePassingOver) {
  std::stop_source stop;
  SourceRequest request = TextRequest(GzipCompress(Corpus(3'000'000)), "ja.gz", 100'000);
  request.wanted = [&stop](std::uint32_t p) {
    if (p == 2) stop.request_stop();
    return false;
  };
  request.stop = stop.get_token();
  EXPECT_EQ(RunDecompress(SmallPartitions(), std::move(request)).status.code(), Code::kCancelled);
}

TEST(DecompressTest, CheckGivesTextAndRefusesSizesThatCannotWork) {
  const StageType type = DecompressType();
  Schema schema;
  EXPECT_TRUE(type.check(DefaultConfig(), schema).ok());
  EXPECT_EQ(schema.columns.at("text"), ColumnType::kUtf8);
  Json config = DefaultConfig();
  config["max_record_bytes"] = Json(100);
  EXPECT_EQ(type.check(config, schema).code(), Code::kInvalidArgument);
  config = DefaultConfig();
  config["partition"] = Json(0);
  EXPECT_EQ(type.check(config, schema).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
