// A large input is scanned by one process, and others make its partitions: the same bytes and lines as in a
// run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/str.h"
#include "dag/books/unit_id.h"
#include "tests/dag/toy_file.h"
#include "tests/support/compress.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

constexpr std::uint32_t kPartitions = 20;  // of the large input, which is number 0

/// Documents of different lengths; one is longer than a partition.
std::string LargeText() {
  std::mt19937 chance(3);
  std::string text = "\n\n";
  for (int document = 0; document < 60; ++document) {
    for (std::size_t line = 0; line < 1 + chance() % 5; ++line)
      text += StrCat("line ", document, " ", std::string(chance() % 20, 'x'), "\n");
    text += document % 7 == 0 ? "\n\n" : "\n";
  }
  return text;
}

/// A place with one large input, in several blocks, and three small ones.
class LargePlace : public ToyPlace {
 public:
  explicit LargePlace(std::string bytes = LargeText()) {
    WriteFile(path("corpus-+.txt"), bytes);  // the first of the names
    cut_inputs = true;
  }

  ToyOutcome Plan() { return Run(kToyText, {}, 1, ExecutionMode::kPlanning); }
  ToyOutcome Unit(const std::string& unit) { return Run(kToyText, {}, 1, ExecutionMode::kOneUnit, unit); }

  /// Plans and runs all units until nothing is left; returns the number of plans.
  int WorkOff(std::mt19937 chance = std::mt19937(5)) {
    for (int plans = 1; plans < 10; ++plans) {
      ToyOutcome plan = Plan();
      EXPECT_EQ(plan.failures, std::vector<std::string>());
      for (const std::string& line : plan.units) lines.insert(line);
      if (plan.offered.empty()) return plans;
      std::shuffle(plan.offered.begin(), plan.offered.end(), chance);
      for (const std::string& unit : plan.offered) {
        const ToyOutcome outcome = Unit(unit);
        EXPECT_EQ(outcome.failures, std::vector<std::string>()) << unit;
        for (const std::string& line : outcome.units) lines.insert(line);
        for (const std::string& note : outcome.notes) notes.insert(note.substr(0, note.find(',')));
      }
    }
    ADD_FAILURE() << "no end";
    return 0;
  }
  std::multiset<std::string> notes;  // the first half of each note of a unit
  std::multiset<std::string> lines;  // "done text/0000-00000" of each line that WorkOff logged
};

/// The units of partitions of the large input that a plan offers.
std::vector<std::string> OfLarge(const ToyOutcome& plan) {
  std::vector<std::string> units = plan.offered;
  std::erase_if(
      units, [](const std::string& unit) { return !unit.starts_with("text/0000-") || unit.ends_with("*"); });
  return units;
}

/// Scans the large input until the log has got its first cuts so many times.
ToyOutcome ScanInPart(LargePlace& place, int lines) {
  place.scan_period = std::chrono::minutes(0);
  place.adjust = [left = lines](Environment& environment) {
    environment.log->SetListener([left](const UnitLine& line) mutable {
      return line.HasFirstCuts() && --left == 0 ? Status(Code::kUnavailable, "killed") : Status();
    });
  };
  ToyOutcome outcome = place.Unit("text/0000-*");
  EXPECT_EQ(outcome.failures, std::vector<std::string>{"text/0000-*: killed"});
  place.adjust = nullptr;
  return outcome;
}

/// Runs until the large input is read up to this partition, where the disk is full; its first two partitions
/// are made.
void RunUpTo(LargePlace& place, std::uint32_t partition) {
  class Sees final : public RecordObserver {
   public:
    explicit Sees(std::uint32_t partition) : partition_(partition) {}
    std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>&) override {
      if (batch.partition == PartitionId{0, partition_}) seen = true;
      return nullptr;
    }
    std::atomic<bool> seen = false;

   private:
    const std::uint32_t partition_;
  };
  Sees sees(partition);
  place.watch = &sees;
  std::atomic<int> made = 0;
  place.adjust = [&sees, &made](Environment& environment) {
    environment.log->SetListener([&made](const UnitLine& line) {
      if (line.unit == "text/0000-00000" || line.unit == "text/0000-00001") ++made;
      return Status();
    });
    environment.free_bytes = [&sees, &made]() -> Result<std::uint64_t> {
      return sees.seen && made == 2 ? 0u : 1u << 30;
    };
  };
  EXPECT_NE(place.Run(kToyText).code, Code::kOk) << "the disk is full in the middle";
  place.watch = nullptr;
  place.adjust = nullptr;
}

