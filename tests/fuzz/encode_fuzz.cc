// A model and a text, with the number of the model's bytes in front: our encoder gives the ids of the
// library, and the ends of them.
#include <string>
#include <string_view>
#include <vector>

#include "formats/sentencepiece_model.h"
#include "tests/fuzz/require.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  using Engine = SentencePieceEncoder::Engine;
  if (size < 2) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view model = all.substr(0, data[0] + 256U * data[1]);
  std::string text;
  RepairUtf8(all.substr(model.size()), text);

  for (const SpaceMarks marks : {SpaceMarks::kAreSpaces, SpaceMarks::kBytes}) {
    const auto library = SentencePieceEncoder::Load(model, Engine::kLibrary, marks);
    const auto own = SentencePieceEncoder::Load(model, Engine::kOwn, marks);
    Require(library.ok() == own.ok());
    if (!library.ok()) return 0;
    SentencePieceEncoder::Scratch scratch;
    std::vector<std::uint32_t> ids, ends, own_ids, own_ends;
    Require((*library)->Encode(text, scratch, ids, ends).ok());
    Require((*own)->Encode(text, scratch, own_ids, own_ends).ok());
    Require(ids == own_ids && ends == own_ends);
  }
  return 0;
}
