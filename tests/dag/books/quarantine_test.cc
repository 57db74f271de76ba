#include "dag/books/quarantine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/str.h"

namespace pipeline {
namespace {

/// Objects in a map, read a few bytes at a time.
class SmallStore final : public Store {
 public:
  std::map<std::string, std::string, std::less<>> objects;
  Status broken;  // what every write fails with

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    const auto found = objects.find(name);
    if (found == objects.end()) return Status(Code::kNotFound, StrCat(name, ": no such object"));
    return std::unique_ptr<ByteFile>(new File(found->second));
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition) override {
    if (!broken.ok()) return broken;
    return std::unique_ptr<ObjectWriter>(new Writer(*this, std::string(name)));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view) override { return std::optional<ObjectInfo>(); }
  Result<std::vector<ObjectInfo>> List(std::string_view) override { return std::vector<ObjectInfo>(); }
  Status Remove(std::string_view name) override {
    const auto found = objects.find(name);
    if (found != objects.end()) objects.erase(found);
    return {};
  }
  Status Sweep(std::string_view) override { return {}; }

 private:
  class Writer final : public ObjectWriter {
   public:
    Writer(SmallStore& store, std::string name) : store_(store), name_(std::move(name)) {}
    Status Append(std::string_view bytes) override {
      bytes_ += bytes;
      return {};
    }
    Result<ObjectInfo> Commit(std::stop_token) override {
      store_.objects[name_] = bytes_;
      return ObjectInfo{name_, bytes_.size(), "1", {}};
    }

   private:
    SmallStore& store_;
    std::string name_, bytes_;
  };
  class Reader final : public ByteReader {
   public:
    explicit Reader(std::string_view rest) : rest_(rest) {}
    Result<std::size_t> Read(std::span<char> out) override {
      const std::size_t count = rest_.copy(out.data(), std::min<std::size_t>(out.size(), 5));
      rest_.remove_prefix(count);
      return count;
    }

   private:
    std::string_view rest_;
  };
  class File final : public ByteFile {
   public:
    explicit File(std::string bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t size() const override { return bytes_.size(); }
    Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token) const override {
      return std::unique_ptr<ByteReader>(new Reader(std::string_view(bytes_).substr(offset)));
    }

   private:
    std::string bytes_;
  };
};

const std::vector<QuarantineStage> kChain = {{"lines", {1, 0}},
                                             {"clean", *Digest::FromHex("0123456789abcdef0011223344556677")}};
const std::string kCleanName = "quarantine/clean-0123456789abcdef/0002-00003.jsonl";

// The example of dag/books/quarantine.md, byte for byte.
constexpr std::string_view kExampleLines =
    "{\"index\":3,\"reason\":\"nul\",\"text\":\"a\\u0000b\"}\n"
    "{\"index\":3,\"sub\":1,\"reason\":\"dropped_empty\",\"text\":\"\"}\n"
    "{\"index\":7,\"reason\":\"invalid_utf8\",\"base64\":\"Yf9i\"}\n";
const std::vector<Quarantined> kExampleRecords = {{1, 3, 0, "nul", std::string("a\0b", 3)},
                                                  {1, 3, 1, "dropped_empty", ""},
                                                  {1, 7, 0, "invalid_utf8",
                                                   "a\xff"
                                                   "b"}};

Result<std::vector<Quarantined>> ReadAll(Store& store, std::string_view name) {
  std::vector<Quarantined> records;
  RETURN_IF_ERROR(ReadQuarantine(store, name, [&](const Quarantined& record) {
    records.push_back(record);
    return Status();
  }));
  return records;
}

Status WriteQuarantine(Store& work, const std::vector<QuarantineStage>& chain, PartitionId id,
                       const std::vector<Quarantined>& records) {
  QuarantineWriter writer(work, chain, id);
  RETURN_IF_ERROR(writer.Add(records));
  return writer.Commit();
}

TEST(QuarantineTest, WritesAndReadsTheExampleOfItsDocument) {
  SmallStore store;
  ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, kExampleRecords).ok());
  ASSERT_EQ(store.objects.size(), 1u);
  EXPECT_EQ(store.objects[kCleanName], kExampleLines);
  const Result<std::vector<Quarantined>> records = ReadAll(store, kCleanName);
  ASSERT_TRUE(records.ok()) << records.status().message();
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ((*records)[1].sub, 1u);
  EXPECT_EQ((*records)[0].bytes, std::string("a\0b", 3));
  EXPECT_EQ((*records)[2].bytes,
            "a\xff"
            "b");
  EXPECT_EQ((*records)[2].reason, "invalid_utf8");
}

TEST(QuarantineTest, EachStageHasItsOwnObject) {
  SmallStore store;
  ASSERT_TRUE(WriteQuarantine(store, kChain, {0, 0}, {{1, 5, 0, "b", "x"}, {0, 9, 0, "a", "y"}}).ok());
  EXPECT_EQ(store.objects.size(), 2u);
  EXPECT_EQ(store.objects[QuarantineName(kChain[0], {0, 0})],
            "{\"index\":9,\"reason\":\"a\",\"text\":\"y\"}\n");
}

TEST(QuarantineTest, ANewTryReplacesTheOldOneAlsoByNothing) {
  SmallStore store;
  ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, kExampleRecords).ok());
  ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, {{1, 1, 0, "a", "y"}}).ok());
  EXPECT_EQ(store.objects[kCleanName], "{\"index\":1,\"reason\":\"a\",\"text\":\"y\"}\n");
  ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, {}).ok());
  EXPECT_TRUE(store.objects.empty());
}

