// What ParseTfExample takes, written again, reads as the same example, and writing that gives the same bytes.
#include <string>
#include <string_view>

#include "formats/tf_example.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  std::string text;
  AppendTextExample(text, "text", bytes);
  const auto parsed_text = ParseTfExample(text);
  Require(parsed_text.ok() && *parsed_text == TfExample{{"text", TfBytesList{bytes}}});
  Require(text.size() == TextExampleSize("text", bytes));

  const auto example = ParseTfExample(bytes);
  if (!example.ok()) {
    Require(example.status().code() == Code::kDataLoss);
    return 0;
  }
  std::string once;
  AppendTfExample(once, *example);
  const auto back = ParseTfExample(once);
  Require(back.ok() && back->size() == example->size());
  std::string twice;  // not back == example: a NaN equals nothing
  AppendTfExample(twice, *back);
  Require(once == twice);
  return 0;
}
