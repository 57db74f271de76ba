// Answers of the API of TPUs, names of slices, and the records of a rented one: no input may do harm, no text
// for people has control characters, and a machine that nobody understands is not ready.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/tpu/slice_records.h"
#include "cli/tpu/slice_type.h"
#include "cli/tpu/tpu_requests.h"
#include "dag/package/versioned_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<SliceType> slice = ParseSliceType(text); slice.ok()) {
    const Result<SliceType> again = ParseSliceType(slice->Describe());
    if (!again.ok() || !(*again == *slice) || slice->image.empty()) std::abort();
  }
  if (const Result<SliceIntent> intent = ParseVersioned<SliceIntent>(text); intent.ok())
    if (!(ParseVersioned<SliceIntent>(EncodeVersioned(*intent))->order == intent->order)) std::abort();
  (void)ParseVersioned<SliceEnd>(text);
  const Result<Json> json = Json::Parse(text);
  if (!json.ok()) return 0;
  const std::optional<std::int64_t> now = 1'800'000'000;
  for (const SliceView& view : {ViewOfNode(*json, now), ViewOfQueued(*json, now, "corpus")}) {
    for (const char c : view.said)
      if (static_cast<unsigned char>(c) < ' ') std::abort();
    if (view.age && *view.age < 0) std::abort();
  }
  if (const SliceView node = ViewOfNode(*json, now);
      node.state == SliceState::kReady && node.addresses.empty())
    std::abort();
  const Status failure = FailureOf(ParseApiError(400, *json), "GET x");
  if (failure.ok()) std::abort();
  for (const char c : failure.message())
    if (static_cast<unsigned char>(c) < ' ') std::abort();
  return 0;
}