TEST(QuarantineTest, WhatStandsOfAStageThatIsOnlyReadStays) {
  SmallStore store;
  ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, kExampleRecords).ok());
  const std::vector<QuarantineStage> reader = {{kChain[1].stage, kChain[1].recipe, true}, {"last", {3, 0}}};
  ASSERT_TRUE(WriteQuarantine(store, reader, {2, 3}, {{1, 1, 0, "a", "y"}}).ok());
  EXPECT_EQ(store.objects.size(), 2u);
  ASSERT_TRUE(WriteQuarantine(store, reader, {2, 3}, {}).ok());
  EXPECT_EQ(store.objects.size(), 1u);
  EXPECT_EQ(store.objects[kCleanName], kExampleLines);
  EXPECT_EQ(WriteQuarantine(store, reader, {2, 3}, {{0, 1, 0, "a", "y"}}).code(), Code::kInternal);
}

TEST(QuarantineTest, AFailedWriteIsReported) {
  SmallStore store;
  store.broken = Status(Code::kResourceExhausted, "the disk is full");
  EXPECT_EQ(WriteQuarantine(store, kChain, {2, 3}, kExampleRecords).code(), Code::kResourceExhausted);
}

TEST(QuarantineTest, AStageOutsideTheChainIsABug) {
  SmallStore store;
  EXPECT_EQ(WriteQuarantine(store, kChain, {0, 0}, {{2, 0, 0, "a", ""}}).code(), Code::kInternal);
}

TEST(QuarantineTest, OnlyWellFormedTextIsText) {
  const std::pair<const char*, bool> texts[] = {{"", true},
                                                {"日本語", true},
                                                {"\xf4\x8f\xbf\xbf", true},
                                                {"\xed\x9f\xbf", true},
                                                {"\xc0\x80", false},
                                                {"\xe0\x9f\x80", false},
                                                {"\xed\xa0\x80", false},
                                                {"\xf0\x8f\x80\x80", false},
                                                {"\xf4\x90\x80\x80", false},
                                                {"\xf5\x80\x80\x80", false},
                                                {"\xe3\x81", false},
                                                {"\x80", false}};
  for (const auto& [text, is_text] : texts) {
    SmallStore store;
    ASSERT_TRUE(WriteQuarantine(store, kChain, {2, 3}, {{1, 0, 0, "r", text}}).ok());
    EXPECT_EQ(store.objects[kCleanName].find("\"text\"") != std::string::npos, is_text) << text;
    const Result<std::vector<Quarantined>> records = ReadAll(store, kCleanName);
    ASSERT_TRUE(records.ok());
    EXPECT_EQ((*records)[0].bytes, text);
  }
}

TEST(QuarantineTest, ALineThatCannotBeReadIsNamed) {
  SmallStore store;
  for (const char* line :
       {"x", "{}", "{\"index\":1,\"reason\":\"a\"}", "{\"index\":-1,\"reason\":\"a\",\"text\":\"\"}",
        "{\"index\":1,\"reason\":\"a\",\"text\":\"\",\"base64\":\"\"}",
        "{\"index\":1,\"reason\":\"a\",\"base64\":\"Yf9\"}", "", "{\"index\":1,\"text\":\"\"}"}) {
    store.objects["q"] = StrCat(kExampleLines, line, '\n');
    EXPECT_EQ(ReadAll(store, "q").status().message(), "q: line 4: not a quarantined record") << line;
  }
  store.objects["q"] = "{\"index\":1,\"mood\":{},\"reason\":\"a\",\"text\":\"\"}";
  EXPECT_TRUE(ReadAll(store, "q").ok()) << "an unknown key, no LF at the end";
  EXPECT_EQ(ReadAll(store, "none").status().code(), Code::kNotFound);
}

TEST(QuarantineTest, ALongRecordIsWrittenInPartsAndReadAsItsFront) {
  std::string mixed;
  while (mixed.size() < 3 << 20) mixed += "猫\"\\\x01x𝄞";
  for (const std::string& bytes :
       {std::string(3 << 20, '\0'), mixed, "x" + mixed, mixed + "\xff", std::string(3 << 20, '"')}) {
    SmallStore store;
    ASSERT_TRUE(
        WriteQuarantine(store, kChain, {2, 3}, {{1, 5, 0, "nul", bytes}, {1, 6, 0, "nul", "b"}}).ok());
    const std::string& lines = store.objects[kCleanName];
    const std::optional<Quarantined> whole = ParseQuarantineLine(lines.substr(0, lines.find('\n')));
    ASSERT_TRUE(whole.has_value());
    EXPECT_TRUE(whole->bytes == bytes);
    const Result<std::vector<Quarantined>> read = ReadAll(store, kCleanName);
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(read->size(), 2u);
    EXPECT_TRUE(bytes.starts_with(read->front().bytes));
    EXPECT_GT(read->front().bytes.size(), 100u << 10);
    EXPECT_LT(read->front().bytes.size(), 1u << 20);
    EXPECT_EQ(read->back().bytes, "b");
  }
}

TEST(QuarantineTest, TheTakerCanEndTheReading) {
  SmallStore store;
  store.objects["q"] = kExampleLines;
  int taken = 0;
  const Status status = ReadQuarantine(store, "q", [&](const Quarantined&) {
    ++taken;
    return Status(Code::kCancelled, "enough");
  });
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace pipeline
