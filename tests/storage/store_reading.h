// What storage/README.md promises of reading, of stores that can be written to and of those that cannot. A
// backend has `Store& store()`, which is read, and where that cannot be written to `Store& origin()`, which
// can.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/store.h"

namespace pipeline {

/// All bytes from `offset` on.
inline std::string BytesFrom(const ByteFile& file, std::uint64_t offset) {
  const Result<std::unique_ptr<ByteReader>> reader = file.Open(offset, {});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::string bytes;
  std::string piece(100'003, '\0');
  while (reader.ok()) {
    const Result<std::size_t> got = (*reader)->Read(piece);
    EXPECT_TRUE(got.ok()) << got.status().message();
    if (!got.ok() || *got == 0) break;
    bytes.append(piece, 0, *got);
  }
  return bytes;
}

/// Bytes in which a shift, a gap or a double piece shows.
inline std::string PatternBytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

/// Whether a place takes such a name; one that does not take all has `static bool CanName(std::string_view)`.
template <class Backend>
bool CanName(std::string_view name) {
  if constexpr (requires { Backend::CanName(name); }) return Backend::CanName(name);
  return !name.empty();
}

template <class Backend>
class StoreReading : public testing::Test {
 protected:
  Store& store() { return backend_.store(); }
  Store& origin() {
    if constexpr (requires(Backend & backend) { backend.origin(); })
      return backend_.origin();
    else
      return backend_.store();
  }

  void Write(std::string_view name, std::string_view bytes) {
    const Result<ObjectInfo> info = WriteObject(origin(), name, bytes, Condition::ReplaceAny());
    EXPECT_TRUE(info.ok()) << info.status().message();
  }
  ObjectInfo Stat(std::string_view name) {
    const Result<std::optional<ObjectInfo>> stat = store().Stat(name);
    EXPECT_TRUE(stat.ok()) << stat.status().message();
    return stat.ok() && *stat ? **stat : ObjectInfo();
  }
  std::string Read(std::string_view name) {
    const Result<std::unique_ptr<ByteFile>> file = store().Open(name);
    return file.ok() ? BytesFrom(**file, 0) : std::string(file.status().message());
  }

 private:
  Backend backend_;
};
TYPED_TEST_SUITE_P(StoreReading);

TYPED_TEST_P(StoreReading, StatKnowsWhatOpenReads) {
  this->Write("dir/a", "bytes");
  const ObjectInfo info = this->Stat("dir/a");
  EXPECT_EQ(info.name, "dir/a");
  EXPECT_EQ(info.size, 5u);
  EXPECT_FALSE(info.version.empty());
  EXPECT_EQ(this->Read("dir/a"), "bytes");
}

TYPED_TEST_P(StoreReading, WhatIsNotThereIsNotFound) {
  this->Write("dir/a", "1");
  for (const char* name : {"b", "dir", "dir/b", "dir/a/b"}) {
    const auto stat = this->store().Stat(name);
    ASSERT_TRUE(stat.ok()) << stat.status().message();
    EXPECT_FALSE(stat->has_value()) << name;
    EXPECT_EQ(this->store().Open(name).status().code(), Code::kNotFound) << name;
  }
}

TYPED_TEST_P(StoreReading, TheVersionTellsThatSomethingChanged) {
  this->Write("a", "old bytes");
  const std::string version = this->Stat("a").version;
  EXPECT_EQ(this->Stat("a").version, version);
  this->Write("a", "new bytes");
  EXPECT_NE(this->Stat("a").version, version);
}

TYPED_TEST_P(StoreReading, AReaderNeverMixesTwoVersions) {
  const std::string old = PatternBytes(3 << 20);
  this->Write("a", old);
  const auto file = this->store().Open("a");
  ASSERT_TRUE(file.ok());
  const auto reader = (*file)->Open(0, {});
  ASSERT_TRUE(reader.ok());
  std::string read(1000, '\0');
  ASSERT_TRUE(ReadExactly(**reader, read).ok());
  this->Write("a", std::string(4 << 20, 'x'));
  for (const auto* from : {&*reader, static_cast<const std::unique_ptr<ByteReader>*>(nullptr)}) {
    // The reader that had begun, then another one of the same file: the old bytes, or a failure.
    Result<std::unique_ptr<ByteReader>> second = (*file)->Open(read.size(), {});
    ASSERT_TRUE(second.ok());
    ByteReader& rest = from != nullptr ? **from : **second;
    std::string all = read, piece(100'003, '\0');
    Result<std::size_t> got = rest.Read(piece);
    for (; got.ok() && *got > 0; got = rest.Read(piece)) all.append(piece, 0, *got);
    EXPECT_TRUE(got.ok() ? all == old : got.status().code() == Code::kDataLoss) << got.status().message();
  }
}

TYPED_TEST_P(StoreReading, ReadsFromAnyOffset) {
  this->Write("a", "0123456789");
  const auto file = this->store().Open("a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size(), 10u);
  EXPECT_EQ(BytesFrom(**file, 7), "789");
  EXPECT_EQ(BytesFrom(**file, 10), "");
  EXPECT_EQ(BytesFrom(**file, std::uint64_t{1} << 62), "");
}

TYPED_TEST_P(StoreReading, AReaderStopsWhenToldTo) {
  this->Write("a", PatternBytes(3 << 20));
  const auto file = this->store().Open("a");
  ASSERT_TRUE(file.ok());
  std::stop_source stop;
  const auto reader = (*file)->Open(0, stop.get_token());
  ASSERT_TRUE(reader.ok());
  std::string all(3 << 20, '\0');
  const Result<std::size_t> got = (*reader)->Read(all);
  ASSERT_TRUE(got.ok());
  EXPECT_LE(*got, std::size_t{1} << 20) << "further than one look at the stop token";
  stop.request_stop();
  EXPECT_EQ((*reader)->Read(all).status().code(), Code::kCancelled);
}

TYPED_TEST_P(StoreReading, ReadsUnusualNames) {
  const std::string names[] = {" ",   "%41",     "*?", "-rf", "...", ".hidden", "a b",   "a\\b", "a\nb",
                               "c:d", "x.tmp.y", "~",  "a?b", "a#b", "a+b",     "a&b=c", "ä/ö",  "\xff\xfe"};
  for (const std::string& name : names)
    if (CanName<TypeParam>(name)) this->Write(name, name);
  for (const std::string& name : names) {
    if (!CanName<TypeParam>(name)) continue;
    EXPECT_EQ(this->Read(name), name);
  }
}

TYPED_TEST_P(StoreReading, RefusesToReadWhatIsNoName) {
  for (const std::string& name : {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
                                  std::string("../a"), std::string("a/./b"), std::string("a\0b", 3)}) {
    EXPECT_EQ(this->store().Open(name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store().Stat(name).status().code(), Code::kInvalidArgument) << name;
  }
}

TYPED_TEST_P(StoreReading, ReadsEmptyAndBigObjects) {
  const std::string big = PatternBytes(20 << 20);
  this->Write("empty", "");
  this->Write("big", big);
  EXPECT_EQ(this->Stat("empty").size, 0u);
  EXPECT_EQ(this->Read("empty"), "");
  EXPECT_TRUE(this->Read("big") == big);
}

TYPED_TEST_P(StoreReading, ReadObjectRefusesWhatIsTooLarge) {
  this->Write("a", "12345");
  EXPECT_EQ(ReadObject(this->store(), "a", 5).value(), "12345");
  EXPECT_EQ(ReadObject(this->store(), "a", 4).status().code(), Code::kResourceExhausted);
}

REGISTER_TYPED_TEST_SUITE_P(StoreReading, StatKnowsWhatOpenReads, WhatIsNotThereIsNotFound,
                            TheVersionTellsThatSomethingChanged, AReaderNeverMixesTwoVersions,
                            ReadsFromAnyOffset, AReaderStopsWhenToldTo, ReadsUnusualNames,
                            RefusesToReadWhatIsNoName, ReadsEmptyAndBigObjects,
                            ReadObjectRefusesWhatIsTooLarge);

}  // namespace pipeline
