// Many small inputs: threads read them in groups, and nothing else shows it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/commit_point.h"
#include "base/str.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace pipeline {
namespace {

constexpr int kFiles = 150;

/// Adds files to those of the place; the last is input kFiles + 2.
void WriteSmallFiles(const ToyPlace& place) {
  for (int file = 0; file < kFiles; ++file) {
    std::string text;
    for (int line = 0; line < 1 + file % 9; ++line) text += StrCat("text ", file, " of line ", line, "\n\n");
    WriteFile(place.path(StrCat("corpus-", 1000 + file, ".txt")), text);
  }
}

/// Calls `then` once, when the records of the input with the text `front` come.
class AtText final : public RecordObserver {
 public:
  AtText(std::string front, std::function<void()> then) : front_(std::move(front)), then_(std::move(then)) {}
  std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>&) override {
    if (batch.size() > 0 && batch.text[0] == front_) std::call_once(once_, then_);
    return nullptr;
  }

 private:
  const std::string front_;
  const std::function<void()> then_;
  std::once_flag once_;
};

/// Calls `hook` at each commit point as long as it lives.
class AtCommitPoints {
 public:
  explicit AtCommitPoints(CommitPointHook hook) : before_(SetCommitPointHook(std::move(hook))) {}
  ~AtCommitPoints() { SetCommitPointHook(std::move(before_)); }

 private:
  CommitPointHook before_;
};

TEST(SmallInputsTest, GroupsGiveTheBytesAndTheLinesOfSingleInputs) {
  ToyPlace grouped, single;
  WriteSmallFiles(grouped);
  WriteSmallFiles(single);
  single.threads = 64;  // too many threads for groups
  const ToyOutcome of_groups = grouped.Ok(kToyText), of_single = single.Ok(kToyText);
  EXPECT_EQ(of_groups.Count("end text/"), kFiles + 3);
  EXPECT_EQ(of_groups.units, of_single.units);
  EXPECT_TRUE(grouped.Files("out") == single.Files("out"));
  EXPECT_TRUE(grouped.Files("work/artifacts") == single.Files("work/artifacts"));
}

TEST(SmallInputsTest, AGroupIsReadAndCommittedOnOneThread) {
  ToyPlace place;
  WriteSmallFiles(place);
  std::mutex mutex;
  std::map<pid_t, int> ended;  // the kernel, unlike std::thread::id, does not soon use a number again
  const AtCommitPoints watch([&](std::string_view point) {
    const std::scoped_lock lock(mutex);
    if (point == "input.ended") ++ended[gettid()];
  });
  place.Ok(kToyText);
  int in_groups = 0;
  for (const auto& [thread, inputs] : ended)
    if (inputs > 1) in_groups += inputs;
  EXPECT_GT(in_groups, kFiles / 2);
  EXPECT_LT(ended.size(), static_cast<std::size_t>(kFiles * 2 / 3));
}

TEST(SmallInputsTest, AFileThatChangesFailsAlone) {
  ToyPlace place, undisturbed;
  WriteSmallFiles(place);
  WriteSmallFiles(undisturbed);
  const std::string path = place.path("corpus-1010.txt"), then = ReadFile(path);
  AtText changes("text 10 of line 0", [&] { std::ofstream(path, std::ios::app) << "one more\n"; });
  place.watch = &changes;
  const ToyOutcome outcome = place.Run(kToyText, {}, kAllFailures);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_NE(outcome.failures[0].find("was changed since this run began"), std::string::npos)
      << outcome.failures[0];
  EXPECT_EQ(outcome.Count("end text/"), kFiles + 3 - 1);
  EXPECT_GT(outcome.Count("void text/"), 0);
  place.watch = nullptr;
  WriteFile(path, then);
  const ToyOutcome again = place.Ok(kToyText);
  EXPECT_EQ(again.Count("end text/"), 1);
  undisturbed.Ok(kToyText);
  EXPECT_TRUE(place.Files("out") == undisturbed.Files("out"));
}

