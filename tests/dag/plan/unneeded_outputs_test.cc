// Intermediates that nothing unfinished needs, with toys of tests/support/toy_stages.h.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/commit_point.h"
#include "dag/records/partition_output.h"
#include "tests/dag/says.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const std::string kMore = "  more: { type: write_tfds, input: docs, name: more, out: \"${out}\" }\n";

/// The partition outputs in directories STAGE-* of the work directory; of all stages if `stage` is empty.
struct Outputs {
  int number = 0;
  std::uint64_t bytes = 0;
};
Outputs OutputsOf(const ToyPlace& place, const std::string& stage = {}) {
  Outputs outputs;
  std::error_code error;
  for (fs::recursive_directory_iterator at(place.path("work/artifacts"), error), end; at != end;
       at.increment(error)) {
    const std::string directory = at->path().parent_path().filename().string();
    if (!ParseOutputName(at->path().filename().string())) continue;
    if (!stage.empty() && directory.substr(0, directory.rfind('-')) != stage) continue;
    const std::uintmax_t bytes = fs::file_size(at->path(), error);
    if (error) continue;  // it was removed meanwhile
    ++outputs.number;
    outputs.bytes += bytes;
  }
  return outputs;
}

Selection Until(const std::string& stage) {
  Selection selection;
  selection.until = stage;
  return selection;
}

TEST(UnneededOutputsTest, AFinishedRunLeavesNoneAndTheNextOneHasNothingToDo) {
  ToyPlace place;
  const ToyOutcome first = place.Ok(kToyLearn + kToyText + kMore);
  EXPECT_GT(first.Count("done docs/"), 5);
  EXPECT_GT(first.Count("done text/0"), 5);
  EXPECT_EQ(OutputsOf(place).number, 0);
  EXPECT_TRUE(Says(first.notes, "stage 'docs': ")) << "it says so";
  EXPECT_EQ(place.Ok(kToyLearn + kToyText + kMore).units, Lines{});
  EXPECT_FALSE(ReadFile(place.PartitionOutput("model", "model")).empty())
      << "an artifact, not an intermediate";
}

TEST(UnneededOutputsTest, TheOptionKeepsThemAndTheNextRunWithoutItRemovesThem) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kToyLearn + kToyText);
  EXPECT_GT(OutputsOf(place, "docs").number, 5);
  EXPECT_GT(OutputsOf(place, "text").number, 5);
  place.keep_intermediates = false;
  EXPECT_EQ(place.Ok(kToyLearn + kToyText).units, Lines{});
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, KeepKeepsTheRecordsOfItsStageAlone) {
  ToyPlace place;
  const std::string some = "  some: { type: pick, input: docs, count: 10, keep: true }\n";
  const std::string text = "  text: { type: write_tfds, input: some, name: toy, out: \"${out}\" }\n";
  place.Ok(some + text);
  EXPECT_EQ(OutputsOf(place, "some").number, 4);
  EXPECT_EQ(OutputsOf(place, "some.in").number, 0);
  EXPECT_EQ(OutputsOf(place, "text").number, 0);
  EXPECT_EQ(place.Ok(some + text).units, Lines{});
  EXPECT_EQ(OutputsOf(place, "some").number, 4);
}

TEST(UnneededOutputsTest, RecordsThatNoStageReadsAreAResult) {
  ToyPlace place;
  const std::string some = "  some: { type: pick, input: docs, count: 10 }\n";
  place.Ok(some);
  EXPECT_EQ(OutputsOf(place, "some").number, 4);
  EXPECT_EQ(OutputsOf(place, "some.in").number, 0);
  EXPECT_EQ(place.Ok(some).units, Lines{});
  EXPECT_EQ(OutputsOf(place, "some").number, 4);
}

