// What storage/README.md promises of every store that can be written to, as one suite; what it promises of
// reading is the suite StoreReading. A backend instantiates both with
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreReading, MemoryBackend);
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, MemoryBackend);
// where the type is default constructible and has `Store& store()`, empty at first. It may also have
//   static constexpr bool kForgetsReplaced = true;      readers of an object that was replaced fail
//   static constexpr bool kKeepsStates = true;          it may have the bytes of a state that is gone
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "storage/store.h"
#include "tests/storage/store_reading.h"

namespace pipeline {

/// Whether readers of an object that was replaced fail, where others go on with what they opened.
template <class Backend>
constexpr bool ForgetsReplaced() {
  if constexpr (requires { Backend::kForgetsReplaced; }) return Backend::kForgetsReplaced;
  return false;
}

/// Whether a store may have the bytes of a state that is gone.
template <class Backend>
constexpr bool KeepsStates() {
  if constexpr (requires { Backend::kKeepsStates; }) return Backend::kKeepsStates;
  return false;
}

template <class Backend>
class StoreConformance : public testing::Test {
 protected:
  Store& store() { return backend_.store(); }

  ObjectInfo Write(std::string_view name, std::string_view bytes,
                   const Condition& condition = Condition::CreateOnly()) {
    const Result<ObjectInfo> info = WriteObject(store(), name, bytes, condition);
    EXPECT_TRUE(info.ok()) << info.status().message();
    return info.ok() ? *info : ObjectInfo();
  }
  Code CodeOfWrite(std::string_view name, const Condition& condition) {
    return WriteObject(store(), name, "other", condition).status().code();
  }
  std::string Read(std::string_view name) {
    const Result<std::unique_ptr<ByteFile>> file = store().Open(name);
    return file.ok() ? BytesFrom(**file, 0) : std::string(file.status().message());
  }
  std::vector<std::string> Names(std::string_view prefix = {}) {
    const Result<std::vector<ObjectInfo>> objects = store().List(prefix);
    EXPECT_TRUE(objects.ok()) << objects.status().message();
    std::vector<std::string> names;
    if (objects.ok())
      for (const ObjectInfo& info : *objects) names.push_back(info.name);
    return names;
  }
  std::unique_ptr<ObjectWriter> Create(std::string_view name, Condition condition = Condition::CreateOnly()) {
    Result<std::unique_ptr<ObjectWriter>> writer = store().Create(name, std::move(condition));
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return writer.ok() ? std::move(writer).value() : nullptr;
  }

