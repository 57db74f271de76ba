#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "base/result.h"

namespace pipeline {
namespace {

TEST(StatusTest, OkIsEmptyAndStaysOk) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), Code::kOk);
  EXPECT_EQ(Status().message(), "");
  EXPECT_TRUE(Status(Code::kOk, "no reason").ok());
  EXPECT_TRUE(Status().Annotate("where").ok());
}

TEST(StatusTest, AnnotatePutsTheWhereFirst) {
  const Status status = Status(Code::kDataLoss, "truncated").Annotate("frame 3").Annotate("a.xz");
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "a.xz: frame 3: truncated");
}

TEST(StatusTest, CopiesAreIndependent) {
  Status first(Code::kNotFound, "a");
  const Status second = first;
  first = std::move(first).Annotate("b");
  EXPECT_EQ(first.message(), "b: a");
  EXPECT_EQ(second.message(), "a");
  const Status& itself = first;
  first = itself;
  EXPECT_EQ(first.message(), "b: a");
  first = Status();
  EXPECT_TRUE(first.ok());
}

struct LineIsBad : StatusDetail {
  explicit LineIsBad(int number) : line(number) {}
  int line;
};
struct FileIsGone : StatusDetail {};

TEST(StatusTest, ADetailIsFoundByItsTypeAndTravelsWithCopiesAndAnnotations) {
  const Status status =
      Status(Code::kDataLoss, "bad").With(std::make_shared<LineIsBad>(7)).Annotate("a.jsonl");
  const Status copy = status;  // NOLINT(performance-unnecessary-copy-initialization): the copy is the test
  ASSERT_NE(copy.Detail<LineIsBad>(), nullptr);
  EXPECT_EQ(copy.Detail<LineIsBad>()->line, 7);
  EXPECT_EQ(copy.message(), "a.jsonl: bad");
  EXPECT_EQ(copy.Detail<FileIsGone>(), nullptr);
  EXPECT_EQ(Status(copy).With(std::make_shared<FileIsGone>()).Detail<LineIsBad>(), nullptr);
  EXPECT_EQ(Status(Code::kDataLoss, "bad").Detail<LineIsBad>(), nullptr);
  EXPECT_TRUE(Status().With(std::make_shared<FileIsGone>()).ok());
  const Status other = Status(status).Reword("worse");
  EXPECT_EQ(other.message(), "worse");
  EXPECT_EQ(other.code(), Code::kDataLoss);
  EXPECT_NE(other.Detail<LineIsBad>(), nullptr);
  EXPECT_TRUE(Status().Reword("fine").ok());
}

TEST(StatusTest, SystemErrorsGetTheCodeThatDecidesWhatToDo) {
  EXPECT_EQ(SystemError("open", ENOENT).code(), Code::kNotFound);
  EXPECT_EQ(SystemError("write", ENOSPC).code(), Code::kResourceExhausted);
  EXPECT_EQ(SystemError("write", EDQUOT).code(), Code::kResourceExhausted);
  EXPECT_EQ(SystemError("open", EROFS).code(), Code::kPermissionDenied);
  EXPECT_EQ(SystemError("read", EIO).code(), Code::kDataLoss);
  EXPECT_EQ(SystemError("open", ENOTDIR).code(), Code::kInvalidArgument);
  EXPECT_EQ(SystemError("flock", EAGAIN).code(), Code::kUnavailable);
  EXPECT_EQ(SystemError("a: open", ENOENT).message(), "a: open: No such file or directory");
}

TEST(StatusTest, EveryCodeHasANameOfItsOwn) {
  std::string_view before;
  for (int i = 0; i <= static_cast<int>(Code::kInternal); ++i) {
    const std::string_view name = CodeName(static_cast<Code>(i));
    EXPECT_NE(name, "unknown");
    EXPECT_NE(name, before);
    before = name;
  }
}

Result<std::unique_ptr<int>> Make(int number) {
  if (number < 0) return Status(Code::kInvalidArgument, "negative");
  return std::make_unique<int>(number);
}

Result<int> Sum(int a, int b) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> left, Make(a));
  ASSIGN_OR_RETURN(const std::unique_ptr<int> right, Make(b));
  RETURN_IF_ERROR(Make(*left + *right).status());
  return *left + *right;
}

TEST(ResultTest, MacrosPassValuesAndFailuresOn) {
  EXPECT_EQ(Sum(1, 2).value(), 3);
  EXPECT_TRUE(Sum(1, 2).status().ok());
  EXPECT_EQ(Sum(-1, 2).status().message(), "negative");
  EXPECT_FALSE(Sum(1, -1).ok());
}

TEST(ResultDeathTest, AValueThatIsNotThereEndsTheProgramWithTheReason) {
  const Result<int> failed = Status(Code::kNotFound, "a.txt: is not there");
  EXPECT_DEATH(static_cast<void>(failed.value()),
               "error: .*result.h:[0-9]+: a.txt: is not there .this is a bug.");
  EXPECT_DEATH(static_cast<void>(Result<int>(Status())), "an OK result needs a value");
}

TEST(ResultTest, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = Make(5);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

}  // namespace
}  // namespace pipeline
