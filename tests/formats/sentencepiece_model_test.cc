#include "formats/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char c : hex) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(high * 16 + digit)), high = -1;
    }
  }
  return bytes;
}

constexpr std::string_view kUnk = "0a0e 0a053c756e6b3e 1500000000 1802";
constexpr std::string_view kSpace = "0a0c 0a03e29681 15000080bf 1801";
constexpr std::string_view kA = "0a0a 0a03e38182 15000000c0";

// The example in formats/sentencepiece_model.md.
std::string Example() {
  return FromHex(kUnk) + FromHex(kSpace) + FromHex(kA) + FromHex("12 07 18 01 20 03 98 02 00") +
         FromHex("1a 10 0a 08 69 64 65 6e 74 69 74 79 18 00 20 00 28 01");
}

SentencePieceModel Parsed(const std::string& bytes) {
  Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? std::move(model).value() : SentencePieceModel();
}

std::string Refusal(const std::string& bytes) {
  const Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  EXPECT_EQ(model.status().code(), Code::kDataLoss);
  return std::string(model.status().message());
}

TEST(SentencePieceModelTest, ReadsTheExampleOfItsPage) {
  const SentencePieceModel model = Parsed(Example());
  EXPECT_EQ(model.pieces(), (std::vector<SentencePiece>{{"<unk>", 0, PieceType::kUnknown},
                                                        {"\u2581", -1, PieceType::kNormal},
                                                        {"あ", -2, PieceType::kNormal}}));
  EXPECT_EQ(model.model_type(), "unigram");
  EXPECT_EQ(model.normalizer(), "identity");
  EXPECT_FALSE(model.byte_fallback());
  EXPECT_TRUE(model.keeps_text());
  const SpecialIds ids = model.special_ids();
  EXPECT_EQ(ids.unk, 0);
  EXPECT_EQ(ids.pad, -1);
  EXPECT_EQ(ids.bos, -1);
  EXPECT_EQ(ids.eos, -1);
  EXPECT_EQ(model.Vocabulary(), "<unk>\t0\n\u2581\t-1\nあ\t-2\n");
}

TEST(SentencePieceModelTest, WhatIsNotChangedKeepsItsBytes) {
  // Unknown fields at each level, a varint that is longer than needed, a field twice.
  const std::string strange = FromHex("c20c03 010203") +
                              FromHex("0a11 0a053c756e6b3e 1802 aa0c05 0102030405") +
                              FromHex("12 05 18 81 00 20 03") + FromHex("2a02 5000");
  const SentencePieceModel model = Parsed(strange);
  EXPECT_EQ(model.Serialize(), strange);
  EXPECT_EQ(model.pieces().size(), 1u);
  EXPECT_FALSE(model.keeps_text());  // all that is absent has the library's defaults
}

TEST(SentencePieceModelTest, AppendedPieceStandsBehindTheLast) {
  SentencePieceModel model = Parsed(Example());
  model.AppendPiece({"\u2581<extra_id_0>", 0, PieceType::kUserDefined});
  const std::string piece = FromHex("0a18 0a0f e296813c65787472615f69645f303e 1500000000 1804");
  const std::string before = FromHex(kUnk) + FromHex(kSpace) + FromHex(kA);
  EXPECT_EQ(model.Serialize(), before + piece + Example().substr(before.size()));
  EXPECT_EQ(Parsed(model.Serialize()).pieces(), model.pieces());
}

TEST(SentencePieceModelTest, ScrubbingRemovesWhatAMachineLeft) {
  // input "/a", prefix "p", type, vocab_size, 16 threads, sentences to 7 bytes, byte_fallback, huge corpus
  const std::string spec = "0a022f61 120170 1801 2003 800110 900107 980201 880301";
  SentencePieceModel model = Parsed(FromHex(kUnk) + FromHex("1217" + spec));
  model.ScrubTrainer();
  EXPECT_EQ(model.Serialize(), FromHex(kUnk) + FromHex("1207 1801 2003 980201"));
  EXPECT_TRUE(model.byte_fallback());
}

TEST(SentencePieceModelTest, SpacingTakesThePlaceOfWhatWasSaid) {
  SentencePieceModel model = Parsed(Example());
  model.SetSpacing(true, true);
  EXPECT_EQ(model.Serialize(), FromHex(kUnk) + FromHex(kSpace) + FromHex(kA) +
                                   FromHex("12 07 18 01 20 03 98 02 00") +
                                   FromHex("1a 10 0a 08 69 64 65 6e 74 69 74 79 18 01 20 01 28 01"));
  EXPECT_FALSE(model.keeps_text());
  EXPECT_TRUE(model.adds_dummy_prefix());
}

