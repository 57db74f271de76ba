#include "storage/bundle_store.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "storage/forwarding_store.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/storage/store_conformance.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class BundleBackend {
 public:
  Store& store() { return store_; }
  static bool CanName(std::string_view name) { return name.size() < 1000; }

 private:
  TempDir dir_;
  BundleStore store_{std::make_unique<LocalStore>(dir_ / "objects")};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Bundles, StoreReading, BundleBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Bundles, StoreConformance, BundleBackend);

/// Lends a store of the test.
class Lent final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
};

class BundleStoreTest : public testing::Test {
 protected:
  using Objects = std::vector<BundleStore::Object>;

  BundleStore Again() { return BundleStore(std::make_unique<Lent>(faults_)); }
  static std::string Bytes(Store& store, std::string_view name) {
    const Result<std::string> bytes = ReadObject(store, name, 1 << 20);
    return bytes.ok() ? *bytes : bytes.status().code() == Code::kNotFound ? "absent" : "?";
  }
  /// "a=3 b=2": the listed objects and their sizes, which Stat and Open have to agree with.
  static std::string Listed(Store& store, std::string_view prefix = {}) {
    const Result<std::vector<ObjectInfo>> objects = store.List(prefix);
    if (!objects.ok()) return std::string(objects.status().message());
    std::string listed;
    for (const ObjectInfo& object : *objects) {
      listed += StrCat(listed.empty() ? "" : " ", object.name, "=", object.size);
      const Result<std::optional<ObjectInfo>> info = store.Stat(object.name);
      EXPECT_TRUE(info.ok() && *info && (*info)->size == object.size && (*info)->version == object.version)
          << object.name;
      EXPECT_EQ(Bytes(store, object.name).size(), object.size) << object.name;
    }
    return listed;
  }
  static void Commit(BundleStore& store, const Objects& objects) {
    for (const Status& outcome : store.CommitTogether(objects))
      EXPECT_TRUE(outcome.ok()) << outcome.message();
  }
  static void Write(Store& store, std::string_view name, std::string_view bytes) {
    EXPECT_TRUE(WriteObject(store, name, bytes, Condition::ReplaceAny()).ok());
  }
  static Status RemoveAll(Store& store, const std::vector<std::string>& names, std::size_t most = 100) {
    std::vector<ObjectInfo> objects;
    for (const std::string& name : names) objects.push_back(ObjectInfo::Any(name));
    return store.RemoveAll(objects, [&most] { return --most > 0; });
  }

  TempDir dir_;
  LocalStore files_{dir_ / "objects"};
  FaultStore faults_{files_};
  BundleStore store_{std::make_unique<Lent>(faults_)};
};

TEST_F(BundleStoreTest, ObjectsShareAFileAndLookAsIfTheyDidNot) {
  Commit(store_, {{"b", "123"}, {"a", ""}, {"c", "12345"}});
  EXPECT_EQ(files_.List("")->size(), 1u);
  EXPECT_EQ(files_.List("")->front().name, "b.bundle-1");
  BundleStore again = Again();
  for (BundleStore* store : {&store_, &again}) {
    EXPECT_EQ(Listed(*store), "a=0 b=3 c=5");
    EXPECT_EQ(Listed(*store, "b"), "b=3");
    EXPECT_EQ(Bytes(*store, "c"), "12345");
    EXPECT_EQ(Bytes(*store, "d"), "absent");
    EXPECT_FALSE(store->Stat("d")->has_value());
  }
}

TEST_F(BundleStoreTest, AStoreThatHasNotListedFindsThem) {
  Commit(store_, {{"a", "123"}, {"b", "12"}});
  BundleStore opens = Again(), stats = Again();
  EXPECT_EQ(Bytes(opens, "b"), "12");
  EXPECT_EQ((*stats.Stat("b"))->size, 2u);
}

TEST_F(BundleStoreTest, AFileStaysReadableAfterItsObjectWasRemoved) {
  Commit(store_, {{"a", "123"}, {"b", "12"}});
  const auto file = store_.Open("a");
  ASSERT_TRUE(RemoveAll(store_, {"a", "b"}).ok());
  EXPECT_EQ(BytesFrom(**file, 1), "23");
}

TEST_F(BundleStoreTest, TheLaterBundleCounts) {
  Commit(store_, {{"b", "old"}, {"c", "old"}});
  const std::string version = (*store_.Stat("b"))->version;
  Commit(store_, {{"a", "1"}, {"b", "newer"}});
  BundleStore again = Again();
  for (BundleStore* store : {&store_, &again}) {
    EXPECT_EQ(Listed(*store), "a=1 b=5 c=3");
    EXPECT_EQ(Bytes(*store, "b"), "newer");
    EXPECT_NE((*store->Stat("b"))->version, version);
  }
  Commit(again, {{"b", "newest"}});
  EXPECT_EQ(Bytes(again, "b"), "newest");
  EXPECT_EQ(files_.List("")->size(), 3u);
}

