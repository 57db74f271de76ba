#include <gtest/gtest.h>

#include <algorithm>

#include "base/str.h"
#include "storage/store.h"

namespace pipeline {
namespace {

/// A store with one object. Each read after it was opened fails, `failures` times.
class RestlessStore final : public Store {
 public:
  enum class Why : std::uint8_t { kReplaced, kRemoved, kDamagedOnTheWay, kDamaged };
  RestlessStore(Why why, int failures) : why_(why), failures_(failures) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    if (opened_ > 0 && why_ == Why::kRemoved) return Status(Code::kNotFound, StrCat(name, ": is not there"));
    ++opened_;
    return std::unique_ptr<ByteFile>(std::make_unique<File>(*this));
  }
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override { return Open(known.name); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view, Condition) override {
    return Status(Code::kUnimplemented, "is not used");
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view) override { return std::optional<ObjectInfo>(); }
  Result<std::vector<ObjectInfo>> List(std::string_view) override { return std::vector<ObjectInfo>(); }
  Status Remove(std::string_view) override { return {}; }
  Status Sweep(std::string_view) override { return {}; }

  int opened() const { return opened_; }

 private:
  struct Reader final : ByteReader {
    explicit Reader(RestlessStore& owner) : store(owner) {}
    Result<std::size_t> Read(std::span<char> out) override {
      if (store.failures_-- > 0) {
        Status failed(Code::kDataLoss, "these are other bytes");
        if (store.why_ == Why::kDamaged) return failed;
        if (store.why_ == Why::kDamagedOnTheWay)
          return std::move(failed).With(std::make_shared<DamagedOnTheWay>());
        return std::move(failed).With(std::make_shared<ReplacedWhileRead>());
      }
      std::fill(out.begin(), out.end(), 'x');
      return out.size();
    }
    RestlessStore& store;
  };
  struct File final : ByteFile {
    explicit File(RestlessStore& owner) : store(owner) {}
    std::uint64_t size() const override { return 3; }
    Result<std::unique_ptr<ByteReader>> Open(std::uint64_t, std::stop_token) const override {
      return std::unique_ptr<ByteReader>(std::make_unique<Reader>(store));
    }
    RestlessStore& store;
  };

  const Why why_;
  int failures_, opened_ = 0;
};

TEST(ReadObjectTest, AnObjectThatIsReplacedOrDamagedOnTheWayIsReadAgain) {
  for (const auto why : {RestlessStore::Why::kReplaced, RestlessStore::Why::kDamagedOnTheWay}) {
    RestlessStore store(why, 2);
    const Result<std::string> text = ReadObject(store, "lease", 10);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(*text, "xxx");
    EXPECT_EQ(store.opened(), 3);
  }
}

TEST(ReadObjectTest, AnObjectThatIsRemovedMeanwhileIsNotThere) {
  RestlessStore store(RestlessStore::Why::kRemoved, 1);
  EXPECT_EQ(ReadObject(store, "lease", 10).status().code(), Code::kNotFound);
}

TEST(ReadObjectTest, EndlessReplacementsAreAnError) {
  RestlessStore store(RestlessStore::Why::kReplaced, 1'000);
  EXPECT_EQ(ReadObject(store, "lease", 10).status().code(), Code::kDataLoss);
  EXPECT_EQ(store.opened(), 5);
}

TEST(ReadObjectTest, AKnownStateThatWasReplacedIsNotThereAndOneDamagedOnTheWayIsReadAgain) {
  const ObjectInfo known{"lease", 3, "1", {}};
  RestlessStore replaced(RestlessStore::Why::kReplaced, 1);
  EXPECT_EQ(ReadObject(replaced, known, 10).status().code(), Code::kNotFound);
  EXPECT_EQ(replaced.opened(), 1) << "another state would not be it";
  RestlessStore damaged(RestlessStore::Why::kDamagedOnTheWay, 2);
  EXPECT_EQ(ReadObject(damaged, known, 10).value(), "xxx");
  EXPECT_EQ(damaged.opened(), 3);
  RestlessStore broken(RestlessStore::Why::kDamaged, 1'000);
  EXPECT_EQ(ReadObject(broken, known, 10).status().code(), Code::kDataLoss);
}

TEST(ReadObjectTest, DamageInTheStoreIsNotReadAgain) {
  RestlessStore store(RestlessStore::Why::kDamaged, 1'000);
  EXPECT_EQ(ReadObject(store, "lease", 10).status().code(), Code::kDataLoss);
  EXPECT_EQ(store.opened(), 1);
}

}  // namespace
}  // namespace pipeline