TEST(UnneededOutputsTest, AReaderThatFailedKeepsItsInputWhileTheOtherReaderIsDone) {
  ToyPlace place;
  place.hand.in_learn = [](const JobRequest&) { return Status(Code::kInternal, "no"); };
  const ToyOutcome failed = place.Run(kToyLearn + kToyText, {}, 5);
  EXPECT_EQ(failed.failures, Lines{"model/-: no"});
  EXPECT_EQ(OutputsOf(place, "text").number, 0) << "it is published";
  const int docs = OutputsOf(place, "docs").number;
  EXPECT_GT(docs, 5);
  place.hand.in_learn = {};
  EXPECT_EQ(place.Ok(kToyLearn + kToyText).units, Lines{"done model/-"});
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, AFailedCheckKeepsAllThatTheStageIsMadeFrom) {
  ToyPlace place;
  const auto marked = [](const std::string& more) {
    return "  marked: { type: mark, input: docs, model: model" + more + " }\n" +
           "  text: { type: shelve, input: marked, name: toy, out: \"${out}\" }\n";
  };
  const ToyOutcome failed = place.Run(kToyLearn + marked(", expect: { long_rate: [0, 0.1] }"), {}, 5);
  EXPECT_TRUE(Says(failed.failures, "long_rate is "));
  EXPECT_GT(OutputsOf(place, "docs").number, 5);
  EXPECT_GT(OutputsOf(place, "text").number, 5);
  const ToyOutcome mended = place.Ok(kToyLearn + marked(""));
  EXPECT_EQ(mended.Count("done docs/") + mended.Count("done text/0"), 0);
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, AReaderThatIsNotSelectedCountsAsUnfinished) {
  ToyPlace place;
  place.Ok(kToyLearn + kToyText, Until("text"));
  EXPECT_GT(OutputsOf(place, "docs").number, 5);
  EXPECT_EQ(OutputsOf(place, "text").number, 0);
  EXPECT_EQ(place.Ok(kToyLearn + kToyText).units, Lines{"done model/-"});
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, AStageThatOnlyForceReplacesKeepsItsInput) {
  ToyPlace place;
  place.Ok(kToyLearn + kToyText);
  const std::string salted = "  model: { type: learn, input: docs, salt: pepper }\n";
  const std::string other =
      "  text: { type: write_tfds, input: docs, name: toy, shuffle: none, out: \"${out}\" }\n";
  EXPECT_TRUE(Says(place.Run(salted + other).refusals, "--force text"));
  EXPECT_GT(place.Ok(salted + other, Until("model")).Count("done docs/"), 5);
  EXPECT_GT(OutputsOf(place, "docs").number, 5);
  Selection force;
  force.force = "text";
  EXPECT_EQ(place.Ok(salted + other, force).Count("done docs/"), 0);
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, AnIntermediateWhoseSourceIsGoneStays) {
  ToyPlace place;
  place.hand.in_learn = [](const JobRequest&) { return Status(Code::kInternal, "no"); };
  place.Run(kToyLearn + kToyText, {}, 5);
  for (int file = 0; file < 3; ++file) fs::remove(place.path("corpus-" + std::to_string(file) + ".txt"));
  place.hand.in_learn = {};
  Selection from_log;
  from_log.from_log = true;
  place.Ok(kToyLearn + kToyText, from_log);
  EXPECT_GT(OutputsOf(place, "docs").number, 5) << "nothing can make it again";
}

TEST(UnneededOutputsTest, PlansAndWorkersRemoveNothing) {
  ToyPlace place;
  const std::string stages = kToyLearn + kToyText;
  for (int round = 0; round < 10; ++round) {
    const ToyOutcome plan = place.Run(stages, {}, 1, ExecutionMode::kPlanning);
    EXPECT_EQ(plan.failures, Lines{});
    if (plan.offered.empty()) break;
    for (const std::string& unit : plan.offered)
      EXPECT_EQ(place.Run(stages, {}, 1, ExecutionMode::kOneUnit, unit).failures, Lines{});
  }
  EXPECT_GT(OutputsOf(place, "docs").number, 5) << "a worker may still read them";
  EXPECT_GT(OutputsOf(place, "text").number, 5);
  EXPECT_EQ(place.Ok(stages).units, Lines{});
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, APersonsFilesInTheWorkDirectoryStay) {
  ToyPlace place;
  place.keep_intermediates = true;
  place.Ok(kToyLearn + kToyText);
  const std::string mine = fs::path(place.PartitionOutput("docs", "0000-00000.part")).parent_path() / "notes";
  WriteFile(mine, "mine");
  place.keep_intermediates = false;
  place.Ok(kToyLearn + kToyText);
  EXPECT_EQ(ReadFile(mine), "mine");
  EXPECT_EQ(OutputsOf(place).number, 0);
}

/// Sees the largest sum of all partition outputs at any commit point.
class PeakWatch {
 public:
  explicit PeakWatch(const ToyPlace& place) {
    SetCommitPointHook([this, &place](std::string_view) {
      const std::uint64_t now = OutputsOf(place).bytes;
      const std::scoped_lock lock(mutex_);
      peak_ = std::max(peak_, now);
    });
  }
  ~PeakWatch() { SetCommitPointHook({}); }
  std::uint64_t peak() const { return peak_; }

 private:
  std::mutex mutex_;
  std::uint64_t peak_ = 0;
};

