#include "storage/local_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace pipeline {
namespace {

TEST(LocalNamesTest, ParsesWhatItMakes) {
  for (const char* object : {"a", "data.tmp.1", ".hidden", "x.tmp.0123abcd-1-2"}) {
    const std::string name = NewTemporaryName(object);
    const auto parsed = ParseTemporaryName(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->object, object);
    EXPECT_EQ(parsed->pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_FALSE(WriterIsGone(*parsed));
  }
}

TEST(LocalNamesTest, LongNamesAreCutBetweenCharacters) {
  std::string kanji;
  while (kanji.size() < 255) kanji += "\xe6\xbc\xa2";
  for (const std::string& object :
       {std::string(255, 'x'), std::string(1024, 'x'), kanji, "a" + kanji.substr(3)}) {
    const std::string name = NewTemporaryName(object);
    EXPECT_LE(name.size(), 255u);
    const auto parsed = ParseTemporaryName(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->object, object.substr(0, parsed->object.size()));
    EXPECT_NE(static_cast<unsigned char>(object[parsed->object.size()]) & 0xc0, 0x80) << "within a character";
    EXPECT_TRUE(MayBelongTo(parsed->object, "d/", "d/" + object));
    EXPECT_TRUE(MayBelongTo(parsed->object, "d/", "d/"));
    EXPECT_FALSE(MayBelongTo(parsed->object, "d/", "d/b"));
  }
  const std::string brief = NewTemporaryName("ab");
  EXPECT_FALSE(MayBelongTo(ParseTemporaryName(brief)->object, "", "abc")) << "all of its name is known";
  EXPECT_TRUE(MayBelongTo(ParseTemporaryName(brief)->object, "", "ab"));
}

TEST(LocalNamesTest, NoTwoNamesAreEqual) { EXPECT_NE(NewTemporaryName("a"), NewTemporaryName("a")); }

TEST(LocalNamesTest, OtherNamesAreNoTemporaries) {
  for (const char* name :
       {"", ".", "a", ".a", ".a.tmp.", ".a.tmp.0123abcd", ".a.tmp.0123abcd-1", "a.tmp.0123abcd-1-2",
        "..tmp.0123abcd-1-2", ".a.tmp.0123ABCD-1-2", ".a.tmp.0123abcd-x-2", ".a.tmp.0123abcd-1-",
        ".a.tmp.0123abcd--2", ".a.tmp.0123abcd-1-2x", ".a.tmp.0123abcd-99999999999-2", ".a.tmp.0123abc-1-2"})
    EXPECT_FALSE(ParseTemporaryName(name)) << name;
}

TEST(LocalNamesTest, AnotherBootOrAMissingProcessIsGone) {
  std::string name = NewTemporaryName("a");
  auto parsed = ParseTemporaryName(name);
  ASSERT_TRUE(parsed);
  parsed->pid = 4'194'305;  // above the largest number a kernel gives
  EXPECT_TRUE(WriterIsGone(*parsed));
  EXPECT_TRUE(WriterIsGone({"a", "deadbee1", 1}));
}

}  // namespace
}  // namespace pipeline
