// Rules 2 of reading in sources: texts with CR, and borders of white space, wherever a reader begins.
#include "stages/sources/line_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "stages/sources/scan_note.h"
#include "stages/sources/source_stages.h"
#include "tests/stages/sources.h"
#include "tests/support/archive.h"
#include "tests/support/compress.h"

namespace pipeline {
namespace {

using Strings = std::vector<std::string>;
using Reasons = decltype(StageCounts::reasons);

Json LinesConfig(std::string_view rules) {
  Json config;
  for (const char* key : {"format", "archive"}) config[key] = "auto";
  config["documents"] = "blank_line";
  config["partition"] = 2'000;
  config["max_document_bytes"] = 64 << 20;
  config["max_record_bytes"] = 1 << 10;
  config["on_long"] = "split";
  config["invalid_utf8"] = "replace";
  config["max_ratio"] = 200;
  config["rules"] = rules;
  return config;
}

/// Documents between white space, with `end` at the end of each line.
std::string Documents(std::string_view end, std::size_t bytes) {
  static const Strings kBorders = {
      "", " ", "\u3000", "\t\u00a0", std::string(40, ' '), std::string(700, ' ')};
  std::mt19937 random(5);
  std::string text;
  while (text.size() < bytes) {
    for (std::size_t lines = 1 + random() % 4; lines > 0; --lines)
      text += "\u3000猫" + std::string(random() % 90, 'x') + std::string(end);
    text += kBorders[random() % (random() % 10 == 0 ? 6 : 5)] + std::string(end);
  }
  return text;
}

std::string InMembers(const std::string& text, std::size_t bytes) {
  std::string members;
  for (std::size_t at = 0; at < text.size(); at += bytes) members += GzipCompress(text.substr(at, bytes));
  return members;
}

SourceOutcome ReadLines(const Json& config, SourceRequest request) {
  request.decoder_threads = 2;
  return RunSource(DecompressType(), config, std::move(request));
}

/// The ends of all partitions, and the note of the scan that found them.
InputCuts ScanOf(const Json& config, const std::string& bytes) {
  InputCuts cuts;
  SourceRequest request = RequestFor(bytes, "a.txt");
  request.decoder_threads = 2;
  request.wanted = [](std::uint32_t) { return false; };
  request.passed = [&cuts](std::uint32_t, const PartitionEnd& end) {
    cuts.ends.push_back(end);
    return Status();
  };
  const auto stage = DecompressType().source()->make({"lines", config, {}});
  const auto source = (*stage)->Open(std::move(request));
  EXPECT_TRUE(source.ok()) << source.status().message();
  Batch batch;
  batch.Clear(1);
  EXPECT_FALSE((*source)->Next(batch).value());
  cuts.note = (*source)->note();
  return cuts;
}

TEST(LineSourceTest, EachPartitionOfRules2IsReadAloneAsInTheWhole) {
  const Json config = LinesConfig("2");
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    const std::string text = Documents(end, 40'000);
    const SourceOutcome whole = ReadLines(config, RequestFor(text, "a.txt"));
    ASSERT_TRUE(whole.status.ok()) << whole.status.message();
    ASSERT_GT(whole.partitions.size(), 10u);
    for (const std::string& bytes : {text, XzCompress(text, 5'000), InMembers(text, 3'000)})
      for (const bool noted : {true, false}) {
        const InputCuts cuts = ScanOf(config, bytes);
        ASSERT_EQ(cuts.ends.size(), whole.partitions.size());
        for (const auto& [only, partition] : whole.partitions) {
          SourceRequest request = RequestFor(bytes, "a.txt", 999);
          request.wanted = [only = only](std::uint32_t each) { return each == only; };
          request.last_wanted = only;
          request.known_end = [&cuts](std::uint32_t each) { return cuts.EndOf(each); };
          if (noted) request.note = cuts.note;
          const SourceOutcome alone = ReadLines(config, std::move(request));
          ASSERT_TRUE(alone.status.ok()) << alone.status.message();
          ASSERT_EQ(alone.partitions.size(), 1u);
          EXPECT_TRUE(alone.partitions.at(only) == partition) << only;
        }
      }
  }
}

TEST(LineSourceTest, CrAndLfGiveTheSameRecords) {
  const SourceOutcome lf = ReadLines(LinesConfig("2"), RequestFor(Documents("\n", 20'000), "a.txt"));
  const SourceOutcome cr = ReadLines(LinesConfig("2"), RequestFor(Documents("\r", 20'000), "a.txt"));
  EXPECT_EQ(lf.texts, cr.texts);
  ASSERT_EQ(lf.partitions.size(), cr.partitions.size());
  for (const auto& [number, partition] : lf.partitions)
    EXPECT_EQ(partition.records, cr.partitions.at(number).records) << "keys and documents, too";
}

TEST(LineSourceTest, AReaderLooksBehindBordersOfWhiteSpace) {
  // No border shows in its last three bytes: a reader would otherwise begin at the front.
  const Json config = LinesConfig("2");
  std::string text;
  for (int document = 0; document < 300; ++document) text += "猫は鳴く。" + std::string(20, 'x') + "\n    \n";
  const InputCuts cuts = ScanOf(config, text);
  const std::string torn = "!" + text.substr(1);  // whoever reads the front shows it
  const auto last = static_cast<std::uint32_t>(cuts.ends.size()) - 1;
  SourceRequest request = RequestFor(torn.substr(0, 10) + "\n\n\n" + torn.substr(13), "a.txt");
  request.wanted = [last](std::uint32_t each) { return each == last; };
  request.known_end = [&cuts](std::uint32_t each) { return cuts.EndOf(each); };
  const SourceOutcome alone = ReadLines(config, std::move(request));
  ASSERT_TRUE(alone.status.ok()) << alone.status.message();
  EXPECT_EQ(alone.partitions.begin()->first, last);
}

TEST(LineSourceTest, MembersOfAnArchiveDecideForThemselves) {
  const SourceOutcome outcome = ReadLines(
      LinesConfig("2"),
      RequestFor(Tar({{"mac.txt", "a\rb\r\rc\r"}, {"unix.txt", "d\re\n"}, {"old.txt", "f\rg"}}), "a.tar"));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.texts, (Strings{"a", "b", "c", "d\re", "f", "g"}));
  EXPECT_EQ(outcome.partitions.at(0).counts.reasons.at("cr"), 4u);
}

TEST(LineSourceTest, Rules1ReadAsEarlierVersions) {
  const SourceOutcome mac = ReadLines(LinesConfig("1"), RequestFor("a\rb\r", "a.txt"));
  EXPECT_EQ(mac.texts, Strings{"a\rb"});
  EXPECT_EQ(mac.partitions.at(0).counts.reasons, (Reasons{{"crlf", 1}}));
  const SourceOutcome space = ReadLines(LinesConfig("1"), RequestFor("a\n\u3000\nb\n", "a.txt"));
  EXPECT_EQ(space.texts, (Strings{"a", "\u3000", "b"}));
  EXPECT_EQ(space.end->documents, 1u);
}

TEST(ScanNoteTest, TheLineEndsStandBehindThePositions) {
  for (const LineEnds ends : {LineEnds::kLf, LineEnds::kCr}) {
    const ScanNote note = ParseScanNote(ToString(ScanNote{7, {{1, 2}, {3, 4}}, ends}));
    EXPECT_EQ(note.offset, 7u);
    EXPECT_EQ(note.positions.size(), 2u);
    EXPECT_EQ(note.ends, ends);
  }
  EXPECT_EQ(ToString(ScanNote{}), "-") << "as earlier versions wrote it";
  EXPECT_EQ(ToString(ScanNote{{}, {}, LineEnds::kCr}), "- cr");
}

/// Counts the bytes that are read of a file.
class CountedFile final : public ByteFile {
 public:
  CountedFile(std::shared_ptr<const ByteFile> file, std::uint64_t& read)
      : file_(std::move(file)), read_(read) {}
  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file_->Open(offset, std::move(stop)));
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(std::move(input), read_));
  }

 private:
  class Reader final : public ByteReader {
   public:
    Reader(std::unique_ptr<ByteReader> input, std::uint64_t& read) : input_(std::move(input)), read_(read) {}
    Result<std::size_t> Read(std::span<char> out) override {
      ASSIGN_OR_RETURN(const std::size_t got, input_->Read(out));
      read_ += got;
      return got;
    }

   private:
    const std::unique_ptr<ByteReader> input_;
    std::uint64_t& read_;
  };
  const std::shared_ptr<const ByteFile> file_;
  std::uint64_t& read_;
};

TEST(LineSourceTest, AReaderBehindAPartitionWithANoteReadsNothingInFrontOfIt) {
  Json config = LinesConfig("2");
  config["partition"] = 256 << 10;
  std::mt19937 random(7);
  std::string ascii, tail;
  while (ascii.size() < 2 << 20) ascii += std::to_string(random()) + "\n\n";
  while (tail.size() < 1 << 20) tail += "猫" + std::to_string(random()) + "\n\n";
  for (const std::string& text : {ascii, ascii + tail})
    for (const std::string& bytes : {text, XzCompress(text, 256 << 10)}) {
      const auto stage = DecompressType().source()->make({"lines", config, {}});
      // The notes of one that reads all, asked for as each partition ends.
      std::vector<std::string> notes;
      std::vector<PartitionEnd> ends;
      const auto whole = (*stage)->Open(RequestFor(bytes, "a.txt")).value();
      Batch batch;
      for (batch.Clear(1); whole->Next(batch).value(); batch.Clear(1)) {
        if (!batch.closes) continue;
        ends.push_back(batch.end);
        notes.push_back(whole->note_before(batch.end.raw_end));
      }
      for (std::size_t before = 0; before < ends.size(); ++before)
        EXPECT_EQ(notes[before], ends[before].raw_end > ascii.size() ? std::to_string(ascii.size()) : "-");
      const auto last = static_cast<std::uint32_t>(ends.size()) - 1;
      std::uint64_t read = 0;
      SourceRequest request = RequestFor(bytes, "a.txt");
      request.input.file = std::make_shared<CountedFile>(request.input.file, read);
      request.is_small = true;  // it does not read ahead
      request.wanted = [last](std::uint32_t partition) { return partition >= last; };
      request.known_end = [&](std::uint32_t partition) {
        return partition < last ? std::optional(ends[partition]) : std::nullopt;
      };
      request.note = notes[last - 1];
      const auto source = (*stage)->Open(std::move(request)).value();
      for (batch.Clear(1); source->Next(batch).value(); batch.Clear(1)) {
        if (!batch.closes) continue;
        EXPECT_EQ(batch.partition.partition, last);
        EXPECT_EQ(batch.end.raw_end, ends[last].raw_end);
        EXPECT_EQ(source->note_before(batch.end.raw_end), notes[last]) << "as of the one that read all";
      }
      EXPECT_LT(read, bytes.size() / 2) << "a front, the index, and the last block";
    }
}

TEST(LineSourceTest, ATextThatIsNoUtf8HasNoNoteOfItsPartitions) {
  Json config = LinesConfig("2");
  std::string text;  // "猫が鳴く。" in Shift_JIS
  for (int line = 0; line < 1'000; ++line) text += "\x94\x4c\x82\xaa\x96\xc2\x82\xad\x81\x42\n\n";
  for (const std::string& bytes :
       {text, GzipCompress(std::string(9'000, 'a') + "\n\n" + std::string(9'000, 'b'))}) {
    const auto stage = DecompressType().source()->make({"lines", config, {}});
    const auto source = (*stage)->Open(RequestFor(bytes, "a.txt")).value();
    Batch batch;
    for (batch.Clear(1); source->Next(batch).value(); batch.Clear(1))
      EXPECT_EQ(batch.closes ? source->note_before(batch.end.raw_end) : "", "");
  }
}

}  // namespace
}  // namespace pipeline
