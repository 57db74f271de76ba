#include "base/base64.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(Base64Test, GivesTheVectorsOfItsStandard) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64Test, EveryByteComesBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
}

TEST(Base64Test, AnythingElseIsRefused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "Zm 9", "Zm\n9"})
    EXPECT_FALSE(FromBase64(text).has_value()) << text;
}

TEST(Base64Test, TextStaysTextInJson) {
  EXPECT_EQ(TextOrBase64("猫"), Json("猫"));
  EXPECT_EQ(TextOrBase64("\xff").Dump(), R"({"base64":"/w=="})");
}

}  // namespace
}  // namespace pipeline
