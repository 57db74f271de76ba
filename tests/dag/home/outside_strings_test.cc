// Strings of a home and of a scratch, which runs of other versions and machines read.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "dag/home/home.h"
#include "dag/home/scratch.h"
#include "storage/forwarding_store.h"
#include "storage/memory_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr const char* kHomeLocation = "gs://bucket/run";

TEST(OutsideStringsOfAHomeTest, Objects) {
  MemoryStore store;
  const TempDir dir;
  const LeaseTerms terms{"<holder>", "<who>", "<host>", std::chrono::milliseconds(1000)};
  OutsideStrings strings;
  for (int run = 0; run < 2; ++run) {
    const auto home = Home::Hold(kHomeLocation, std::make_unique<ForwardingStore>(store), terms,
                                 [](std::string_view) {}, {});
    ASSERT_TRUE(home.ok()) << home.status().message();
    const auto log = (*home)->OpenLog(dir / "run.log", {});
    ASSERT_TRUE(log.ok()) << log.status().message();
    // The second run compacts the log of the first one.
    UnitLine line;
    line.state = UnitState::kFailed;
    line.unit = "<unit>";
    for (int turn = 0; turn < 20; ++turn) ASSERT_TRUE((*log)->Append(line).ok());
    ASSERT_TRUE((*log)->Flush().ok());
    const auto objects = store.List("");
    ASSERT_TRUE(objects.ok());
    for (const ObjectInfo& object : *objects)
      if (object.name.starts_with(kHomeLogPrefix)) {
        const std::string text = ReadObject(store, object.name, 10'000).value();
        strings.Add("segment", text.substr(0, text.find('\n') + 1));
        if (object.name != "log/00000003") strings.Add("object", object.name);
      } else {
        strings.Add("object", object.name);
      }
  }
  ASSERT_TRUE(ClaimScratch(WorkDir(dir / "scratch"), kHomeLocation).ok());
  for (const auto& entry : std::filesystem::directory_iterator(dir / "scratch"))
    strings.Add("file of a scratch", entry.path().filename().string());
  EXPECT_TRUE(ArePinned(strings, "home"));
}

}  // namespace
}  // namespace pipeline
