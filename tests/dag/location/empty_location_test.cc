
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "base/str.h"
#include "dag/location/location_lock.h"
#include "dag/location/numbered_lease.h"
#include "dag/location/publishing.h"
#include "storage/local_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class EmptyLocationTest : public testing::Test {
 protected:
  /// A location as a run of `holder` leaves it that was killed before it made anything.
  void Leave(const std::string& holder) {
    std::filesystem::create_directories(StrCat(path_, "/.pipe/names"));
    std::filesystem::create_directories(StrCat(path_, "/checkpoints/7"));
    WriteFile(StrCat(path_, "/.pipe/lock"), "vm, process 1");
    WriteFile(StrCat(path_, "/.pipe/names/part"), "names");
    WriteFile(StrCat(path_, "/.pipe/claim.json"),
              StrCat("{\"stage\":\"train\",\"recipe\":\"00\",\"holder\":\"", holder, "\"}"));
    LeaseTerms terms = terms_;
    terms.holder = holder;
    LocalStore out(path_);
    ASSERT_TRUE(NumberedLease(out, path_, terms, true).Take({}, {}).ok());
  }
  bool Removes() {
    const Result<bool> removed = RemoveIfEmpty(path_, terms_);
    EXPECT_TRUE(removed.ok()) << removed.status().message();
    EXPECT_EQ(std::filesystem::exists(path_), !(removed.ok() && *removed));
    return removed.ok() && *removed;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "runs/train-0123456789abcdef";
  const LeaseTerms terms_{.holder = "ours", .who = "this run", .host = "here"};
};

TEST_F(EmptyLocationTest, WhatOnlyHasMarksOfThisWorkDirectoryGoes) {
  Leave("ours");
  EXPECT_TRUE(Removes());
  std::filesystem::create_directories(path_);
  EXPECT_TRUE(Removes()) << "not even a mark";
}

TEST_F(EmptyLocationTest, AnyOtherFileStays) {
  Leave("ours");
  WriteFile(StrCat(path_, "/checkpoints/7/state"), "x");
  EXPECT_FALSE(Removes());
}

TEST_F(EmptyLocationTest, WhatAnotherWorkDirectoryMarkedStays) {
  Leave("theirs");
  EXPECT_FALSE(Removes());
}

TEST_F(EmptyLocationTest, WhatARunHoldsStays) {
  Leave("ours");
  const auto lock = LocationLock::Take(path_, "another run");
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(Removes());
}

}  // namespace
}  // namespace pipeline
