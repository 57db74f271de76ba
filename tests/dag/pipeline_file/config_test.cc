#include "dag/pipeline_file/config.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

std::uint64_t BytesOf(std::string_view text) {
  const auto bytes = ParseBytes(text);
  EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status().message();
  return bytes.ok() ? *bytes : 0;
}

TEST(ParseBytesTest, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(BytesOf("0"), 0u);
  EXPECT_EQ(BytesOf("4096"), 4096u);
  EXPECT_EQ(BytesOf("12B"), 12u);
  EXPECT_EQ(BytesOf("64MiB"), 64u << 20);
  EXPECT_EQ(BytesOf("200 MB"), 200'000'000u);
  EXPECT_EQ(BytesOf("8gib"), std::uint64_t{8} << 30);
  EXPECT_EQ(BytesOf("2PB"), 2'000'000'000'000'000u);
}

TEST(ParseBytesTest, TakesFractionsOfUnits) {
  EXPECT_EQ(BytesOf("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(BytesOf("0.5KiB"), 512u);
  EXPECT_EQ(BytesOf("4.0"), 4u);
}

TEST(ParseBytesTest, TheLargestIsWhatJsonHolds) {
  EXPECT_EQ(BytesOf("9223372036854775807"), 9223372036854775807u);
  EXPECT_FALSE(ParseBytes("9223372036854775808").ok());
  EXPECT_FALSE(ParseBytes("8192PiB").ok());
  EXPECT_FALSE(ParseBytes("99999999999999999999999").ok());
}

TEST(ParseBytesTest, SaysWhatIsWrongAndWhatIsAccepted) {
  const auto message = [](std::string_view text) { return std::string(ParseBytes(text).status().message()); };
  const std::string accepted = "; a size is a number with or without a unit: 4096, 64MiB, 1.5GB";
  EXPECT_EQ(message("-5MB"), "a size is never negative" + accepted);
  EXPECT_EQ(message(""), "not a size" + accepted);
  EXPECT_EQ(message("MiB"), "not a size" + accepted);
  EXPECT_EQ(message("64M"), "not a size" + accepted);
  EXPECT_EQ(message("64MiBs"), "not a size" + accepted);
  EXPECT_EQ(message("1e6"), "not a size" + accepted);
  EXPECT_EQ(message("1.MB"), "digits are missing after the point" + accepted);
  EXPECT_EQ(message("1.5"), "there are no parts of a byte" + accepted);
  EXPECT_EQ(message("8192PiB"), "too large" + accepted);
}

TEST(CanonicalConfigTest, KeepsOnlyWhatHasASayInTheBytes) {
  const std::vector<ConfigKey> keys = {
      {"form", ValueType::kString, "", ""},
      {"size", ValueType::kBytes, "~", "", Effect::kNone},
      {"steps", ValueType::kInteger, "1", "", Effect::kContinue},
      {"label", ValueType::kString, "~", ""},
  };
  const Json config(Json::Object{{"form", "nfc"}, {"size", 5}, {"steps", 7}});
  EXPECT_EQ(CanonicalConfig(keys, config).Dump(), R"({"form":"nfc"})");
  EXPECT_EQ(CanonicalConfig({}, config).Dump(), "{}");
}

TEST(CanonicalConfigTest, ALaterKeyThatIsLeftToTheProgramLeavesRecipesAsTheyWere) {
  const std::vector<ConfigKey> keys = {
      Choice("encoding", "~", {"auto", "utf-8"}, ""),
      Choice("archive", "auto", {"auto", "tar"}, ""),
  };
  const auto canonical = [&keys](std::string_view encoding) {
    return CanonicalConfig(keys, Json(Json::Object{{"encoding", Json(encoding)}, {"archive", Json("auto")}}))
        .Dump();
  };
  EXPECT_EQ(canonical("auto"), R"({"archive":"auto"})");
  EXPECT_EQ(canonical("utf-8"), R"({"archive":"auto","encoding":"utf-8"})");
}

TEST(CanonicalConfigTest, HowSpillsAreStoredIsNoPartOfAShuffle) {
  const std::vector<ConfigKey> keys = {{"shuffle", ValueType::kShuffle, "{seed: 0}", ""}};
  const auto canonical = [&](Json shuffle) {
    return CanonicalConfig(keys, Json(Json::Object{{"shuffle", std::move(shuffle)}})).Dump();
  };
  EXPECT_EQ(canonical(Json(Json::Object{{"seed", 3}, {"compress_spills", true}})),
            R"({"shuffle":{"seed":3}})");
  EXPECT_EQ(canonical(Json("none")), R"({"shuffle":"none"})");
}

}  // namespace
}  // namespace pipeline