 private:
  Backend backend_;
};
TYPED_TEST_SUITE_P(StoreConformance);

using Names = std::vector<std::string>;

TYPED_TEST_P(StoreConformance, ReadsWhatWasWritten) {
  const ObjectInfo info = this->Write("dir/a", "bytes");
  EXPECT_EQ(info.name, "dir/a");
  EXPECT_EQ(info.size, 5u);
  EXPECT_FALSE(info.version.empty());
  EXPECT_EQ(this->Read("dir/a"), "bytes");
  const auto stat = this->store().Stat("dir/a");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ((*stat)->version, info.version);
  EXPECT_EQ((*stat)->size, 5u);
}

TYPED_TEST_P(StoreConformance, AbsenceIsAnAnswer) {
  const auto stat = this->store().Stat("dir/a");
  ASSERT_TRUE(stat.ok()) << stat.status().message();
  EXPECT_FALSE(stat->has_value());
  EXPECT_EQ(this->store().Open("dir/a").status().code(), Code::kNotFound);
  EXPECT_TRUE(this->store().Remove("dir/a").ok());
  EXPECT_EQ(this->Names(), Names{});
  EXPECT_EQ(this->Names("no/such/"), Names{});
}

TYPED_TEST_P(StoreConformance, ADirectoryIsNoObject) {
  this->Write("dir/a", "1");
  EXPECT_EQ(this->store().Open("dir").status().code(), Code::kNotFound);
  const auto stat = this->store().Stat("dir");
  EXPECT_TRUE(stat.ok() && !stat->has_value());
  const auto below_an_object = this->store().Stat("dir/a/b");
  EXPECT_TRUE(below_an_object.ok() && !below_an_object->has_value());
  EXPECT_EQ(this->store().Open("dir/a/b").status().code(), Code::kNotFound);
  EXPECT_TRUE(this->store().Remove("dir").ok());
  EXPECT_TRUE(this->store().Remove("dir/a/b").ok());
  EXPECT_EQ(this->Read("dir/a"), "1");
}

TYPED_TEST_P(StoreConformance, CreateOnlyNeverReplaces) {
  this->Write("a", "first");
  EXPECT_EQ(this->CodeOfWrite("a", Condition::CreateOnly()), Code::kAlreadyExists);
  EXPECT_EQ(this->Read("a"), "first");
  EXPECT_EQ(this->Names(), Names{"a"});
}

TYPED_TEST_P(StoreConformance, OneOfManyCreatorsWins) {
  std::vector<Code> codes(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < codes.size(); ++i)
    threads.emplace_back([&, i] {
      const std::string bytes(100, static_cast<char>('a' + i));
      codes[i] = WriteObject(this->store(), "dir/a", bytes, Condition::CreateOnly()).status().code();
    });
  for (std::thread& thread : threads) thread.join();
  std::size_t winner = codes.size();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == Code::kAlreadyExists) continue;
    EXPECT_EQ(codes[i], Code::kOk);
    EXPECT_EQ(winner, codes.size()) << "two winners";
    winner = i;
  }
  ASSERT_LT(winner, codes.size());
  EXPECT_EQ(this->Read("dir/a"), std::string(100, static_cast<char>('a' + winner)));
}

TYPED_TEST_P(StoreConformance, ReplacesOnlyTheVersionThatIsKnown) {
  const std::string first = this->Write("a", "1").version;
  const std::string second = this->Write("a", "2", Condition::Replace(first)).version;
  EXPECT_NE(first, second);
  EXPECT_EQ(this->CodeOfWrite("a", Condition::Replace(first)), Code::kFailedPrecondition);
  EXPECT_EQ(this->Read("a"), "2");
  EXPECT_EQ(this->CodeOfWrite("absent", Condition::Replace(first)), Code::kFailedPrecondition);
  EXPECT_EQ(this->Names(), Names{"a"});
}

TYPED_TEST_P(StoreConformance, LeavesAloneWhatHasTheBytesAlready) {
  const ObjectInfo first = this->Write("a", "the same");
  const ObjectInfo again = this->Write("a", "the same", Condition::ReplaceUnlessSame(first.version));
  if (first.crc32c) {
    EXPECT_EQ(again.version, first.version);
  }
  const ObjectInfo other = this->Write("a", "another!", Condition::ReplaceUnlessSame(again.version));
  EXPECT_NE(other.version, again.version);
  EXPECT_EQ(this->CodeOfWrite("a", Condition::ReplaceUnlessSame(first.version)), Code::kFailedPrecondition);
  EXPECT_EQ(this->Read("a"), "another!");
  EXPECT_EQ(this->CodeOfWrite("absent", Condition::ReplaceUnlessSame(first.version)),
            Code::kFailedPrecondition);
}

TYPED_TEST_P(StoreConformance, TheVersionIsComparedAtCommit) {
  const std::string known = this->Write("a", "1").version;
  const auto writer = this->Create("a", Condition::Replace(known));
  ASSERT_TRUE(writer->Append("ours").ok());
  this->Write("a", "theirs", Condition::ReplaceAny());
  EXPECT_EQ(writer->Commit().status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(this->Read("a"), "theirs");
}

TYPED_TEST_P(StoreConformance, ReplacingByVersionLosesNoUpdate) {
  this->Write("count", "");
  const auto add_one = [&] {  // an update of what is there; false when somebody else was quicker
    const auto stat = this->store().Stat("count");
    const auto bytes = ReadObject(this->store(), "count", 100);
    if (!stat.ok() || !stat->has_value() || !bytes.ok() || bytes->size() != (*stat)->size) return false;
    const auto condition = Condition::Replace((*stat)->version);
    return WriteObject(this->store(), "count", *bytes + "x", condition).ok();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int added = 0; added < 5;) added += add_one() ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->Read("count"), std::string(15, 'x'));
}

