#include "formats/stream_decoder.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kDecoderInputBytes = 64 << 10;

}  // namespace

StreamDecoder::StreamDecoder(std::string_view format, std::unique_ptr<ByteReader> input)
    : format_(format), input_(std::move(input)), buffer_(kDecoderInputBytes, '\0') {}

Result<std::size_t> StreamDecoder::Read(std::span<char> out) {
  std::span<char> left = out;
  while (!left.empty() && !ended_ && failure_.ok()) {
    if (pending_.empty() && hungry_ && !input_ended_) {
      Result<std::size_t> got = input_->Read(buffer_);
      if (!got.ok()) {
        failure_ = std::move(got).status();
        break;
      }
      input_ended_ = *got == 0;
      pending_ = std::string_view(buffer_).substr(0, *got);
    }
    const std::size_t before = pending_.size();
    Result<bool> step = Step(pending_, input_ended_, left);
    taken_ += before - pending_.size();
    if (std::exchange(member_ended_, false) && ends_) ends_->Add({taken_, given_ + out.size() - left.size()});
    hungry_ = !left.empty();
    if (step.ok()) {
      ended_ = *step;
    } else if (step.status().code() == Code::kDataLoss) {
      failure_ = Status(Code::kDataLoss, StrCat("damaged ", format_, " data at byte ", taken_, ": ",
                                                step.status().message(), "; fetch the file again"));
    } else {
      failure_ = std::move(step).status().Annotate(StrCat(format_, " data at byte ", taken_));
    }
  }
  const std::size_t given = out.size() - left.size();
  if (given == 0 && !failure_.ok()) return failure_;
  given_ += given;
  return given;
}

Status StreamDecoder::PassPadding(std::string_view& in) {
  const std::size_t zeros = std::min(in.find_first_not_of('\0'), in.size());
  padded_ = padded_ || zeros > 0;
  in.remove_prefix(zeros);
  if (!padded_ || in.empty()) return {};
  return Status(Code::kDataLoss, "other bytes follow the padding");
}

}  // namespace pipeline
