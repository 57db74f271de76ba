#include "formats/stream_decoder.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kDecoderInputBytes = 64 << 10;
// Bytes that show whether a stream begins.
constexpr std::size_t kFrontBytes = 10;
// Other bytes behind the end that are counted for a message.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 20;

}  // namespace

StreamDecoder::StreamDecoder(std::string_view format, std::unique_ptr<ByteReader> input)
    : format_(format), input_(std::move(input)), buffer_(kDecoderInputBytes, '\0') {}

Result<std::size_t> StreamDecoder::Read(std::span<char> out) {
  std::span<char> left = out;
  while (!left.empty() && !ended_ && failure_.ok()) {
    if (((pending_.empty() && hungry_) || std::exchange(short_, false)) && !input_ended_) {
      std::copy(pending_.begin(), pending_.end(), buffer_.begin());
      Result<std::size_t> got = input_->Read(std::span(buffer_).subspan(pending_.size()));
      if (!got.ok()) {
        failure_ = std::move(got).status();
        break;
      }
      input_ended_ = *got == 0;
      pending_ = std::string_view(buffer_).substr(0, pending_.size() + *got);
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
                                                step.status().message(), "; ", remedy_));
    } else {
      failure_ = std::move(step).status().Annotate(StrCat(format_, " data at byte ", taken_));
    }
  }
  const std::size_t given = out.size() - left.size();
  if (given == 0 && !failure_.ok()) return failure_;
  given_ += given;
  return given;
}

Result<bool> StreamDecoder::MemberBegins(std::string_view& in, bool last,
                                         bool (*is_front)(std::string_view)) {
  if (members_ > 0) return PassPadding(in, last, is_front);
  if (in.empty() && last) return Status(Code::kDataLoss, "there is nothing");
  return !in.empty();
}

Result<bool> StreamDecoder::PassPadding(std::string_view& in, bool last, bool (*is_front)(std::string_view)) {
  const std::size_t zeros = std::min(in.find_first_not_of('\0'), in.size());
  padding_ += zeros;
  in.remove_prefix(zeros);
  if (in.empty()) return false;
  const bool begins = is_front(in);
  if (begins && padding_ == 0) return true;
  short_ = !begins && in.size() < kFrontBytes && !last;
  if (short_) return false;
  return Behind(in, begins);
}

// "3 bytes that are no gzip follow the end". `in` is not consumed: they begin at taken_. `begins`: a stream
// begins there, which xz alone may have behind zeros, and passes them itself.
Status StreamDecoder::Behind(std::string_view in, bool begins) {
  remedy_ = begins ? "cut out these zeros, or cut the file off in front of them"
                   : "cut it off there, or fetch the file again";
  std::uint64_t bytes = in.size();
  std::string more(kDecoderInputBytes, '\0');
  while (bytes <= kMostCounted) {
    const Result<std::size_t> got = input_->Read(more);
    if (!got.ok() || *got == 0) break;
    bytes += *got;
  }
  const bool one = bytes == 1;
  const std::string size =
      bytes > kMostCounted ? std::string("more than 1 MiB") : StrCat(bytes, one ? " byte" : " bytes");
  if (begins)
    return Status(Code::kDataLoss, StrCat("another ", format_, " begins behind the end and ", padding_,
                                          padding_ == 1 ? " byte" : " bytes", " of zeros, and has ", size));
  return Status(Code::kDataLoss,
                StrCat(size, one ? " that is no " : " that are no ", format_, one ? " follows" : " follow",
                       " the end", padding_ > 0 ? " and its padding" : ""));
}

}  // namespace pipeline