TYPED_TEST_P(StoreConformance, EveryWriteHasAVersionOfItsOwn) {
  std::vector<std::string> versions;
  for (int i = 0; i < 8; ++i) {
    versions.push_back(this->Write("a", "same size", Condition::ReplaceAny()).version);
    for (int before = 0; before < i; ++before)
      EXPECT_NE(versions[static_cast<std::size_t>(before)], versions.back());
    if (i % 2 == 1) {
      EXPECT_TRUE(this->store().Remove("a").ok());
    }
  }
}

TYPED_TEST_P(StoreConformance, NothingIsVisibleBeforeCommit) {
  const auto writer = this->Create("dir/a");
  ASSERT_TRUE(writer->Append(PatternBytes(1'000'000)).ok());
  EXPECT_EQ(this->Names(), Names{});
  const auto stat = this->store().Stat("dir/a");
  EXPECT_TRUE(stat.ok() && !stat->has_value());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(this->Names(), Names{"dir/a"});
}

TYPED_TEST_P(StoreConformance, DestroyedUncommittedNothingWasThere) {
  this->Write("dir/old", "old");
  for (const char* name : {"dir/new", "dir/old"}) {
    const auto writer = this->Create(name, Condition::ReplaceAny());
    ASSERT_TRUE(writer->Append("new").ok());
  }
  EXPECT_EQ(this->Names(), Names{"dir/old"});
  EXPECT_EQ(this->Read("dir/old"), "old");
}