TEST(UnneededOutputsTest, TheyGoWhileTheRunGoesOnSoThatItsPeakOfDiskFalls) {
  const std::string stages =
      "  again: { type: split, input: lines, splits: { train: rest } }\n"
      "  model: { type: learn, input: again }\n"
      "  marked: { type: mark, input: docs, model: model }\n"
      "  second: { type: learn, input: marked }\n"
      "  named: { type: mark, input: docs, model: second }\n"
      "  text: { type: write_tfds, input: named, name: toy, out: \"${out}\" }\n";
  ToyPlace keeping;
  keeping.keep_intermediates = true;
  keeping.Ok(stages);
  const std::uint64_t all = OutputsOf(keeping).bytes;
  ToyPlace place;
  int jobs = 0, left = -1;
  place.hand.in_learn = [&](const JobRequest&) -> Status {
    if (++jobs < 2) return {};
    // The second Job is held until the records of the first one are gone.
    for (int look = 0; look < 3000 && (left = OutputsOf(place, "again").number) > 0; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return {};
  };
  const PeakWatch watch(place);
  place.Ok(stages);
  EXPECT_EQ(left, 0) << "removed during the run";
  EXPECT_GT(watch.peak(), 0u);
  EXPECT_LE(watch.peak(), all - OutputsOf(keeping, "again").bytes);
  EXPECT_EQ(place.Files("out"), keeping.Files("out"));
}

/// The number of outputs of a stage when a run with `stages` commits its first shard. The outputs are there
/// when the run begins.
int LeftAtTheFirstShard(const std::string& stages, const std::string& stage) {
  ToyPlace place;
  place.Ok(stages, Until("model"));
  EXPECT_GT(OutputsOf(place, stage).number, 5);
  std::atomic<int> left = -1;
  SetCommitPointHook([&](std::string_view point) {
    if (point == "shard.committed" && left < 0) left = OutputsOf(place, stage).number;
  });
  place.Ok(stages);
  SetCommitPointHook({});
  EXPECT_EQ(OutputsOf(place).number, 0);
  return left;
}

TEST(UnneededOutputsTest, TheInputOfTheFirstPassIsGoneBeforeTheFirstShard) {
  EXPECT_EQ(LeftAtTheFirstShard(kToyLearn + kToyText, "docs"), 0);
}

TEST(UnneededOutputsTest, RecordsThatVaryStayUntilTheirReadersHavePublished) {
  const std::string stages =
      "  loose: { type: exec, input: docs, command: [cat] }\n"
      "  model: { type: learn, input: loose }\n"
      "  text: { type: write_tfds, input: loose, name: toy, out: \"${out}\" }\n";
  EXPECT_GT(LeftAtTheFirstShard(stages, "loose"), 5);
}

TEST(UnneededOutputsTest, APartitionThatADamagedOneIsMadeFromIsMadeAgain) {
  ToyPlace place;
  WriteFile(place.path("my.model"), "mine\n");
  const std::string stages = kToyLearn +
                             "  marked: { type: mark, input: docs, model: " + place.path("my.model") +
                             " }\n"
                             "  text: { type: write_tfds, input: marked, name: toy, out: \"${out}\" }\n"
                             "  more: { type: write_tfds, input: marked, name: more, out: \"${out}\" }\n";
  place.keep_intermediates = true;
  place.Ok(stages);
  const Lines before = place.Files("out");
  for (const char* stage : {"text", "more"})
    fs::remove_all(fs::path(place.PartitionOutput(stage, "0000-00000.spill")).parent_path());
  fs::remove_all(place.path("out"));
  FlipByte(place.PartitionOutput("marked", "0001-00001.part"));
  place.keep_intermediates = false;
  const ToyOutcome outcome = place.Ok(stages);  // `docs` is unneeded when it begins
  EXPECT_TRUE(Says(outcome.notes, "stage 'docs': 1 partition is made again"));
  EXPECT_EQ(outcome.Count("done docs/"), 1);
  EXPECT_EQ(outcome.Count("void docs/"), 0);
  EXPECT_EQ(outcome.Count("done marked/"), 1);
  EXPECT_EQ(place.Files("out"), before);
  EXPECT_EQ(OutputsOf(place).number, 0);
}

TEST(UnneededOutputsTest, ABarrierStageWhoseOutputIsDamagedTakesAllInAgainAtOnce) {
  const std::string stages =
      "  some: { type: pick, input: docs, count: 10 }\n"
      "  model: { type: learn, input: some }\n";
  ToyPlace other;
  const int taken_in = other.Ok(stages).Count("done some.in/");
  ToyPlace place;
  int left = -1;
  place.hand.in_learn = [&](const JobRequest&) -> Status {
    if (left >= 0) return {};
    for (int look = 0; look < 3000 && (left = OutputsOf(place, "some.in").number) > 0; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    FlipByte(place.PartitionOutput("some", "0000-00001.part"));
    return {};
  };
  const ToyOutcome outcome = place.Ok(stages);
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(Says(outcome.notes, "partitions are made again, which had been removed"));
  EXPECT_EQ(outcome.Count("done some.in/"), 2 * taken_in);
  EXPECT_EQ(outcome.Count("void some.in/"), 0);
  EXPECT_EQ(outcome.Count("done some/"), 4 + 1);
  EXPECT_EQ(ReadFile(place.PartitionOutput("model", "model")),
            ReadFile(other.PartitionOutput("model", "model")));
  EXPECT_EQ(OutputsOf(place).number, 0);
}

}  // namespace
}  // namespace pipeline
