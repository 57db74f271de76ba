#include "plugins/train/external/event_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/proto_message.h"
#include "formats/tfrecord.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string Event(std::uint64_t step, const ProtoMessage& value) {
  ProtoMessage summary, event;
  summary.SetBytes(1, value.Serialize());
  event.SetVarint(2, step);
  event.SetBytes(5, summary.Serialize());
  return event.Serialize();
}

std::string Scalar(std::uint64_t step, std::string_view tag, float number) {
  ProtoMessage value;
  value.SetBytes(1, tag);
  value.SetFloat(2, number);
  return Event(step, value);
}

/// As tf.summary.scalar of TensorFlow 2 writes it: a tensor with one float in `member`.
std::string TensorScalar(std::uint64_t step, std::string_view tag, std::uint32_t member) {
  ProtoMessage tensor, value;
  tensor.SetVarint(1, 1);
  tensor.SetBytes(member, "\0\0\x20\x40"s);  // 2.5
  value.SetBytes(1, tag);
  value.SetBytes(8, tensor.Serialize());
  return Event(step, value);
}

class EventFilesTest : public testing::Test {
 protected:
  void Append(const std::string& name, std::string_view bytes) {
    std::filesystem::create_directories(root_ / "logs/train");
    std::ofstream(root_ / ("logs/train/" + name), std::ios::app | std::ios::binary) << bytes;
  }
  static std::string Record(std::string_view event) {
    std::string record;
    AppendTfRecord(record, event);
    return record;
  }
  std::string Read() {
    std::ostringstream shown;
    for (const EventScalar& scalar : files_.Read()) shown << scalar.step << "=" << scalar.value << " ";
    return shown.str();
  }

  TempDir root_;
  EventFiles files_{root_ / "logs", "train/loss"};
};

TEST_F(EventFilesTest, ValuesOfTheTagAreReadOnce) {
  EXPECT_EQ(Read(), "") << "the directory is not there yet";
  Append("notes.txt", "no events");
  Append("events.out.tfevents.1", Record("\x1a\rbrain.Event:2"));
  EXPECT_EQ(Read(), "");
  Append("events.out.tfevents.1", Record(Scalar(3, "train/loss", 4.5)) + Record(Scalar(3, "lr", 1)) +
                                      Record(TensorScalar(4, "train/loss", 4)) +
                                      Record(TensorScalar(5, "train/loss", 5)));
  EXPECT_EQ(Read(), "3=4.5 4=2.5 5=2.5 ");
  EXPECT_EQ(Read(), "");
  Append("events.out.tfevents.2", Record(Scalar(6, "train/loss", 1)));
  EXPECT_EQ(Read(), "6=1 ");
  EXPECT_EQ(files_.Unread(), "");
}

TEST_F(EventFilesTest, RecordWithoutItsEndIsReadLater) {
  const std::string record = Record(Scalar(3, "train/loss", 4.5));
  for (std::size_t at = 0; at + 1 < record.size(); ++at) {
    Append("x.tfevents", record.substr(at, 1));
    ASSERT_EQ(Read(), "") << at;
  }
  Append("x.tfevents", record.substr(record.size() - 1));
  EXPECT_EQ(Read(), "3=4.5 ");
}

TEST_F(EventFilesTest, DamagedBytesEndTheirFileAndAreNamed) {
  Append("a.tfevents", Record(Scalar(1, "train/loss", 1)) + std::string(40, 'x'));
  Append("b.tfevents", Record(Scalar(2, "train/loss", 2)));
  EXPECT_EQ(Read(), "1=1 2=2 ");
  EXPECT_EQ(Read(), "");
  EXPECT_TRUE(files_.Unread().starts_with(root_ / "logs/train/a.tfevents: at byte ")) << files_.Unread();
}

TEST_F(EventFilesTest, EventsOfEarlierAttemptsArePassedOver) {
  Append("a.tfevents", Record(Scalar(1, "train/loss", 1)));
  files_.Skip();
  EXPECT_EQ(Read(), "");
  Append("a.tfevents", Record(Scalar(2, "train/loss", 2)));
  EXPECT_EQ(Read(), "2=2 ");
}

TEST_F(EventFilesTest, OtherMessagesHaveNoScalar) {
  for (const std::string& event :
       {""s, "\xff"s, Scalar(1, "train/loss2", 1), TensorScalar(1, "train/loss", 6)})
    EXPECT_FALSE(ScalarOf(event, "train/loss"));
  ProtoMessage string;
  string.SetVarint(1, 7);
  string.SetBytes(8, "text");
  ProtoMessage value;
  value.SetBytes(1, "train/loss");
  value.SetBytes(8, string.Serialize());
  EXPECT_FALSE(ScalarOf(Event(1, value), "train/loss"));
}

}  // namespace
}  // namespace pipeline