TYPED_TEST_P(StoreConformance, AnOpenFileKeepsItsVersion) {
  this->Write("a", "old bytes");
  auto file = this->store().Open("a");
  ASSERT_TRUE(file.ok());
  const auto reader = (*file)->Open(0, {});
  ASSERT_TRUE(reader.ok());
  std::string start(3, '\0');
  ASSERT_TRUE(ReadExactly(**reader, start).ok());
  this->Write("a", "new, longer bytes", Condition::ReplaceAny());
  std::string rest(6, '\0');
  const Status read = ReadExactly(**reader, rest);
  const bool may_fail = ForgetsReplaced<TypeParam>();
  EXPECT_TRUE(read.ok() || may_fail) << read.message();
  if (read.ok()) {
    EXPECT_EQ(start + rest, "old bytes");
  }
  ASSERT_TRUE(this->store().Remove("a").ok());
  if (!may_fail) {
    EXPECT_EQ(BytesFrom(**file, 4), "bytes");
    return;
  }
  const auto again = (*file)->Open(4, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(ReadExactly(**again, rest).code(), Code::kDataLoss);
}

TYPED_TEST_P(StoreConformance, ListsByNameInByteOrder) {
  for (const char* name : {"b", "a/2", "a/10", "a-b", "ab", "a/c/d", "\xe3\x81\x82"}) this->Write(name, "x");
  EXPECT_EQ(this->Names(), (Names{"a-b", "a/10", "a/2", "a/c/d", "ab", "b", "\xe3\x81\x82"}));
  EXPECT_EQ(this->Names("a/"), (Names{"a/10", "a/2", "a/c/d"}));
  EXPECT_EQ(this->Names("a/c"), Names{"a/c/d"});
  EXPECT_EQ(this->Names("a/c/"), Names{"a/c/d"});
  EXPECT_EQ(this->Names("a"), (Names{"a-b", "a/10", "a/2", "a/c/d", "ab"}));
  EXPECT_EQ(this->Names("a/1"), Names{"a/10"});
  for (const char* prefix : {"/", "..", "../", "a//", "a/../", "z"}) EXPECT_EQ(this->Names(prefix), Names{});
}

TYPED_TEST_P(StoreConformance, RemovesManyObjectsUntilItIsTold) {
  for (const bool known : {false, true}) {
    std::map<std::string, ObjectInfo> there;
    for (const char* name : {"a", "dir/a", "dir/b", "dir/c", "dir/d"}) there[name] = this->Write(name, "x");
    const auto some = [&](const Names& names) {
      std::vector<ObjectInfo> objects;
      for (const std::string& name : names)
        objects.push_back({name, 1, known && there.contains(name) ? there[name].version : "", {}});
      return objects;
    };
    std::size_t count = 0;
    const auto all = [&count] { return ++count > 0; };
    EXPECT_TRUE(this->store().RemoveAll(some({"a", "dir/a", "no/such", "dir/none", "dir/b"}), all).ok());
    EXPECT_EQ(count, 5u);
    EXPECT_EQ(this->Names(), (Names{"dir/c", "dir/d"}));
    EXPECT_TRUE(this->store().RemoveAll(some({"a", "dir/a"}), all).ok()) << "they are gone";
    count = 0;
    EXPECT_TRUE(this->store().RemoveAll(some({"dir/d", "dir/c"}), [&count] { return ++count == 0; }).ok());
    EXPECT_EQ(this->Names(), (count == 1 ? Names{"dir/c"} : Names{})) << "each that it told of is gone";
    EXPECT_EQ(this->store().RemoveAll(some({"dir/c", "dir//x", "never"}), all).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(this->Names(), Names{});
  }
}

TYPED_TEST_P(StoreConformance, RemovesOnlyTheStateThatIsKnown) {
  const ObjectInfo before = this->Write("dir/a", "before");
  const ObjectInfo alone = this->Write("dir/b", "alone");
  const ObjectInfo now = this->Write("dir/a", "now", Condition::Replace(before.version));
  const std::vector<ObjectInfo> known = {before, alone, {"dir/a", 3, "no version of it", {}}};
  std::size_t count = 0;
  EXPECT_TRUE(this->store().RemoveAll(known, [&count] { return ++count > 0; }).ok());
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(this->Names(), Names{"dir/a"});
  EXPECT_EQ(this->Read("dir/a"), "now");
  EXPECT_TRUE(RemoveKnown(this->store(), before).ok());
  EXPECT_EQ(this->Names(), Names{"dir/a"});
  EXPECT_TRUE(RemoveKnown(this->store(), now).ok());
  EXPECT_TRUE(RemoveKnown(this->store(), now).ok()) << "it is gone";
  EXPECT_EQ(this->Names(), Names{});
}

TYPED_TEST_P(StoreConformance, ReadsOnlyTheStateThatIsKnown) {
  const ObjectInfo before = this->Write("dir/a", "before");
  const ObjectInfo listed = this->store().List("dir/").value().front();
  EXPECT_EQ(ReadObject(this->store(), before, 100).value(), "before");
  EXPECT_EQ(ReadObject(this->store(), listed, 100).value(), "before");
  EXPECT_EQ(ReadObject(this->store(), **this->store().Stat("dir/a"), 6).value(), "before");
  EXPECT_EQ(ReadObject(this->store(), listed, 5).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadObject(this->store(), ObjectInfo::Any("dir/a"), 100).value(), "before") << "any state";
  const ObjectInfo now = this->Write("dir/a", "now", Condition::Replace(before.version));
  const auto is_gone = [&](const ObjectInfo& known, std::string_view bytes) {
    const Result<std::string> read = ReadObject(this->store(), known, 100);
    return read.ok() ? KeepsStates<TypeParam>() && *read == bytes : read.status().code() == Code::kNotFound;
  };
  EXPECT_TRUE(is_gone(before, "before"));
  EXPECT_EQ(ReadObject(this->store(), ObjectInfo{"dir/a", 3, "no version of it", {}}, 100).status().code(),
            Code::kNotFound);
  EXPECT_EQ(ReadObject(this->store(), now, 100).value(), "now");
  EXPECT_TRUE(this->store().Remove("dir/a").ok());
  EXPECT_TRUE(is_gone(now, "now"));
}

TYPED_TEST_P(StoreConformance, RemovesOneObject) {
  this->Write("dir/a", "1");
  this->Write("dir/b", "2");
  ASSERT_TRUE(this->store().Remove("dir/a").ok());
  EXPECT_EQ(this->Names(), Names{"dir/b"});
  this->Write("dir/a", "again");
  EXPECT_EQ(this->Read("dir/a"), "again");
}

TYPED_TEST_P(StoreConformance, RefusesWhatIsNoName) {
  const std::string bad[] = {"",   "/a",    "a/",   "a//b", ".",
                             "..", "a/./b", "../a", "a/..", std::string("a\0b", 3)};
  for (const std::string& name : bad) {
    EXPECT_EQ(this->store().Create(name, {}).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store().Open(name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store().Stat(name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store().Remove(name).code(), Code::kInvalidArgument) << name;
  }
  std::string too_long = "x";
  while (too_long.size() <= 1024) too_long += "/" + std::string(100, 'x');
  EXPECT_EQ(this->store().Create(too_long, {}).status().code(), Code::kInvalidArgument);
}

TYPED_TEST_P(StoreConformance, TakesUnusualNames) {
  const Names names = {" ",
                       "%41",
                       "*?",
                       "-rf",
                       "...",
                       ".hidden",
                       "a b",
                       "a\\b",
                       "a\nb",
                       "c:d",
                       "x.tmp.y",
                       std::string(255, 'y'),
                       "~",
                       "\xe5\x85\xa8\xe8\xa7\x92",
                       "\xff\xfe",
                       std::string(1000, 'z'),
                       std::string(255, 'v') + "/" + std::string(201, 'w')};
  std::size_t taken = 0;
  for (const std::string& name : names) {
    if (!CanName<TypeParam>(name)) {
      EXPECT_EQ(this->store().Create(name, {}).status().code(), Code::kInvalidArgument) << name;
      continue;
    }
    this->Write(name, name);
    ++taken;
  }
  for (const std::string& name : names) {
    if (!CanName<TypeParam>(name)) continue;
    EXPECT_EQ(this->Read(name), name);
  }
  EXPECT_EQ(this->Names().size(), taken);
  for (const std::string& name : names) {
    if (!CanName<TypeParam>(name)) continue;
    EXPECT_TRUE(this->store().Remove(name).ok()) << name;
  }
  EXPECT_EQ(this->Names(), Names{});
}

TYPED_TEST_P(StoreConformance, KeepsAnEmptyObject) {
  EXPECT_EQ(this->Write("a", "").size, 0u);
  EXPECT_EQ(this->Read("a"), "");
  EXPECT_EQ(this->Names(), Names{"a"});
}

TYPED_TEST_P(StoreConformance, KeepsABigObjectWrittenInPiecesOfAllSizes) {
  const std::string bytes = PatternBytes(20 << 20);
  const auto writer = this->Create("big");
  std::string_view left = bytes;
  for (std::size_t size = 1; !left.empty(); size = size * 3 + 1) {
    if (size > (2 << 20)) size = 1;
    ASSERT_TRUE(writer->Append(left.substr(0, size)).ok());
    left.remove_prefix(std::min(size, left.size()));
  }
  const Result<ObjectInfo> info = writer->Commit();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->size, bytes.size());
  EXPECT_TRUE(this->Read("big") == bytes);
}

TYPED_TEST_P(StoreConformance, AppendsFilesAtAnyPlace) {
  const std::string bytes = PatternBytes(3'000'001);
  this->Write("source", bytes);
  this->Write("empty", "");
  const auto source = this->store().Open("source");
  const auto empty = this->store().Open("empty");
  ASSERT_TRUE(source.ok() && empty.ok());
  const struct {
    const char* name;
    const char* parts;  // f: the file, e: the empty file, any other: itself
  } cases[] = {{"f", "f"},     {"fx", "fx"},   {"xf", "xf"}, {"ff", "ff"},
               {"efe", "efe"}, {"fxf", "fxf"}, {"e", "e"}};
  for (const auto& test : cases) {
    const auto writer = this->Create(test.name);
    std::string expected;
    for (const char* part = test.parts; *part != '\0'; ++part) {
      const bool is_file = *part == 'f' || *part == 'e';
      const Status appended = is_file ? writer->AppendFile(*part == 'f' ? **source : **empty, {})
                                      : writer->Append(std::string_view(part, 1));
      ASSERT_TRUE(appended.ok()) << appended.message();
      expected += *part == 'f' ? bytes : *part == 'e' ? "" : std::string(1, *part);
    }
    const Result<ObjectInfo> info = writer->Commit();
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->size, expected.size());
    EXPECT_TRUE(this->Read(test.name) == expected) << test.name;
  }
  EXPECT_TRUE(this->Read("source") == bytes) << "the source was changed";
}

TYPED_TEST_P(StoreConformance, ReplacesAnObjectByItself) {
  const ObjectInfo before = this->Write("a", "bytes");
  const auto file = this->store().Open("a");
  ASSERT_TRUE(file.ok());
  const auto writer = this->Create("a", Condition::Replace(before.version));
  ASSERT_TRUE(writer->AppendFile(**file, {}).ok());
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_EQ(this->Read("a"), "bytes");
}

TYPED_TEST_P(StoreConformance, ACancelledAppendFileLeavesNothing) {
  this->Write("source", PatternBytes(5 << 20));
  const auto source = this->store().Open("source");
  ASSERT_TRUE(source.ok());
  std::stop_source stop;
  stop.request_stop();
  {
    const auto writer = this->Create("copy");
    ASSERT_TRUE(writer->Append("x").ok());
    EXPECT_EQ(writer->AppendFile(**source, stop.get_token()).code(), Code::kCancelled);
  }
  EXPECT_EQ(this->Names(), Names{"source"});
}

TYPED_TEST_P(StoreConformance, SweepLeavesLivingWritersAndObjectsAlone) {
  this->Write("dir/old", "old");
  const auto writer = this->Create("dir/new");
  ASSERT_TRUE(writer->Append("new").ok());
  EXPECT_TRUE(this->store().Sweep("").ok());
  EXPECT_TRUE(this->store().Sweep("dir/").ok());
  EXPECT_TRUE(this->store().Sweep("no/such/").ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(this->Names(), (Names{"dir/new", "dir/old"}));
}

REGISTER_TYPED_TEST_SUITE_P(StoreConformance, ReadsWhatWasWritten, AbsenceIsAnAnswer, ADirectoryIsNoObject,
                            CreateOnlyNeverReplaces, OneOfManyCreatorsWins, ReplacesOnlyTheVersionThatIsKnown,
                            LeavesAloneWhatHasTheBytesAlready, TheVersionIsComparedAtCommit,
                            ReplacingByVersionLosesNoUpdate, EveryWriteHasAVersionOfItsOwn,
                            NothingIsVisibleBeforeCommit, DestroyedUncommittedNothingWasThere,
                            AnOpenFileKeepsItsVersion, ListsByNameInByteOrder, RemovesOneObject,
                            RemovesManyObjectsUntilItIsTold, RemovesOnlyTheStateThatIsKnown,
                            ReadsOnlyTheStateThatIsKnown, RefusesWhatIsNoName, TakesUnusualNames,
                            KeepsAnEmptyObject, KeepsABigObjectWrittenInPiecesOfAllSizes,
                            AppendsFilesAtAnyPlace, ReplacesAnObjectByItself,
                            ACancelledAppendFileLeavesNothing, SweepLeavesLivingWritersAndObjectsAlone);

}  // namespace pipeline
