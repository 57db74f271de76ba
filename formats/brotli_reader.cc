#include <brotli/decode.h>

#include <utility>

#include "formats/stream_decoder.h"

namespace pipeline {

namespace {

class BrotliReader : public StreamDecoder {
 public:
  using State = std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)>;
  BrotliReader(std::unique_ptr<ByteReader> input, State state)
      : StreamDecoder("brotli", std::move(input)), state_(std::move(state)) {}

 private:
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (is_ended_) {
      if (!in.empty()) return Status(Code::kDataLoss, "other bytes follow the end of the stream");
      return last;
    }
    const std::size_t given = in.size(), room = out.size();
    const auto* next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
    std::size_t left_in = given, left_out = room;
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state_.get(), &left_in, &next_in, &left_out, &next_out, nullptr);
    in.remove_prefix(given - left_in);
    out = out.subspan(room - left_out);
    switch (result) {
      case BROTLI_DECODER_RESULT_SUCCESS: is_ended_ = true; return last && in.empty();
      case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: return false;
      case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        if (last && left_out == room) return Status(Code::kDataLoss, "ends inside the stream: truncated");
        return false;
      case BROTLI_DECODER_RESULT_ERROR: break;
    }
    return Status(Code::kDataLoss, "the data breaks the format");
  }

  const State state_;
  bool is_ended_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> NewBrotliReader(std::unique_ptr<ByteReader> input) {
  BrotliReader::State state(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr),
                            &BrotliDecoderDestroyInstance);
  if (!state) return Status(Code::kResourceExhausted, "no memory to decode it");
  return std::make_unique<BrotliReader>(std::move(input), std::move(state));
}

}  // namespace pipeline
