#include "dag/books/run_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/log.h"
#include "base/str.h"
#include "dag/books/log_file.h"
#include "dag/books/run_log_line.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

// The example of dag/books/run_log.md, byte for byte.
constexpr std::string_view kExampleLog =
    "# pipe run log v1\n"
    "run\tid=r1\tpid=4711\tcommand=pipe run tiny.yaml -k 2\tstarted=1769860800000\t63f5e2a4\n"
    "segment\tnumber=1\tlineage=[{\"config\":{\"documents\":\"blank_line\"},\"stage\":\"lines\",\"type\":"
    "\"decompress\",\"version\":1}]\td4883863\n"
    "done\tunit=lines/0000-00000\tsegment=1\trecipe=00112233445566778899aabbccddeeff\t"
    "content=00112233445566778899aabbccddeeff\tdigest=0123456789abcdef0123456789abcdef\trecords=2\t"
    "split=train 2 1 9\traw_end=10\tdocument_end=1\tcounts=lines 3 2 10 9 blank 1\t"
    "object=0000-00000.part 96 8a9136aa fedcba9876543210fedcba9876543210\t6afb7651\n"
    "failed\tunit=lines/0000-00001\tsegment=1\t"
    "reason=line 7:%09not UTF-8, 100%25 damaged\torigin=0000-00001:7\t091cde9c\n"
    "end\tunit=lines/0000-*\tsegment=1\trecipe=00112233445566778899aabbccddeeff\tpartitions=2\traw_bytes=64\t"
    "documents=4\tcounts=lines 1 0 1 0 blank 1\t3ddc181f\n";

