#include "cli/terminal/command_line.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(CommandLineTest, WordsAreQuotedAsAShellTakesThem) {
  EXPECT_EQ(CommandLine({"pipe", "run", "a b.yaml", "--set", "x=it's", "", "-j2"}),
            "pipe run 'a b.yaml' --set 'x=it'\\''s' '' -j2");
  EXPECT_EQ(CommandLine({"日本語.yaml"}), "日本語.yaml");
}

TEST(CommandLineTest, ValuesOfSecretsAreHidden) {
  for (const std::string name :
       {"token", "api_key", "stages.fetch.password", "apiToken", "HF-TOKEN", "AWS_SECRET"})
    EXPECT_EQ(CommandLine({"--set", name + "=hush"}), "--set " + name + "=***");
  EXPECT_EQ(CommandLine({"--set=api_key=hush"}), "--set=api_key=***");
}

TEST(CommandLineTest, OtherValuesStay) {
  EXPECT_EQ(CommandLine({"--set", "stages.tokens.seq_len=1024"}), "--set stages.tokens.seq_len=1024");
  EXPECT_EQ(CommandLine({"--set", "tokenizer=out/tokenizer", "keys=3", "monkey=4"}),
            "--set tokenizer=out/tokenizer keys=3 monkey=4");
}

TEST(CommandLineTest, SecretsInUrlsAreHidden) {
  EXPECT_EQ(WithoutSecret("https://me:hush@host/a?b=c"), "https://***@host/a?***");
  EXPECT_EQ(WithoutSecret("https://host/a@b?X-Goog-Signature=hush&part=1&token=hush"),
            "https://host/a@b?***");
  EXPECT_EQ(WithoutSecret("https://host/a?hush"), "https://host/a?***");
  EXPECT_EQ(WithoutSecret("https://host/a#hush"), "https://host/a?***");
  EXPECT_EQ(CommandLine({"--set", "corpus=https://host/a?part=hush&b=c"}), "--set corpus=https://host/a?***");
  EXPECT_EQ(WithoutSecret("gs://bucket/a@b?.txt"), "gs://bucket/a@b?.txt");
  EXPECT_EQ(WithoutSecret("out/a@b"), "out/a@b");
  EXPECT_EQ(CommandLine({"--set", "corpus=https://me:hush@host/a"}), "--set corpus=https://***@host/a");
}

}  // namespace
}  // namespace pipeline