TEST_F(BundleStoreTest, AnObjectOfItsOwnHidesThatOfABundleAndIsReplacedByOne) {
  Commit(store_, {{"a", "old"}, {"b", "12"}});
  Write(store_, "a", "newer");
  EXPECT_EQ(Listed(store_), "a=5 b=2");
  BundleStore again = Again();
  Commit(again, {{"a", "newest"}, {"c", "1"}});
  EXPECT_EQ(Listed(again), "a=6 b=2 c=1");
  EXPECT_EQ(Bytes(files_, "a"), "newest");
  ASSERT_TRUE(again.Remove("a").ok());
  EXPECT_EQ(Listed(again), "b=2 c=1");
  BundleStore third = Again();
  EXPECT_EQ(Listed(third), "b=2 c=1");
}

TEST_F(BundleStoreTest, ConditionsSeeObjectsInBundles) {
  Commit(store_, {{"a", "123"}});
  BundleStore again = Again();
  EXPECT_EQ(WriteObject(again, "a", "x", Condition::CreateOnly()).status().code(), Code::kAlreadyExists);
  EXPECT_EQ(WriteObject(again, "a", "x", Condition::Replace("1")).status().code(), Code::kFailedPrecondition);
  const std::string version = (*again.Stat("a"))->version;
  EXPECT_TRUE(WriteObject(again, "a", "x", Condition::Replace(version)).ok());
  EXPECT_EQ(Listed(again), "a=1");
  EXPECT_EQ(WriteObject(again, "a", "y", Condition::Replace(version)).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(BundleStoreTest, TwoProcessesWriteTwoBundles) {
  BundleStore other = Again();
  EXPECT_EQ(Listed(store_) + Listed(other), "");
  Commit(store_, {{"a", "1"}});
  Commit(other, {{"a", "22"}, {"b", "22"}});
  EXPECT_EQ(files_.List("")->size(), 2u);
  EXPECT_EQ(Listed(store_), "a=2 b=2");
}

TEST_F(BundleStoreTest, TheFileGoesWithItsLastObjectAndOthersStay) {
  Commit(store_, {{"a", "1"}, {"b", "22"}, {"c", "333"}});
  Write(store_, "d", "4444");
  ASSERT_TRUE(store_.Remove("b").ok());
  BundleStore again = Again();
  EXPECT_EQ(Listed(again), "a=1 c=3 d=4");
  ASSERT_TRUE(RemoveAll(again, {"a", "absent", "c", "d"}).ok());
  EXPECT_EQ(files_.List("")->size(), 0u);
  EXPECT_EQ(Listed(again), "");
  EXPECT_TRUE(again.Remove("a").ok());
}

TEST_F(BundleStoreTest, ARemovalThatEndsEarlyKeepsTheRest) {
  Write(store_, "a", "1");
  Commit(store_, {{"b", "1"}, {"c", "22"}});
  Commit(store_, {{"d", "1"}, {"e", "22"}});
  ASSERT_TRUE(RemoveAll(store_, {"a", "b", "c", "d", "e"}, 4).ok());
  EXPECT_EQ(Listed(store_), "e=2");
  BundleStore again = Again();
  EXPECT_EQ(Listed(again), "e=2");
}

TEST_F(BundleStoreTest, AFailedRemovalLosesNothingElse) {
  Commit(store_, {{"a", "1"}, {"b", "22"}});
  faults_.FailNth(FaultStore::Call::kCommit, 1, Status(Code::kResourceExhausted, "full"));
  EXPECT_EQ(store_.Remove("a").code(), Code::kResourceExhausted);
  EXPECT_EQ(Listed(store_), "a=1 b=2");
}

TEST_F(BundleStoreTest, AFailedCommitLeavesNoneOfItsObjects) {
  Commit(store_, {{"a", "1"}});
  faults_.FailNth(FaultStore::Call::kCommit, 1, Status(Code::kResourceExhausted, "full"));
  const Objects objects = {{"a", "22"}, {"b", "22"}};
  for (const Status& outcome : store_.CommitTogether(objects))
    EXPECT_EQ(outcome.code(), Code::kResourceExhausted);
  EXPECT_EQ(Listed(store_), "a=1");
}

TEST_F(BundleStoreTest, ADamagedBundleIsAnObjectAndItsOwnAreMissing) {
  Commit(store_, {{"a", "1"}, {"b", "22"}});
  Commit(store_, {{"c", "333"}});
  std::string bytes = Bytes(files_, "a.bundle-1");
  bytes[bytes.size() - 2] ^= 1;
  Write(files_, "a.bundle-1", bytes);
  BundleStore again = Again();
  EXPECT_EQ(Listed(again), StrCat("a.bundle-1=", bytes.size(), " c=3"));
  EXPECT_EQ(Bytes(again, "a"), "absent");
  Commit(again, {{"a", "1"}});
  EXPECT_EQ(Bytes(again, "a"), "1");
  ASSERT_TRUE(again.Remove("a.bundle-1").ok());
  EXPECT_EQ(Listed(again), "a=1 c=3");
}

TEST_F(BundleStoreTest, AFailureToReadABundleIsNoAbsence) {
  Commit(store_, {{"a", "1"}});
  BundleStore again = Again();
  faults_.FailNth(FaultStore::Call::kRead, 1, Status(Code::kUnavailable, "no answer"));
  EXPECT_EQ(again.Stat("a").status().code(), Code::kUnavailable);
  EXPECT_TRUE((*again.Stat("a")).has_value());
}

}  // namespace
}  // namespace pipeline