/// Collects what is logged while it lives.
class LogCapture {
 public:
  LogCapture()
      : before_(SetLogSink([this](Level, std::string_view message) { text_ += StrCat(message, '\n'); })) {}
  ~LogCapture() { SetLogSink(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

class RunLogTest : public testing::Test {
 protected:
  /// Without waiting for the disk, which would make these tests slow and no better.
  std::unique_ptr<RunLog> OpenLog() {
    LogIo io = SystemLogIo();
    io.sync = [](int) { return 0; };
    Result<std::unique_ptr<RunLog>> log = RunLog::Open(path_, io);
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? std::move(log).value() : nullptr;
  }
  static UnitLine Cuts(std::string unit) {
    UnitLine line;
    line.state = UnitState::kCuts;
    line.unit = std::move(unit);
    line.partitions = 3;
    line.raw_bytes = 64;
    line.documents = 4;
    line.cuts = {{10, 1}, {31, 1}, {64, 4}};
    line.note = "17 %\t";
    return line;
  }
  static UnitLine Done(std::string unit, std::uint64_t records = 1) {
    UnitLine line;
    line.unit = std::move(unit);
    line.records = records;
    return line;
  }
  static UnitLine WithState(UnitState state, std::string unit) {
    UnitLine line = Done(std::move(unit), 0);
    line.state = state;
    return line;
  }

  TempDir dir_;
  std::string path_ = dir_ / "run.log";
  LogCapture captured_;
};

TEST_F(RunLogTest, ReadsTheExampleOfItsDocument) {
  WriteFile(path_, kExampleLog);
  const auto log = OpenLog();
  EXPECT_EQ(log->damaged_lines(), 0u);
  const UnitLine* done = log->FindDone("lines/0000-00000");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->recipe.ToHex(), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(done->splits.at("train"), (ArtifactTotals::Split{2, 1, 9}));
  EXPECT_EQ(done->end.raw_end, 10u);
  EXPECT_EQ(done->counts.at("lines").reasons.at("blank"), 1u);
  EXPECT_EQ(done->objects,
            (std::vector<StoredObject>{
                {"0000-00000.part", 96, 0x8a9136aa, *Digest::FromHex("fedcba9876543210fedcba9876543210")}}));
  const UnitLine* failed = log->Find("lines/0000-00001");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->reason, "line 7:\tnot UTF-8, 100% damaged");
  EXPECT_EQ(failed->origin, "0000-00001:7");
  EXPECT_EQ(log->FindDone("lines/0000-00001"), nullptr);
  const UnitLine* end = log->Find("lines/0000-*");
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, UnitState::kEnd);
  EXPECT_EQ(end->partitions, 2u);
  EXPECT_EQ(log->FindSegment(1)->lineage.substr(0, 12), "[{\"config\":{");
  EXPECT_EQ(log->Runs(),
            (std::vector<RunLine>{{"r1", 4711, "pipe run tiny.yaml -k 2", 1769860800000, 0, ""}}));
}

TEST_F(RunLogTest, WritesTheExampleOfItsDocument) {
  WriteFile(dir_ / "example", kExampleLog);
  const auto example = RunLog::OpenReadOnly(dir_ / "example");
  ASSERT_TRUE(example.ok());
  const auto log = OpenLog();
  ASSERT_TRUE(log->AppendRun((*example)->Runs()[0]).ok());
  ASSERT_TRUE(log->AppendSegment((*example)->FindSegment(1)->lineage).ok());
  ASSERT_TRUE(log->Append(*(*example)->Find("lines/0000-00000")).ok());
  ASSERT_TRUE(log->Append(*(*example)->Find("lines/0000-00001")).ok());
  ASSERT_TRUE(log->Append(*(*example)->Find("lines/0000-*")).ok());
  EXPECT_EQ(ReadFile(path_), kExampleLog);
}

TEST_F(RunLogTest, CutAtEveryByteItIsAPrefixAndTakesNewLines) {
  // How many of the five facts a log of `size` bytes holds: a line is whole once its checksum is.
  const auto whole_lines = [](std::size_t size) {
    std::size_t lines = 0;
    for (std::size_t at = 0; at < kExampleLog.size(); ++at) lines += kExampleLog[at] == '\n' && at <= size;
    return lines == 0 ? 0 : lines - 1;
  };
  for (std::size_t size = 0; size <= kExampleLog.size(); ++size) {
    path_ = dir_ / StrCat("cut-", size);  // truncating one file again and again waits for the disk
    WriteFile(path_, kExampleLog.substr(0, size));
    {
      const auto log = OpenLog();
      const std::size_t facts = whole_lines(size);
      EXPECT_EQ(log->Runs().size(), facts >= 1 ? 1u : 0u) << size;
      EXPECT_EQ(log->FindSegment(1) != nullptr, facts >= 2) << size;
      EXPECT_EQ(log->FindDone("lines/0000-00000") != nullptr, facts >= 3) << size;
      EXPECT_EQ(log->Find("lines/0000-00001") != nullptr, facts >= 4) << size;
      EXPECT_EQ(log->Find("lines/0000-*") != nullptr, facts >= 5) << size;
      ASSERT_TRUE(log->Append(Done("after/-")).ok());
    }
    const auto log = OpenLog();
    EXPECT_NE(log->FindDone("after/-"), nullptr) << size;
    EXPECT_EQ(log->FindDone("lines/0000-00000") != nullptr, whole_lines(size) >= 3) << size;
  }
}

TEST_F(RunLogTest, EveryDamagedByteCostsOneLineAtMost) {
  for (std::size_t at = 18; at < kExampleLog.size(); at += 3) {
    std::string bytes(kExampleLog);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x01);
    path_ = dir_ / StrCat("damaged-", at);
    WriteFile(path_, bytes);
    const auto log = RunLog::OpenReadOnly(path_);
    ASSERT_TRUE(log.ok());
    const bool changed_line_end = kExampleLog[at] == '\n' || bytes[at] == '\n';
    EXPECT_LE((*log)->damaged_lines(), changed_line_end ? 2u : 1u) << at;
    EXPECT_GE((*log)->damaged_lines() + (at == kExampleLog.size() - 1 ? 1 : 0), 1u) << at;
  }
}

TEST_F(RunLogTest, GarbageIsPassedOverCountedAndReportedOnce) {
  WriteFile(path_, StrCat(kExampleLog, "\n\ngarbage\n\t\t\nx\t00000000\n", std::string(300, '\0'), "\n"));
  const auto log = OpenLog();
  EXPECT_EQ(log->damaged_lines(), 4u);
  EXPECT_NE(log->FindDone("lines/0000-00000"), nullptr);
  EXPECT_EQ(
      captured_.text(),
      StrCat(path_, ": 4 torn or damaged line(s) ignored; the work that they name counts as not done\n"));
}

TEST_F(RunLogTest, UnknownKindsAndKeysArePassedOver) {
  WriteFile(path_, StrCat("# pipe run log v1\n", SealLine("weather\train=1"),
                          SealLine("done\tunit=a/-\tmood=good")));
  const auto log = OpenLog();
  EXPECT_EQ(log->damaged_lines(), 0u);
  EXPECT_NE(log->FindDone("a/-"), nullptr);
}

