#include "plugins/train/slice/slice_objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/str.h"
#include "plugins/train/object_files.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kMost = 1 << 20;
const std::string kObject = "gs://bkt/run/hosts/1.json";

/// Small objects by version, in a store of each kind.
class WholeObjectTest : public testing::TestWithParam<bool> {
 protected:
  WholeObjectTest() {
    if (GetParam())
      store_ = std::make_unique<LocalStore>(dir_ / "bucket");
    else
      store_ = std::make_unique<MemoryStore>();
    call_ = std::make_unique<StorageCall>(*store_);
  }
  const PluginStorage& storage() const { return call_->storage(); }
  std::string BytesNow() const {
    const auto whole = storage().ReadWhole(kObject, kMost);
    return whole.ok() && *whole ? (*whole)->bytes : "none";
  }

  const TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StorageCall> call_;
};
INSTANTIATE_TEST_SUITE_P(Stores, WholeObjectTest, testing::Bool());

TEST_P(WholeObjectTest, IsCreatedOnceAndReplacedByItsVersionAlone) {
  EXPECT_EQ(BytesNow(), "none");
  const auto first = WriteIfKnown(storage(), kObject, "one", {});
  ASSERT_TRUE(first.ok() && *first) << first.status().message();
  EXPECT_EQ(BytesNow(), "one");
  EXPECT_EQ((*storage().ReadWhole(kObject, kMost))->version, **first);
  EXPECT_FALSE(WriteIfKnown(storage(), kObject, "two", {}).value()) << "it exists";
  const auto second = WriteIfKnown(storage(), kObject, "two", **first);
  ASSERT_TRUE(second.ok() && *second) << second.status().message();
  EXPECT_NE(**second, **first);
  EXPECT_FALSE(WriteIfKnown(storage(), kObject, "three", **first).value()) << "it has another version";
  EXPECT_EQ(BytesNow(), "two");
  ASSERT_TRUE(storage().Remove(kObject).ok());
  EXPECT_FALSE(WriteIfKnown(storage(), kObject, "three", **second).value()) << "it is gone";
  EXPECT_EQ(BytesNow(), "none");
}

TEST_P(WholeObjectTest, OneThatIsTooLargeIsNotRead) {
  ASSERT_TRUE(WriteIfKnown(storage(), kObject, std::string(1000, 'x'), {}).ok());
  EXPECT_TRUE(storage().ReadWhole(kObject, 1000).ok());
  EXPECT_EQ(storage().ReadWhole(kObject, 999).status().code(), Code::kResourceExhausted);
}

TEST(ConfirmedObjectTest, ARunThatLostItsLocationWritesNothing) {
  MemoryStore store;
  StorageRules rules;
  rules.open_store = [&](const std::string&) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(std::make_unique<StoreBelow>(store, "run/hosts/"));
  };
  Status held;
  rules.confirm = [&](const std::string& uri) {
    EXPECT_EQ(uri, kObject);
    return held;
  };
  const PluginStorage storage(std::move(rules), {});
  const auto first = WriteIfKnown(storage, kObject, "one", {});
  ASSERT_TRUE(first.ok() && *first);
  held = Status(Code::kFailedPrecondition, "another run has taken it over");
  const auto second = WriteIfKnown(storage, kObject, "two", **first);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kCancelled);
  EXPECT_EQ(second.status().message(), "another run has taken it over");
  EXPECT_EQ((*storage.ReadWhole(kObject, kMost))->bytes, "one");
}

/// An object that another host replaces when it is opened, so many times.
class RestlessStore final : public Store {
 public:
  RestlessStore(Store& inner, int times) : inner_(inner), times_(times) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    if (times_-- > 0) return Status(Code::kDataLoss, "was replaced or removed while it was read");
    return inner_.Open(name);
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    return inner_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return inner_.List(prefix); }
  Status Remove(std::string_view name) override { return inner_.Remove(name); }
  Status Sweep(std::string_view) override { return {}; }

 private:
  Store& inner_;
  int times_;
};

TEST(RestlessObjectTest, IsReadAgainWhenItIsReplacedWhileItIsRead) {
  MemoryStore store;
  ASSERT_TRUE(WriteObject(store, "run/hosts/1.json", "card", Condition::CreateOnly()).ok());
  for (const int times : {0, 2, 3}) {
    RestlessStore whole(store, times), in_pieces(store, times);
    const StorageCall one(whole), other(in_pieces);
    const auto card = one.storage().ReadWhole(kObject, kMost);
    const auto text = ReadText(other.storage(), kObject, kMost);
    EXPECT_EQ(card.ok() && *card && (*card)->bytes == "card", times < 3) << card.status().message();
    EXPECT_EQ(text.ok() && *text == "card", times < 3) << text.status().message();
  }
}

class SliceObjectsTest : public testing::Test {
 protected:
  static HostCard Card(std::string nonce) {
    HostCard card;
    card.host = 1;
    card.hosts = 2;
    card.nonce = std::move(nonce);
    return card;
  }
  static AttemptRecord Attempt(std::string coordinator) {
    AttemptRecord attempt;
    attempt.number = 3;
    attempt.nonces = {"a", "b"};
    attempt.coordinator = std::move(coordinator);
    return attempt;
  }

  MemoryStore store_;
  FaultStore flaky_{store_};
  StorageCall call_{flaky_};
  SliceObjects objects_{call_.storage(),
                        "gs://bkt/run",
                        {.is_published = [] { return Result<bool>(true); },
                         .newest_marker = [] { return Result<std::int64_t>(7); },
                         .addresses = {}}};
};