TEST(SmallInputsTest, AFailureThatEndsTheRunKeepsWhatItsGroupHasRead) {
  ToyPlace place;
  WriteSmallFiles(place);
  const std::string path = place.path("corpus-1010.txt"), then = ReadFile(path);
  AtText changes("text 10 of line 0", [&] { std::ofstream(path, std::ios::app) << "one more\n"; });
  place.watch = &changes;
  const ToyOutcome outcome = place.Run(kToyText);
  EXPECT_EQ(outcome.failures.size(), 1u);
  const int ended = outcome.Count("end text/");
  EXPECT_GT(ended, 0);
  place.watch = nullptr;
  WriteFile(path, then);
  EXPECT_EQ(place.Ok(kToyText).Count("end text/"), kFiles + 3 - ended);
}

/// The bundles of the partition outputs of `stage`, and the number of its files.
std::vector<std::string> Bundles(const ToyPlace& place, const std::string& stage, std::size_t& files) {
  std::vector<std::string> bundles;
  files = 0;
  for (const std::string& file : place.Files("work/artifacts")) {
    if (!file.starts_with(stage + "-")) continue;
    ++files;
    const std::string name = file.substr(0, file.find('\n'));
    if (name.find(".bundle-") != std::string::npos) bundles.push_back(place.path("work/artifacts/" + name));
  }
  return bundles;
}

TEST(SmallInputsTest, OutputsOfAGroupShareAFileThatLaterRunsRead) {
  ToyPlace place, undisturbed;
  WriteSmallFiles(place);
  WriteSmallFiles(undisturbed);
  place.keep_intermediates = true;
  place.Ok(kToyText);
  std::size_t files = 0;
  EXPECT_FALSE(Bundles(place, "text", files).empty());
  EXPECT_LT(files, static_cast<std::size_t>(kFiles * 2 / 3));

  std::filesystem::remove_all(place.path("out"));
  const ToyOutcome again = place.Ok(kToyText);
  EXPECT_EQ(again.Count("end text/"), 0);  // nothing is read again
  undisturbed.Ok(kToyText);
  EXPECT_TRUE(place.Files("out") == undisturbed.Files("out"));
}

TEST(SmallInputsTest, OutputsInADamagedBundleAreMadeAgain) {
  ToyPlace place, undisturbed;
  WriteSmallFiles(place);
  WriteSmallFiles(undisturbed);
  place.keep_intermediates = true;
  place.Ok(kToyText);
  std::size_t files = 0;
  const std::vector<std::string> bundles = Bundles(place, "text", files);
  ASSERT_GT(bundles.size(), 2u);
  WriteFile(bundles[0], ReadFile(bundles[0]).substr(1));  // its list
  std::string bytes = ReadFile(bundles[1]);
  bytes[10] ^= 1;  // its first output
  WriteFile(bundles[1], bytes);
  std::filesystem::remove(bundles[2]);

  std::filesystem::remove_all(place.path("out"));
  place.keep_intermediates = false;
  const ToyOutcome again = place.Ok(kToyText);
  EXPECT_GT(again.Count("done text/0"), 2);
  EXPECT_LT(again.Count("done text/0"), kFiles);
  EXPECT_EQ(again.Count("void text/"), 1);
  undisturbed.Ok(kToyText);
  EXPECT_TRUE(place.Files("out") == undisturbed.Files("out"));
  Bundles(place, "text", files);
  EXPECT_EQ(files, 0u);  // also those of earlier runs
}

TEST(SmallInputsTest, OtherProcessesAreOfferedSingleInputs) {
  ToyPlace place;
  WriteSmallFiles(place);
  const ToyOutcome plan = place.Run(kToyText, {}, 1, ExecutionMode::kPlanning);
  EXPECT_EQ(plan.offered.size(), static_cast<std::size_t>(kFiles + 3));
}

}  // namespace
}  // namespace pipeline