TEST_F(RunLogTest, ANewerVersionIsRefusedAndLeftAlone) {
  const std::string newer = "# pipe run log v2\nwhatever\n";
  WriteFile(path_, newer);
  for (const auto& log : {RunLog::Open(path_), RunLog::OpenReadOnly(path_)}) {
    ASSERT_EQ(log.status().code(), Code::kFailedPrecondition);
    EXPECT_NE(log.status().message().find("version 2 where this one reads 1"), std::string_view::npos);
  }
  EXPECT_EQ(ReadFile(path_), newer);
}

TEST_F(RunLogTest, AnUnreadableFirstLineIsPutAsideNotDeleted) {
  for (const std::string_view first : {"# pipe run log v0\nold\n", "hello\n"}) {
    WriteFile(path_, first);
    EXPECT_TRUE(RunLog::OpenReadOnly(path_).ok());
    EXPECT_EQ(ReadFile(path_), first);
    EXPECT_TRUE(OpenLog()->List("").empty());
    EXPECT_EQ(ReadFile(path_), "# pipe run log v1\n");
  }
  EXPECT_EQ(ReadFile(path_ + ".old"), "# pipe run log v0\nold\n");
  EXPECT_EQ(ReadFile(path_ + ".old-2"), "hello\n");
  EXPECT_NE(captured_.text().find("has the older version 0"), std::string::npos);
  EXPECT_NE(captured_.text().find("is not a run log"), std::string::npos);
}

