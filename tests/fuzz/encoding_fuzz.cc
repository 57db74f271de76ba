// Whatever the bytes: pieces do not matter to what they are decoded to and taken for, and what comes out is
// UTF-8 but for the byte that stands for what is illegal.
#include <algorithm>
#include <memory>
#include <string>

#include "formats/encoding_reader.h"
#include "formats/known_format.h"
#include "tests/fuzz/require.h"
#include "tests/support/memory_file.h"
#include "text/encoding_guess.h"
#include "text/utf8.h"

namespace {

using namespace pipeline;

struct Text {
  std::string utf8;
  Code code = Code::kOk;
  std::optional<EncodingChoice::Made> made;
};

Text Read(const std::string& bytes, const EncodingRules& rules, std::size_t chunk, std::size_t piece) {
  Text text;
  const auto choice = std::make_shared<EncodingChoice>();
  const auto reader = NewEncodingReader(std::make_unique<MemoryReader>(bytes, chunk), rules, 0, choice);
  std::string buffer(piece, '\0');
  while (true) {
    const Result<std::size_t> got = reader->Read(buffer);
    text.code = got.status().code();
    if (!got.ok() || *got == 0) break;
    text.utf8.append(buffer, 0, *got);
  }
  text.made = choice->made();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Text whole = Read(bytes, {}, size + 1, 1 << 16);
  const Text pieces = Read(bytes, {}, 7, 1 + size % 1000);
  Require(whole.code == Code::kOk || whole.code == Code::kInvalidArgument);
  Require(whole.code == pieces.code && whole.made.has_value() == pieces.made.has_value());
  if (whole.code == Code::kOk) Require(whole.utf8 == pieces.utf8);
  if (whole.made) {
    Require(whole.made->encoding == pieces.made->encoding && whole.made->offset == pieces.made->offset);
    Require(Read(bytes, {{}, whole.made->encoding}, 5, 1 << 16).utf8 == whole.utf8);
    if (whole.made->encoding == Encoding::kUtf8) Require(whole.utf8 == bytes);
  } else if (whole.code == Code::kOk) {
    Require(whole.utf8 == bytes);
  }
  for (const Encoding encoding : kEncodings) {
    if (encoding == Encoding::kUtf8) continue;
    const Text decoded = Read(bytes, {encoding, {}}, 3, 1 << 16);
    const bool wide = encoding == Encoding::kUtf16Le || encoding == Encoding::kUtf16Be;
    Require(decoded.code == Code::kOk || (wide && decoded.code == Code::kInvalidArgument));
    std::string legal = decoded.utf8, repaired;
    std::replace(legal.begin(), legal.end(), kIllegalSequence, ' ');
    Require(RepairUtf8(legal, repaired).invalid_utf8 == 0);
    Require(decoded.utf8 == Read(bytes, {encoding, {}}, size + 1, 13).utf8);
  }
  FittingNames(bytes);
  Require(CheckAscii(bytes).ok() || bytes.find_first_of("~+") != std::string::npos);
  RecogniseFormat(bytes);
  return 0;
}
