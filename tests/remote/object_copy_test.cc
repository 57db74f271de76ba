#include "remote/object_copy.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "storage/memory_store.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

/// A store where something happens just before an object is written.
class CrowdedStore final : public Store {
 public:
  std::function<void(Store&)> before_create;

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return inner_.Open(name); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    if (const auto act = std::exchange(before_create, nullptr)) act(inner_);
    return inner_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return inner_.List(prefix); }
  Status Remove(std::string_view name) override { return inner_.Remove(name); }
  Status Sweep(std::string_view prefix) override { return inner_.Sweep(prefix); }

 private:
  MemoryStore inner_;
};

/// Fails to be read so many times as if it had been damaged on the way.
class DamagedFile final : public ByteFile {
 public:
  DamagedFile(std::string bytes, int times) : file_(std::move(bytes)), times_(times) {}
  std::uint64_t size() const override { return file_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    if (times_-- > 0) return Status(Code::kUnavailable, "what arrived is not what is stored");
    return file_.Open(offset, std::move(stop));
  }

 private:
  const StringFile file_;
  mutable int times_;
};

class ObjectCopyTest : public testing::Test {
 protected:
  Result<CopyOutcome> Copy(const std::string& bytes, bool replaces = false) {
    return CopyObject({"source", std::make_shared<StringFile>(bytes), {}},
                      {store_, "a", "store/a", replaces, store_.Stat("a").value()}, {});
  }
  void Put(Store& store, std::string_view bytes) {
    ASSERT_TRUE(WriteObject(store, "a", bytes, Condition::ReplaceAny()).ok());
  }
  std::string Get() { return ReadObject(store_, "a", 1 << 20).value(); }

  CrowdedStore store_;
};

TEST_F(ObjectCopyTest, CopiesOnceAndKnowsTheSameBytesAgain) {
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kCopied);
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kWasThere);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, ReplacesOtherBytesOnlyWhereItIsTold) {
  Put(store_, "other");
  for (const std::string bytes : {"bytes", "longer bytes"}) {
    EXPECT_EQ(Copy(bytes).status().code(), Code::kAlreadyExists);
    EXPECT_EQ(Get(), "other");
  }
  EXPECT_EQ(*Copy("bytes", true), CopyOutcome::kCopied);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, AnotherWriterMayBeQuicker) {
  store_.before_create = [this](Store& store) { Put(store, "bytes"); };
  EXPECT_EQ(*Copy("bytes"), CopyOutcome::kWasThere);
}

TEST_F(ObjectCopyTest, WhatAnotherWriterPutThereMeanwhileIsNotReplaced) {
  store_.before_create = [this](Store& store) { Put(store, "other"); };
  EXPECT_EQ(Copy("bytes").status().code(), Code::kAlreadyExists);
  Put(store_, "old");
  store_.before_create = [this](Store& store) { Put(store, "other"); };
  EXPECT_EQ(Copy("bytes", true).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Get(), "other");
}

TEST_F(ObjectCopyTest, WhatWasDamagedOnTheWayIsReadAgainAFewTimes) {
  const auto copy = [this](int times) {
    return CopyObject({"source", std::make_shared<DamagedFile>("bytes", times), {}},
                      {store_, "a", "store/a", false, {}}, {});
  };
  EXPECT_EQ(copy(5).status().code(), Code::kUnavailable);
  EXPECT_FALSE(store_.Stat("a").value());
  EXPECT_EQ(*copy(2), CopyOutcome::kCopied);
  EXPECT_EQ(Get(), "bytes");
}

TEST_F(ObjectCopyTest, AStopLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  const Result<CopyOutcome> stopped = CopyObject({"source", std::make_shared<StringFile>("bytes"), {}},
                                                 {store_, "a", "store/a", false, {}}, stop.get_token());
  EXPECT_EQ(stopped.status().code(), Code::kCancelled);
  EXPECT_FALSE(store_.Stat("a").value());
}

}  // namespace
}  // namespace pipeline