TEST_F(RunLogTest, ReadingOnlyNeverWrites) {
  const auto log = RunLog::OpenReadOnly(path_);
  ASSERT_TRUE(log.ok());
  EXPECT_FALSE((*log)->Append(Done("a/-")).ok());
  EXPECT_FALSE((*log)->CompactIfWorthwhile().ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RunLogTest, TheLastLineOfAUnitWins) {
  const auto opened = RunLog::Open(path_);
  ASSERT_TRUE(opened.ok());
  const auto& log = *opened;
  ASSERT_TRUE(log->Append(Done("a/0000-00000", 1)).ok());
  ASSERT_TRUE(log->Append(Done("a/0000-00000", 2)).ok());
  EXPECT_EQ(log->Find("a/0000-00000")->records, 2u);
  EXPECT_EQ(OpenLog()->Find("a/0000-00000")->records, 2u);
}

TEST_F(RunLogTest, AFailureDoesNotEraseWhatWasDone) {
  const auto log = OpenLog();
  ASSERT_TRUE(log->Append(Done("a/-", 7)).ok());
  ASSERT_TRUE(log->Append(WithState(UnitState::kFailed, "a/-")).ok());
  EXPECT_EQ(log->Find("a/-")->state, UnitState::kFailed);
  EXPECT_EQ(log->FindDone("a/-")->records, 7u);
  ASSERT_TRUE(log->Append(Done("a/-", 8)).ok());
  EXPECT_EQ(log->Find("a/-")->records, 8u);
}

TEST_F(RunLogTest, VoidTakesBackOneUnitAndLeavesTheEndLine) {
  const auto log = OpenLog();
  ASSERT_TRUE(log->Append(WithState(UnitState::kEnd, "a/0000-*")).ok());
  ASSERT_TRUE(log->Append(Done("a/0000-00000")).ok());
  ASSERT_TRUE(log->Append(WithState(UnitState::kVoid, "a/0000-00000")).ok());
  EXPECT_EQ(log->Find("a/0000-00000"), nullptr);
  EXPECT_EQ(log->FindDone("a/0000-00000"), nullptr);
  EXPECT_NE(log->FindDone("a/0000-*"), nullptr);
}

TEST_F(RunLogTest, EachUnitIsVisitedWithTheSegmentOfItsLastLine) {
  const auto log = OpenLog();
  const auto append = [&](std::string unit, std::uint32_t segment, UnitState state) {
    UnitLine line = Done(std::move(unit));
    line.segment = segment;
    line.state = state;
    EXPECT_TRUE(log->Append(line).ok());
  };
  append("b/1", 1, UnitState::kDone);
  append("b/1", 3, UnitState::kDone);
  append("b/2", 2, UnitState::kDone);
  append("b/2", 4, UnitState::kFailed);
  append("b/3", 5, UnitState::kDone);
  append("b/3", 5, UnitState::kVoid);
  append("bb/1", 6, UnitState::kDone);
  std::map<std::string, std::uint32_t> seen;
  log->ForEach("b/", [&](std::string_view unit, std::uint32_t segment) { seen.emplace(unit, segment); });
  EXPECT_EQ(seen, (std::map<std::string, std::uint32_t>{{"b/1", 3}, {"b/2", 4}}));
}

TEST_F(RunLogTest, ListIsSortedAndKeepsToItsPrefix) {
  const auto log = OpenLog();
  for (const char* unit : {"b/0000-00001", "a/-", "b/0000-00000", "bb/-"})
    ASSERT_TRUE(log->Append(Done(unit)).ok());
  std::string units;
  for (const UnitLine* line : log->List("b/")) units += line->unit + ' ';
  EXPECT_EQ(units, "b/0000-00000 b/0000-00001 ");
}

TEST_F(RunLogTest, SegmentsAreWrittenOncePerLineage) {
  const auto log = OpenLog();
  EXPECT_EQ(*log->AppendSegment("[1]"), 1u);
  EXPECT_EQ(*log->AppendSegment("[2]"), 2u);
  EXPECT_EQ(*log->AppendSegment("[1]"), 1u);
  EXPECT_EQ(*OpenLog()->AppendSegment("[2]"), 2u);
}

TEST_F(RunLogTest, ANumberThatOnlyUnitLinesNameIsNotGivenAgain) {
  UnitLine line = Done("a/-");
  line.segment = 4;
  WriteFile(path_, StrCat("# pipe run log v1\n", EncodeLine(line)));
  const auto log = OpenLog();
  EXPECT_EQ(log->FindSegment(4), nullptr);
  EXPECT_EQ(*log->AppendSegment("[1]"), 5u);
}

TEST_F(RunLogTest, TheLastLineOfARunWins) {
  const auto log = OpenLog();
  RunLine run{"r1", 12, "pipe run a.yaml", 1000, 0, ""};
  ASSERT_TRUE(log->AppendRun(run).ok());
  ASSERT_TRUE(log->AppendRun({"r2", 13, "pipe retry", 3000, 0, ""}).ok());
  run.ended = 2000, run.outcome = "failed";
  ASSERT_TRUE(log->AppendRun(run).ok());
  ASSERT_EQ(OpenLog()->Runs().size(), 2u);
  EXPECT_EQ(OpenLog()->Runs()[0], run);
}

TEST_F(RunLogTest, AFullDiskPoisonsTheLog) {
  int writes_left = 1;
  LogIo io = SystemLogIo();
  bool full = false;
  io.write = [&, real = io.write](int fd, const char* bytes, std::size_t count) -> ssize_t {
    if (!full) return real(fd, bytes, count);
    if (writes_left-- > 0) return real(fd, bytes, count / 2);
    errno = ENOSPC;
    return -1;
  };
  {
    auto opened = RunLog::Open(path_, io);
    ASSERT_TRUE(opened.ok());
    const auto log = std::move(opened).value();
    ASSERT_TRUE(log->Append(Done("a/-")).ok());
    full = true;
    EXPECT_EQ(log->Append(Done("b/-")).code(), Code::kResourceExhausted);
    full = false;
    EXPECT_EQ(log->Append(Done("c/-")).code(), Code::kResourceExhausted);
    EXPECT_EQ(log->FindDone("b/-"), nullptr);
    EXPECT_EQ(log->FindDone("c/-"), nullptr);
  }
  const auto log = OpenLog();  // half of the line of b stands at the end
  EXPECT_EQ(log->damaged_lines(), 1u);
  ASSERT_TRUE(log->Append(Done("d/-")).ok());
  EXPECT_EQ(OpenLog()->List("").size(), 2u);
}

TEST_F(RunLogTest, LinesThatAreAppendedTogetherAreThoseOfSingleAppendsAndNeedOneSync) {
  LogIo io = SystemLogIo();
  int syncs = 0;
  io.sync = [&](int) { return ++syncs, 0; };
  std::vector<std::string> heard;
  const auto log = RunLog::Open(path_, io);
  ASSERT_TRUE(log.ok());
  (*log)->SetListener([&](const UnitLine& line) { return heard.push_back(line.unit), Status(); });
  syncs = 0;
  const std::vector<UnitLine> lines = {Done("a/-"), Done("b/-"), WithState(UnitState::kFailed, "a/-")};
  ASSERT_TRUE((*log)->Append(lines).ok());
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(heard, (std::vector<std::string>{"a/-", "b/-", "a/-"}));
  EXPECT_EQ((*log)->Find("a/-")->state, UnitState::kFailed);
  const std::string together = ReadFile(path_);
  std::filesystem::remove(path_);
  const auto single = OpenLog();
  for (const UnitLine& line : lines) ASSERT_TRUE(single->Append(line).ok());
  EXPECT_EQ(ReadFile(path_), together);
}

TEST_F(RunLogTest, WhatCannotBeMadeDurableIsNotSaid) {
  LogIo io = SystemLogIo();
  bool broken = false;
  io.sync = [&, real = io.sync](int fd) { return broken ? (errno = EIO, -1) : real(fd); };
  const auto log = RunLog::Open(path_, io);
  ASSERT_TRUE(log.ok());
  broken = true;
  EXPECT_EQ((*log)->Append(Done("a/-")).code(), Code::kDataLoss);
  EXPECT_EQ((*log)->FindDone("a/-"), nullptr);
}

TEST_F(RunLogTest, ThreadsAppendWholeLinesAndRead) {
  constexpr int kThreads = 4, kLines = 50;
  const auto log = OpenLog();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLines; ++i) {
        const std::string unit = StrCat("s", t, "/", i);
        EXPECT_TRUE(log->Append(Done(unit)).ok());
        EXPECT_NE(log->Find(unit), nullptr);
        EXPECT_TRUE(log->AppendSegment(StrCat("[", i, "]")).ok());
        EXPECT_TRUE(i % 10 != 0 || log->CompactIfWorthwhile().ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto again = OpenLog();
  EXPECT_EQ(again->List("").size(), std::size_t{kThreads * kLines});
  EXPECT_EQ(again->damaged_lines(), 0u);
  EXPECT_EQ(again->FindSegment(kLines)->number, std::uint32_t{kLines});
}

TEST_F(RunLogTest, CompactionKeepsWhatStandsAndGoesOn) {
  const auto log = OpenLog();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(log->Append(Done("a/-", 7)).ok());
  const UnitLine* held = log->Find("a/-");
  ASSERT_TRUE(log->Append(Done("gone/-")).ok());
  ASSERT_TRUE(log->Append(WithState(UnitState::kVoid, "gone/-")).ok());
  ASSERT_TRUE(log->Append(Done("b/-", 3)).ok());
  ASSERT_TRUE(log->Append(WithState(UnitState::kFailed, "b/-")).ok());
  ASSERT_TRUE(log->AppendSegment("[1]").ok());
  ASSERT_TRUE(log->CompactIfWorthwhile().ok());
  EXPECT_EQ(held->records, 7u);
  ASSERT_TRUE(log->Append(Done("c/-")).ok());
  const std::string bytes = ReadFile(path_);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '\n'), 6);
  const auto again = OpenLog();
  EXPECT_EQ(again->FindDone("a/-")->records, 7u);
  EXPECT_EQ(again->Find("b/-")->state, UnitState::kFailed);
  EXPECT_EQ(again->FindDone("b/-")->records, 3u);
  EXPECT_NE(again->FindDone("c/-"), nullptr);
  EXPECT_EQ(again->Find("gone/-"), nullptr);
  EXPECT_NE(again->FindSegment(1), nullptr);
}

