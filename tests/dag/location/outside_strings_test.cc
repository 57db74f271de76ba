// Strings of the program's own objects at a location, which runs of other versions and machines read.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/str.h"
#include "dag/location/location_lock.h"
#include "dag/location/location_names.h"
#include "dag/location/numbered_lease.h"
#include "dag/location/publishing.h"
#include "dag/location/versioned_lease.h"
#include "storage/memory_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(OutsideStringsOfALocationTest, OwnObjects) {
  MemoryStore out;
  const LeaseTerms terms{"<holder>", "<who>", "<host>", std::chrono::milliseconds(1000)};
  NumberedLease numbered(out, "<location>", terms, true);
  ASSERT_TRUE(numbered.Take({}, {}).ok());
  ASSERT_TRUE(numbered.Renew({}).ok());
  VersionedLease versioned(out, "<location>", terms);
  ASSERT_TRUE(versioned.Take({}, {}).ok());
  Publishing by{"<stage>", "<location>", DigestOf("1"), "<holder>", {}, {}};
  ASSERT_TRUE(WriteMarker(by, out).ok());
  by.recipe = DigestOf("2");
  ASSERT_TRUE(WriteMarker(by, out).ok());  // one of others
  ASSERT_TRUE((*LocationNames::Read(out, {}))->Add({"<object>"}).ok());

  OutsideStrings strings;
  const auto objects = out.List("");
  ASSERT_TRUE(objects.ok());
  for (const ObjectInfo& object : *objects) {
    strings.Add("object", object.name);
    const auto text = ReadObject(out, object.name, 10'000);
    ASSERT_TRUE(text.ok());
    if (const Result<Json> json = Json::Parse(*text); json.ok()) {
      strings.AddMembers(StrCat("member of ", object.name), *json);
      if (json->Has("pipe_lease"))
        strings.Add(StrCat("version of ", object.name), (*json)["pipe_lease"].Dump());
    } else {
      strings.Add("list of names", *text);
    }
  }
  const TempDir dir;
  const auto lock = LocationLock::Take(dir / "out", "<who>");
  ASSERT_TRUE(lock.ok() && *lock);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path()))
    if (entry.is_regular_file()) strings.Add("file", entry.path().lexically_relative(dir.path()).string());
  EXPECT_TRUE(ArePinned(strings, "location"));
}

}  // namespace
}  // namespace pipeline