TEST_F(SliceObjectsTest, CardsHaveTheirNamesAndVersions) {
  EXPECT_FALSE(objects_.ReadCard(1).value());
  const auto version = objects_.WriteCard(Card("n"), {});
  ASSERT_TRUE(version.ok() && *version);
  EXPECT_TRUE(store_.Stat("run/hosts/1.json").value());
  const auto stored = objects_.ReadCard(1);
  ASSERT_TRUE(stored.ok() && *stored);
  EXPECT_EQ((*stored)->card, Card("n"));
  EXPECT_EQ((*stored)->version, **version);
  EXPECT_FALSE(objects_.WriteCard(Card("m"), {}).value());
  EXPECT_TRUE(objects_.WriteCard(Card("m"), **version).value());
}

TEST_F(SliceObjectsTest, AnUnreadableCardIsNobodysAndCanBeReplaced) {
  ASSERT_TRUE(WriteObject(store_, "run/hosts/1.json", "half a ca", Condition::CreateOnly()).ok());
  const auto stored = objects_.ReadCard(1);
  ASSERT_TRUE(stored.ok() && *stored);
  EXPECT_EQ((*stored)->card.nonce, "");
  EXPECT_TRUE(objects_.WriteCard(Card("n"), (*stored)->version).value());
}

TEST_F(SliceObjectsTest, CardsOfOtherRecipesAreFoundByTheirNames) {
  const auto put = [&](const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteObject(store_, name, bytes, Condition::CreateOnly()).ok());
  };
  SliceObjects objects(call_.storage(), "gs://bkt/out/runs/train-00000000000000aa",
                       {.is_published = {}, .newest_marker = {}, .addresses = {"10.0.0.1", "10.0.0.2"}});
  HostCard here = Card("n"), there = Card("m");
  here.address = "10.0.0.2", there.address = "10.9.9.9";
  put("out/runs/train-00000000000000aa/hosts/1.json", here.Encode());  // of this run
  put("out/runs/train-00000000000000bb/hosts/1.json", here.Encode());
  put("out/runs/train-00000000000000cc/hosts/1.json", there.Encode());
  put("out/runs/train-00000000000000cc/hosts/2.json", "half a ca");
  for (const char* name : {"train-00000000000000bb/hosts/x.json", "train-00000000000000bb/hosts/4096.json",
                           "train-00000000000000bb/hosts/1.json.part", "train-00000000000000bb/result.json",
                           "train-00000000000000bX/hosts/1.json", "other-00000000000000bb/hosts/1.json",
                           "train-2-00000000000000bb/hosts/1.json"})
    put(StrCat("out/runs/", name), here.Encode());
  const auto names = objects.ListOtherCards();
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<OtherCardName>{{"train-00000000000000bb", 1},
                                                {"train-00000000000000cc", 1},
                                                {"train-00000000000000cc", 2}}));
  EXPECT_EQ(objects.ReadOtherCard((*names)[0]).value(), here);
  EXPECT_FALSE(objects.ReadOtherCard((*names)[1]).value()) << "another machine, of another training";
  EXPECT_FALSE(objects.ReadOtherCard((*names)[2]).value()) << "damaged";
  EXPECT_FALSE(objects.ReadOtherCard({"train-00000000000000dd", 1}).value()) << "gone";
}

TEST_F(SliceObjectsTest, AnAttemptIsCreatedOnce) {
  EXPECT_FALSE(objects_.ReadAttempt(3).value());
  EXPECT_TRUE(objects_.CreateAttempt(Attempt("here:1")).value());
  EXPECT_TRUE(store_.Stat("run/attempts/00003.json").value());
  EXPECT_FALSE(objects_.CreateAttempt(Attempt("there:2")).value());
  EXPECT_EQ(objects_.ReadAttempt(3).value(), Attempt("here:1"));
  EXPECT_FALSE(objects_.HasEnd(3).value());
  EXPECT_TRUE(objects_.CreateEnd({.number = 3, .lost = {1}, .reason = "gone"}).value());
  EXPECT_TRUE(objects_.HasEnd(3).value());
  EXPECT_TRUE(objects_.IsPublished().value());
  EXPECT_EQ(objects_.NewestMarker().value(), 7);
}

TEST_F(SliceObjectsTest, AnAttemptWhoseAnswerWasLostIsItsOwn) {
  flaky_.LoseAnswerOfCommit(1);
  EXPECT_FALSE(objects_.CreateAttempt(Attempt("here:1")).ok());
  EXPECT_TRUE(objects_.CreateAttempt(Attempt("here:1")).value());
  EXPECT_FALSE(objects_.CreateAttempt(Attempt("here:2")).value());
}

TEST_F(SliceObjectsTest, ABucketThatDoesNotAnswerIsAFailure) {
  flaky_.CutPowerAt(FaultStore::Call::kOpen, 1);
  ASSERT_TRUE(WriteObject(store_, "run/attempts/00001.json", "x", Condition::CreateOnly()).ok());
  EXPECT_EQ(objects_.ReadAttempt(1).status().code(), Code::kUnavailable);
}

TEST_F(SliceObjectsTest, ADamagedAttemptIsAFailureWithItsName) {
  ASSERT_TRUE(WriteObject(store_, "run/attempts/00001.json", "{}", Condition::CreateOnly()).ok());
  const auto attempt = objects_.ReadAttempt(1);
  EXPECT_EQ(attempt.status().code(), Code::kDataLoss);
  EXPECT_NE(attempt.status().message().find("gs://bkt/run/attempts/00001.json"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