TEST_F(RunLogTest, CutsAreNoOutcomeOfTheirUnit) {
  {
    const auto log = OpenLog();
    ASSERT_TRUE(log->Append(Cuts("a/0000-*")).ok());
    EXPECT_EQ(log->Find("a/0000-*"), nullptr);
    EXPECT_EQ(log->FindDone("a/0000-*"), nullptr);
    EXPECT_TRUE(log->List("").empty());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(log->Append(Done("a/0000-00000")).ok());
    ASSERT_TRUE(log->CompactIfWorthwhile().ok());
  }
  const auto log = OpenLog();
  EXPECT_EQ(log->damaged_lines(), 0u);
  ASSERT_TRUE(log->Append(WithState(UnitState::kFailed, "a/0000-*")).ok());
  const UnitLine* line = log->FindCuts("a/0000-*");
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(EncodeLine(*line), EncodeLine(Cuts("a/0000-*")));
  EXPECT_EQ(line->cuts.at(1).raw_end, 31u);
  EXPECT_EQ(line->cuts.at(2).document_end, 4u);
  EXPECT_EQ(line->note, "17 %\t");
  EXPECT_EQ(log->FindCuts("a/0000-00000"), nullptr);
}

TEST_F(RunLogTest, CutsThatDoNotParseAreUnknown) {
  WriteFile(path_, StrCat("# pipe run log v1\n", SealLine("cuts\tunit=a/0000-*\tpartitions=1\tcuts=5")));
  EXPECT_EQ(OpenLog()->FindCuts("a/0000-*"), nullptr);
}

