#include <gtest/gtest.h>

#include "plugins/train/hosts/host_card.h"

namespace pipeline {
namespace {

HostCard FullCard() {
  HostCard card;
  card.host = 2;
  card.hosts = 4;
  card.nonce = "07";
  card.boot = "9c";
  card.address = "10.0.0.3";
  card.sign = 41;
  card.digests = {{"environment", "ab"}, {"program", "cd"}};
  card.local = {{.step = 1000, .attempt = 5, .part = "0011"}, {.step = 1500, .attempt = 6, .part = "2233"}};
  card.trains = 7;
  card.ended = TrainerEnd{.attempt = 6,
                          .code = 75,
                          .signal = 9,
                          .hung = true,
                          .progressed = true,
                          .lost = true,
                          .fatal = true,
                          .again = true,
                          .cause = "killed by signal 9"};
  card.fetches = true;
  card.leaves = true;
  card.stop = 7;
  card.send = LocalCheckpoint{.step = 1500, .attempt = 6, .part = {}};
  card.over =
      TrainingEnd{.outcome = TrainingOutcome::kFailed, .code = Code::kDataLoss, .message = "rows differ"};
  return card;
}

TEST(HostCardTest, ReadsWhatItWrote) {
  for (const HostCard& card : {FullCard(), [] {
                                 HostCard least;
                                 least.nonce = "1";
                                 return least;
                               }()}) {
    const Result<HostCard> read = ParseHostCard(card.Encode(), "hosts/2.json");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, card);
  }
}

TEST(HostCardTest, TextsOfAnotherMachineAreOneReadableLine) {
  HostCard card = FullCard();
  card.ended->cause = "a\x1b[2J\nb";
  card.over->message = std::string(5000, 'x');
  const Result<HostCard> read = ParseHostCard(card.Encode(), "hosts/2.json");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ended->cause, "a [2J b");
  EXPECT_LT(read->over->message.size(), 1100u);
}

TEST(HostCardTest, CodeOfANewerProgramIsAFailureAllTheSame) {
  std::string text = FullCard().Encode();
  text.replace(text.find("\"data_loss\""), 11, "\"new_code!\"");
  const Result<HostCard> read = ParseHostCard(text, "hosts/2.json");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->over->code, Code::kInternal);
}

TEST(HostCardTest, AnythingElseIsRefusedWithItsName) {
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"pipe_host":2,"host":0,"hosts":1,"nonce":"1","sign":1})",
        R"({"pipe_host":1,"host":1,"hosts":1,"nonce":"1","sign":1})",
        R"({"pipe_host":1,"host":-1,"hosts":1,"nonce":"1","sign":1})",
        R"({"pipe_host":1,"host":0,"hosts":99999,"nonce":"1","sign":1})",
        R"({"pipe_host":1,"host":0,"hosts":1,"nonce":"","sign":1})",
        R"({"pipe_host":1,"host":0,"hosts":1,"nonce":"1"})",
        R"({"pipe_host":1,"host":0,"hosts":1,"nonce":"1","sign":1,"over":{"outcome":"well"}})"}) {
    const Result<HostCard> read = ParseHostCard(text, "hosts/0.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), Code::kDataLoss);
    EXPECT_EQ(read.status().message().substr(0, 12), "hosts/0.json");
  }
}

TEST(AttemptRecordTest, ReadsWhatItWrote) {
  const AttemptRecord record = {.number = 7,
                                .nonces = {"1f", "07"},
                                .coordinator = "10.0.0.1:41234",
                                .step = 1500,
                                .local = true,
                                .data = "ab"};
  const Result<AttemptRecord> read = ParseAttemptRecord(record.Encode(), "a");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, record);
  const AttemptEndRecord end = {.number = 7, .lost = {2, 3}, .reason = "host 2 was started again"};
  EXPECT_EQ(end.Encode(),
            R"({"lost":[2,3],"number":7,"pipe_attempt_end":1,"reason":"host 2 was started again"})"
            "\n");
}

TEST(AttemptRecordTest, NamesSortByNumber) {
  EXPECT_EQ(AttemptName(7), "attempts/00007.json");
  EXPECT_EQ(AttemptEndName(7), "attempts/00007.end.json");
  EXPECT_EQ(AttemptName(1234567), "attempts/1234567.json");
}

TEST(AttemptRecordTest, AnythingElseIsRefused) {
  for (const std::string_view text : {"", "{}", R"({"pipe_attempt":1,"number":0,"nonces":["a"],"step":1})",
                                      R"({"pipe_attempt":1,"number":1,"nonces":[],"step":1})",
                                      R"({"pipe_attempt":1,"number":1,"nonces":["a"]})",
                                      R"({"pipe_attempt":9,"number":1,"nonces":["a"],"step":1})"})
    EXPECT_EQ(ParseAttemptRecord(text, "a").status().code(), Code::kDataLoss) << text;
}

}  // namespace
}  // namespace pipeline