/// The last line about the cuts of the large input.
std::string CutsOf(const ToyPlace& place) {
  const std::string log = ReadFile(place.path("work/run.log"));
  const std::size_t at = log.rfind("cuts\tunit=text/0000-*");
  return at == std::string::npos ? "none" : log.substr(at, log.find('\n', at) - at);
}

/// The lines about finished inputs and partitions of a log, sorted.
std::vector<std::string> LinesOf(const ToyPlace& place) {
  std::vector<std::string> lines;
  std::string log = ReadFile(place.path("work/run.log"));
  for (std::size_t at = 0; at < log.size(); at = log.find('\n', at) + 1) {
    std::string line = log.substr(at, log.find('\n', at) - at);
    const bool is_shard = line.find("unit=text/train.") != std::string::npos;  // it names the place
    if (!is_shard && (line.starts_with("done") || line.starts_with("end"))) lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(CutInputsTest, UnitsOfPartitionsGiveTheBytesAndLinesOfOneRun) {
  LargePlace one, many;
  one.keep_intermediates = true;
  const ToyOutcome whole = one.Ok(kToyText);
  ASSERT_EQ(whole.Count("done text/0000-"), static_cast<int>(kPartitions));
  many.WorkOff();
  EXPECT_TRUE(one.Files("out") == many.Files("out"));
  EXPECT_TRUE(one.Files("work/artifacts") == many.Files("work/artifacts"));
  EXPECT_EQ(LinesOf(one), LinesOf(many));
  EXPECT_EQ(many.lines.count("cuts text/0000-*"), 1u);
  EXPECT_EQ(many.lines.count("end text/0000-*"), 1u);
  EXPECT_EQ(many.lines.count("cuts text/0001-*"), 0u) << "it is too small";
}

TEST(CutInputsTest, APlanOffersTheMissingPartitionsOfACutInput) {
  LargePlace place;
  EXPECT_EQ(place.Plan().offered,
            (std::vector<std::string>{"text/0000-*", "text/0001-*", "text/0002-*", "text/0003-*"}));
  const ToyOutcome scan = place.Unit("text/0000-*");
  EXPECT_EQ(scan.units, (std::vector<std::string>{"cuts text/0000-*"}));
  EXPECT_EQ(place.Unit("text/0000-00003").units, (std::vector<std::string>{"done text/0000-00003"}));
  const ToyOutcome plan = place.Plan();
  EXPECT_EQ(plan.offered.size(), kPartitions - 1 + 3u);
  EXPECT_EQ(std::count(plan.offered.begin(), plan.offered.end(), "text/0000-00003"), 0);
  EXPECT_EQ(std::count(plan.offered.begin(), plan.offered.end(), "text/0000-00004"), 1);
}

TEST(CutInputsTest, APlanOffersUnitsInTheOrderOfTheirNumbers) {
  LargePlace place;
  WriteFile(place.path("corpus-,.txt"), LargeText());  // the second of the names
  place.Unit("text/0000-*");
  place.Unit("text/0001-*");
  std::vector<std::string> expected;
  for (const std::uint32_t input : {0u, 1u})
    for (std::uint32_t partition = 0; partition < kPartitions; ++partition)
      expected.push_back(ToString(UnitId{"text", PartitionId{input, partition}}));
  for (const int input : {2, 3, 4}) expected.push_back(StrCat("text/000", input, "-*"));
  EXPECT_EQ(place.Plan().offered, expected);
}

TEST(CutInputsTest, BlocksOfXzAreCutAtAnyBorder) {
  const std::string text = LargeText();
  LargePlace plain, blocks(XzCompress(text, 100)), one_block(XzCompress(text, 0));
  plain.Ok(kToyText);
  blocks.WorkOff();
  EXPECT_EQ(blocks.lines.count("cuts text/0000-*"), 1u);
  EXPECT_TRUE(plain.Files("out/toy/1.0.0").size() == blocks.Files("out/toy/1.0.0").size());
  one_block.WorkOff();
  EXPECT_EQ(one_block.lines.count("cuts text/0000-*"), 0u);
  EXPECT_EQ(one_block.lines.count("end text/0000-*"), 1u);
  LargePlace run(XzCompress(text, 100));
  run.Ok(kToyText);
  EXPECT_TRUE(run.Files("out") == blocks.Files("out"));
}

TEST(CutInputsTest, PartitionsThatBeginInOneBlockAreOneUnit) {
  const std::string text = LargeText();
  const std::string bytes = XzCompress(text, text.size() / 3 + 1);
  LargePlace one(bytes), many(bytes);
  one.keep_intermediates = true;
  one.Ok(kToyText);
  many.Unit("text/0000-*");
  const std::vector<std::string> units = OfLarge(many.Plan());
  ASSERT_EQ(units.size(), 3u) << "one for each block";
  EXPECT_EQ(units[0], "text/0000-00000");
  const ToyOutcome second = many.Unit(units[1]);
  EXPECT_GT(second.Count("done text/0000-"), 4);
  EXPECT_EQ(second.Count(StrCat("done ", units[1])), 1);
  EXPECT_EQ(OfLarge(many.Plan()), (std::vector<std::string>{units[0], units[2]}));
  many.WorkOff();
  EXPECT_TRUE(one.Files("out") == many.Files("out"));
  EXPECT_TRUE(one.Files("work/artifacts") == many.Files("work/artifacts"));
  EXPECT_EQ(LinesOf(one), LinesOf(many));
}

TEST(CutInputsTest, ABlockInWhichAScanIsIsNoUnitYet) {
  const std::string text = LargeText();
  LargePlace place(XzCompress(text, text.size() / 3 + 1));
  ScanInPart(place, 3);
  EXPECT_EQ(OfLarge(place.Plan()), std::vector<std::string>());
  ScanInPart(place, 6);
  const std::vector<std::string> units = OfLarge(place.Plan());
  ASSERT_EQ(units, std::vector<std::string>{"text/0000-00000"});
  EXPECT_GT(place.Unit(units[0]).Count("done text/0000-"), 4);
  EXPECT_EQ(OfLarge(place.Plan()), std::vector<std::string>());
}

TEST(CutInputsTest, AUnitPassesOverPartitionsThatExistInItsBlock) {
  const std::string text = LargeText();
  const std::string bytes = XzCompress(text, text.size() / 2 + 1);
  LargePlace one(bytes), many(bytes);
  one.Ok(kToyText);
  RunUpTo(many, 3);  // by a run
  const ToyOutcome scan = many.Unit("text/0000-*");
  EXPECT_EQ(scan.Count("cuts text/0000-*"), 1);
  const std::vector<std::string> units = OfLarge(many.Plan());
  ASSERT_EQ(units.size(), 2u);
  EXPECT_GT(units[0], "text/0000-00001") << "it is the first one that is missing";
  many.WorkOff();
  EXPECT_EQ(many.lines.count(StrCat("done text/0000-00000")), 0u);
  EXPECT_TRUE(one.Files("out") == many.Files("out"));
}

/// Members of about `bytes` of text each.
std::string InMembers(const std::string& text, std::size_t bytes, std::string (*compress)(std::string_view)) {
  std::string members;
  for (std::size_t at = 0; at < text.size(); at += bytes) members += compress(text.substr(at, bytes));
  return members;
}

TEST(CutInputsTest, MembersOfCompressedFilesAreCutIfTheyAreShort) {
  const std::string text = LargeText() + LargeText();  // compressed, it is still large enough
  struct Packing {
    std::string (*compress)(std::string_view);
    std::size_t member;
  };
  const auto zstd = [](std::string_view part) { return ZstdCompress(part); };
  for (const auto& [compress, member] : {Packing{zstd, 200},
                                         {zstd, 1'000'000},
                                         {&GzipCompress, 70},
                                         {&Bzip2Compress, 200},
                                         {&Lz4Compress, 200}}) {
    const std::string bytes = InMembers(text, member, compress);
    LargePlace run(bytes), place(bytes);
    run.Ok(kToyText);
    place.WorkOff();
    const bool is_short = member < 1000;
    EXPECT_EQ(place.lines.count("cuts text/0000-*"), is_short ? 1u : 0u) << member;
    EXPECT_EQ(place.notes.count("corpus-+.txt: one process decodes all of it"), is_short ? 0u : 1u);
    EXPECT_TRUE(run.Files("out") == place.Files("out")) << member;
  }
}

TEST(CutInputsTest, ARunFinishesWhatUnitsBegan) {
  LargePlace undisturbed, place;
  undisturbed.Ok(kToyText);
  place.Unit("text/0000-*");
  for (const char* unit : {"text/0000-00002", "text/0000-00009", "text/0000-00019"})
    EXPECT_EQ(place.Unit(unit).Count("done"), 1);
  const ToyOutcome rest = place.Ok(kToyText);
  EXPECT_EQ(rest.Count("done text/0000-"), static_cast<int>(kPartitions) - 3);
  EXPECT_EQ(rest.Count("end text/0000-*"), 1);
  EXPECT_TRUE(undisturbed.Files("out") == place.Files("out"));
}

TEST(CutInputsTest, UnitsFinishWhatARunBegan) {
  LargePlace undisturbed, place;
  undisturbed.Ok(kToyText);
  RunUpTo(place, 12);
  place.WorkOff();
  EXPECT_EQ(place.lines.count("cuts text/0000-*"), 1u);
  EXPECT_LT(std::count_if(place.lines.begin(), place.lines.end(),
                          [](const std::string& line) { return line.starts_with("done text/0000-"); }),
            static_cast<int>(kPartitions));
  EXPECT_TRUE(undisturbed.Files("out") == place.Files("out"));
}

TEST(CutInputsTest, IfAllPartitionsExistARunLogsTheEndWithoutReading) {
  LargePlace place;
  place.Unit("text/0000-*");
  for (std::uint32_t partition = 0; partition < kPartitions; ++partition)
    place.Unit(StrCat("text/0000-", partition < 10 ? "0000" : "000", partition));
  std::set<PartitionId> seen;
  class Sees final : public RecordObserver {
   public:
    explicit Sees(int& of_large) : of_large_(of_large) {}
    std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>&) override {
      if (batch.partition.input == 0) ++of_large_;
      return nullptr;
    }

   private:
    int& of_large_;
  };
  int of_large = 0;
  Sees sees(of_large);
  place.watch = &sees;
  place.threads = 1;
  const ToyOutcome outcome = place.Ok(kToyText);
  EXPECT_EQ(of_large, 0);
  EXPECT_EQ(outcome.Count("end text/0000-*"), 1);
  EXPECT_EQ(outcome.Count("done text/0000-"), 0);
}

TEST(CutInputsTest, ADamagedBlockGivesThePartitionsAndTheMessageOfARun) {
  std::string bytes = XzCompress(LargeText(), 100);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  LargePlace one(bytes), many(bytes);
  const ToyOutcome whole = one.Run(kToyText);
  const ToyOutcome unit = many.Unit("text/0000-*");
  ASSERT_EQ(whole.failures.size(), 1u);
  EXPECT_EQ(whole.failures, unit.failures);
  EXPECT_NE(whole.failures[0].find("damaged xz data at byte"), std::string::npos) << whole.failures[0];
  EXPECT_GT(unit.Count("done text/0000-"), 2);
  EXPECT_EQ(whole.Count("done text/0000-"), unit.Count("done text/0000-"));
  EXPECT_EQ(unit.Count("cuts"), 0);
}

TEST(CutInputsTest, APlanChecksTheBoundsOfACutInput) {
  std::string text = LargeText();
  for (std::size_t at = text.find("line"); at != std::string::npos; at = text.find("line", at + 60))
    text[at] = '\xff';
  LargePlace one(text), many(text);
  const ToyOutcome whole = one.Run(kToyText, {}, 100);
  ASSERT_EQ(whole.failures.size(), 1u);
  EXPECT_NE(whole.failures[0].find("invalid_lines"), std::string::npos) << whole.failures[0];
  many.Unit("text/0000-*");
  const ToyOutcome plan = many.Plan();
  EXPECT_EQ(plan.failures, std::vector<std::string>());
  for (const std::string& unit : plan.offered)
    EXPECT_EQ(many.Unit(unit).failures, std::vector<std::string>()) << unit;
  const ToyOutcome again = many.Plan();
  EXPECT_EQ(again.failures, whole.failures);
  EXPECT_EQ(again.offered, std::vector<std::string>());
  EXPECT_EQ(again.Count("end text/0000-*"), 0);
}

TEST(CutInputsTest, APlanOffersThePartitionsOfTheFirstCutsBesideTheScan) {
  LargePlace place;
  EXPECT_EQ(ScanInPart(place, 6).Count("cuts text/0000-*"), 6);
  place.Unit("text/0000-00002");
  std::vector<std::string> expected;
  for (const int partition : {0, 1, 3, 4, 5}) expected.push_back(StrCat("text/0000-0000", partition));
  for (const int input : {0, 1, 2, 3}) expected.push_back(StrCat("text/000", input, "-*"));
  const ToyOutcome plan = place.Plan();
  EXPECT_EQ(plan.offered, expected);
  EXPECT_EQ(plan.scanned, std::vector<std::string>{"text/0000-*"});
  // The first ones exist: there is only the scan until it tells more.
  for (const int partition : {0, 1, 3, 4, 5}) place.Unit(StrCat("text/0000-0000", partition));
  EXPECT_EQ(place.Plan().offered.front(), "text/0000-*");
  const ToyOutcome rest = place.Unit("text/0000-*");
  EXPECT_EQ(rest.Count("cuts text/0000-*"), 10 + 2 + 1) << "7 to 16, then two by two, and the end";
  EXPECT_EQ(place.Plan().offered.size(), kPartitions - 6 + 3u);
}

TEST(CutInputsTest, KilledScansAndUnitsBesideThemGiveTheBytesAndLinesOfOneRun) {
  const std::string text = LargeText();
  for (const std::string& bytes : {text, XzCompress(text, 100), InMembers(text + text, 70, &GzipCompress)}) {
    LargePlace one(bytes), many(bytes), scanned(bytes);
    one.keep_intermediates = true;
    one.Ok(kToyText);
    scanned.Unit("text/0000-*");
    for (const int lines : {3, 1, 4, 5}) {
      ScanInPart(many, lines);
      const ToyOutcome plan = many.Plan();
      for (std::size_t at = 0; at < plan.offered.size(); at += 2) {
        if (plan.offered[at] == "text/0000-*") continue;
        EXPECT_EQ(many.Unit(plan.offered[at]).failures, std::vector<std::string>());
      }
    }
    many.Unit("text/0000-*");
    EXPECT_EQ(CutsOf(many), CutsOf(scanned));
    many.WorkOff();
    EXPECT_TRUE(one.Files("out") == many.Files("out"));
    EXPECT_TRUE(one.Files("work/artifacts") == many.Files("work/artifacts"));
    EXPECT_EQ(LinesOf(one), LinesOf(many));
  }
}

TEST(CutInputsTest, ARunAfterFirstCutsReadsOnBehindItsOwnPartitions) {
  const std::string bytes = InMembers(LargeText() + LargeText(), 70, &GzipCompress);
  LargePlace undisturbed(bytes), more(bytes), fewer(bytes);
  undisturbed.Ok(kToyText);
  ScanInPart(more, 4);
  RunUpTo(more, 12);
  more.Ok(kToyText);
  EXPECT_TRUE(undisturbed.Files("out") == more.Files("out"));
  ScanInPart(fewer, 4);
  fewer.Unit("text/0000-00001");
  fewer.Ok(kToyText);
  EXPECT_TRUE(undisturbed.Files("out") == fewer.Files("out"));
}

TEST(CutInputsTest, ASourceThatChangesWhileItIsScannedEndsTheScan) {
  LargePlace place;
  place.scan_period = std::chrono::minutes(0);
  place.adjust = [path = place.path("corpus-+.txt")](Environment& environment) {
    environment.log->SetListener([path, told = 0](const UnitLine& line) mutable {
      if (line.HasFirstCuts() && ++told == 5) std::ofstream(path, std::ios::app) << "one more\n";
      return Status();
    });
  };
  const ToyOutcome scan = place.Unit("text/0000-*");
  place.adjust = nullptr;
  ASSERT_EQ(scan.failures.size(), 1u);
  EXPECT_NE(scan.failures[0].find("was changed since this run began"), std::string::npos);
  EXPECT_EQ(scan.Count("cuts text/0000-*"), 5) << "nothing is told of bytes that may be others";
  EXPECT_EQ(place.Plan().offered.front(), "text/0000-*") << "nothing counts of the earlier bytes";
  place.WorkOff();
  LargePlace fresh(LargeText() + "one more\n");
  fresh.Ok(kToyText);
  EXPECT_TRUE(fresh.Files("out") == place.Files("out"));
}

TEST(CutInputsTest, ADamagedBlockBehindFirstCutsGivesThePartitionsAndTheMessageOfARun) {
  std::string bytes = XzCompress(LargeText(), 100);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  LargePlace one(bytes), many(bytes);
  const ToyOutcome whole = one.Run(kToyText);
  ScanInPart(many, 3);
  many.Unit("text/0000-00001");
  const ToyOutcome unit = many.Unit("text/0000-*");
  EXPECT_EQ(whole.failures, unit.failures);
  EXPECT_EQ(whole.Count("done text/0000-"), unit.Count("done text/0000-") + 1);
  EXPECT_EQ(many.Plan().offered.front(), "text/0000-*") << "all partitions before the damage exist";
}

TEST(CutInputsTest, ABoundHoldsOverPartitionsOfFirstCuts) {
  std::string text = LargeText();
  for (std::size_t at = text.find("line"); at != std::string::npos; at = text.find("line", at + 60))
    text[at] = '\xff';
  LargePlace one(text), many(text);
  const ToyOutcome whole = one.Run(kToyText, {}, 100);
  ScanInPart(many, 9);
  for (int plans = 0; plans < 4; ++plans) {
    const ToyOutcome plan = many.Plan();
    if (plan.offered.empty()) {
      EXPECT_EQ(plan.failures, whole.failures);
      return;
    }
    for (const std::string& unit : plan.offered)
      EXPECT_EQ(many.Unit(unit).failures, std::vector<std::string>()) << unit;
  }
  ADD_FAILURE() << "the bound is not checked";
}

TEST(CutInputsTest, ASourceThatChangesAfterItsScanIsScannedAgain) {
  LargePlace place;
  place.Unit("text/0000-*");
  place.Unit("text/0000-00001");
  std::ofstream(place.path("corpus-+.txt"), std::ios::app) << "one more\n";
  EXPECT_EQ(place.Plan().offered.front(), "text/0000-*");
  place.WorkOff();
  LargePlace fresh(LargeText() + "one more\n");
  fresh.Ok(kToyText);
  EXPECT_TRUE(fresh.Files("out") == place.Files("out"));
}

TEST(CutInputsTest, AUnitWhoseSourceChangesWhileItReadsCommitsNothing) {
  LargePlace place;
  place.Unit("text/0000-*");
  class Changes final : public RecordObserver {
   public:
    explicit Changes(std::string path) : path_(std::move(path)) {}
    std::unique_ptr<BatchProbe> Watch(const Batch&, const std::vector<std::string>&) override {
      std::ofstream(path_, std::ios::app) << "one more\n";
      return nullptr;
    }

   private:
    const std::string path_;
  };
  Changes changes(place.path("corpus-+.txt"));
  place.watch = &changes;
  const ToyOutcome outcome = place.Unit("text/0000-00005");
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_NE(outcome.failures[0].find("was changed since this run began"), std::string::npos);
  EXPECT_EQ(outcome.Count("done text/0000-"), 0) << "the source is checked before the commit";
  EXPECT_EQ(outcome.Count("void text/0000-"), 0);
}

TEST(CutInputsTest, AUnitWhoseSourceChangesBetweenItsPartitionsTakesThemBack) {
  const std::string text = LargeText();
  LargePlace place(XzCompress(text, text.size() / 2 + 1));
  place.Unit("text/0000-*");
  place.adjust = [path = place.path("corpus-+.txt")](Environment& environment) {
    environment.log->SetListener([path](const UnitLine& line) {
      if (line.state == UnitState::kDone) std::ofstream(path, std::ios::app) << "one more\n";
      return Status();
    });
  };
  const ToyOutcome outcome = place.Unit("text/0000-00000");
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_NE(outcome.failures[0].find("was changed since this run began"), std::string::npos);
  const int done = outcome.Count("done text/0000-");
  EXPECT_GT(done, 0);
  EXPECT_LT(done, static_cast<int>(kPartitions) / 2) << "the source is checked before each commit";
  EXPECT_EQ(outcome.Count("void text/0000-"), done);
}

}  // namespace
}  // namespace pipeline