TEST_F(RunLogTest, ASmallGainIsNotWorthACompaction) {
  const auto log = OpenLog();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->Append(Done("a/-")).ok());
  const std::string before = ReadFile(path_);
  ASSERT_TRUE(log->CompactIfWorthwhile().ok());
  EXPECT_EQ(ReadFile(path_), before);
}

TEST_F(RunLogTest, AFailedCompactionEndsAppending) {
  LogIo io = SystemLogIo();
  bool broken = false;
  io.sync = [&, real = io.sync](int fd) { return broken ? (errno = ENOSPC, -1) : real(fd); };
  const auto log = RunLog::Open(path_, io);
  ASSERT_TRUE(log.ok());
  for (int i = 0; i < 9; ++i) ASSERT_TRUE((*log)->Append(Done("a/-")).ok());
  const std::string before = ReadFile(path_);
  broken = true;
  EXPECT_FALSE((*log)->CompactIfWorthwhile().ok());
  broken = false;
  EXPECT_EQ((*log)->Append(Done("b/-")).code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadFile(path_), before);
}

TEST(RunLogLineTest, EveryFieldComesBackWhateverItsBytes) {
  UnitLine line;
  line.unit = "a b\t%\r\n/-";
  line.segment = 3;
  line.recipe = {1, 2};
  line.content = {3, 4};
  line.digest = {5, 6};
  line.objects = {{"na me%,\n", UINT64_MAX, 0xffffffff, {7, 8}}, {"", 0, 0, {}}};
  line.location = "gs://bucket/a=b";
  line.records = 10;
  line.sums = {0, UINT64_MAX, 7};
  line.splits = {{"train", {1, 2, 3}}, {"va lid", {0, 0, 0}}, {"", {4, 5, 6}}};
  line.end = {11, 12};
  line.partitions = 13;
  line.raw_bytes = 14;
  line.documents = 15;
  line.counts["clean"] = {1, 2, 3, 4, {{"dropped_empty", 5}, {"", 6}, {"a b", 7}}};
  line.counts["clean"].sizes = {{"dropped_empty", {8, 0}}, {"a b", {0, 9}}};
  line.counts["idle"] = {};
  line.continues = R"({"steps":100})";
  line.reason = std::string("\0\xff 100%\r\n", 9);
  line.origin = "0000-00001:7";
  const std::string text = EncodeLine(line);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const std::optional<LineHead> head = ScanLine(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(head.has_value());
  const std::optional<UnitLine> back = DecodeUnit(*head);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->unit, line.unit);
  EXPECT_EQ(back->objects, line.objects);
  EXPECT_EQ(back->sums, line.sums);
  EXPECT_EQ(back->splits, line.splits);
  EXPECT_EQ(back->counts, line.counts);
  EXPECT_EQ(back->reason, line.reason);
  EXPECT_EQ(EncodeLine(*back), text);
}

TEST(RunLogLineTest, KnownFieldsMustParse) {
  for (const char* field : {"records=-1", "records=1x", "records=18446744073709551616", "recipe=12",
                            "split=train 1 2", "sums=1 x", "counts=a 1 2 3 4 b", "sizes=a b 1",
                            "object=a 1 2", "reason=%4", "reason=%zz", "unit="}) {
    const std::string text = SealLine(StrCat("done\tunit=a/-\t", field));
    const std::optional<LineHead> head = ScanLine(std::string_view(text).substr(0, text.size() - 1));
    EXPECT_FALSE(head && DecodeUnit(*head)) << field;
  }
}

}  // namespace
}  // namespace pipeline