TEST(SentencePieceModelTest, RolesGoByTheNamesOfTheTrainer) {
  // control pieces "[E]" and "</s>"; eos_piece "[E]"
  const std::string model = FromHex(kUnk) + FromHex("0a07 0a035b455d 1803") +
                            FromHex("0a08 0a043c2f733e 1803") + FromHex("1206 fa02035b455d");
  EXPECT_EQ(Parsed(model).special_ids().eos, 1);
}

TEST(SentencePieceModelTest, RefusesWhatIsNoModel) {
  EXPECT_NE(Refusal("").find("no pieces"), std::string::npos);
  EXPECT_NE(Refusal("plain text").find("not a protobuf message at byte 2"), std::string::npos);
  const std::string good = Example();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<SentencePieceModel> cut = SentencePieceModel::Parse(good.substr(0, size));
    // Cut between two fields it is shorter and may be whole; the pieces are never half.
    if (cut.ok()) {
      EXPECT_EQ(cut->Serialize(), good.substr(0, size));
    }
  }
  const auto with_piece = [&good](std::string_view piece) { return Refusal(good + FromHex(piece)); };
  EXPECT_NE(with_piece("0a02 0a00").find("piece 3 has no text"), std::string::npos);
  EXPECT_NE(with_piece("0a03 0a01ff").find("piece 3 is not UTF-8"), std::string::npos);
  EXPECT_NE(with_piece("0a05 0a0161 1807").find("type 7"), std::string::npos);
  EXPECT_NE(with_piece("0a05 0a0161 1806").find("stands for a byte"), std::string::npos);
  EXPECT_NE(with_piece("0a05 0a03e38182").find("'あ' comes twice"), std::string::npos);
  EXPECT_NE(with_piece("0a05 0a0161 1802").find("2 pieces stand for unknown text"), std::string::npos);
  EXPECT_NE(with_piece("0a08 0a0161 150000c07f").find("no number"), std::string::npos);
  EXPECT_NE(with_piece("0a05 0a0161 1001").find("another kind"), std::string::npos);
  EXPECT_NE(with_piece("1200").find("trainer_spec comes twice"), std::string::npos);
}

TEST(SentencePieceModelTest, RefusesACharsmapThatWouldBeReadOutside) {
  const auto model = [](std::string charsmap) {
    ProtoMessage spec;
    spec.SetBytes(2, charsmap);
    ProtoMessage all = ProtoMessage::Parse(FromHex(kUnk)).value();
    all.SetBytes(3, spec.Serialize());
    return all.Serialize();
  };
  const std::string trie(1024, '\0');
  const std::string size = std::string("\0\4\0\0", 4);
  EXPECT_TRUE(SentencePieceModel::Parse(model(size + trie + std::string(1, '\0'))).ok());
  Refusal(model("\1"));
  Refusal(model(size + trie));
  Refusal(model(size + trie + "a"));
  Refusal(model(std::string("\0\3\0\0", 4) + trie));  // 768 bytes are no blocks of 1024
  std::string outside = trie;
  outside[1] = 4;  // offset 1 << 0 is inside; 0x400 >> 10 == 1
  EXPECT_TRUE(SentencePieceModel::Parse(model(size + outside + std::string(1, '\0'))).ok());
  outside[2] = 4;  // offset 256: the second block of one
  EXPECT_NE(Refusal(model(size + outside + std::string(1, '\0'))).find("unit 0"), std::string::npos);
  std::string leaf = trie;
  leaf[7] = '\x80', leaf[4] = 1;  // replacement at 1, of one byte
  EXPECT_NE(Refusal(model(size + leaf + std::string(1, '\0'))).find("unit 1"), std::string::npos);
  std::string rule = trie;
  rule[1] = 5;  // ends a rule, and the offset is 1
  EXPECT_NE(Refusal(model(size + rule + std::string(1, '\0'))).find("no replacement"), std::string::npos);
  rule[7] = '\x80';
  EXPECT_TRUE(SentencePieceModel::Parse(model(size + rule + std::string(1, '\0'))).ok());
}

TEST(SentencePieceModelTest, BytesAreWrittenOneWay) {
  EXPECT_EQ(ByteOfPiece("<0x00>"), 0);
  EXPECT_EQ(ByteOfPiece("<0xE3>"), 0xe3);
  for (const char* other : {"<0xE>", "<0xG0>", "<0x+1>", "<unk>", "<0x000>", "0xE3"})
    EXPECT_EQ(ByteOfPiece(other), -1);
}

}  // namespace
}  // namespace pipeline
