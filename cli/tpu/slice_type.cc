#include "cli/tpu/slice_type.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

struct Generation {
  std::string_view name;
  std::string_view in_api;
  std::string_view image;
  bool queued;
  std::string_view sizes;  // the numbers of its names, each between two spaces
};

// Source: cloud.google.com/tpu/docs, the pages of the generations and of the images.
constexpr std::string_view kCores = " 8 32 128 256 512 1024 2048 ";
constexpr std::string_view kCubes = " 8 16 32 64 128 256 512 1024 2048 4096 ";
constexpr std::string_view kFlat = " 1 4 8 16 32 64 128 256 ";
constexpr std::array<Generation, 6> kGenerations = {{
    {"v2", "v2", "tpu-ubuntu2204-base", false, " 8 32 128 256 512 "},
    {"v3", "v3", "tpu-ubuntu2204-base", false, kCores},
    {"v4", "v4", "tpu-ubuntu2204-base", false, kCubes},
    {"v5e", "v5litepod", "v2-alpha-tpuv5-lite", true, kFlat},
    {"v5p", "v5p", "v2-alpha-tpuv5", true, kCubes},
    {"v6e", "v6e", "v2-alpha-tpuv6e", true, kFlat},
}};
constexpr int kMostSlices = 256;

Status NoSuchSlice(std::string_view name, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat("--type ", name, ": ", why));
}

}  // namespace

std::string SliceType::Describe() const { return slices == 1 ? name : StrCat(slices, "x", name); }

Result<SliceType> ParseSliceType(std::string_view name) {
  const auto unknown = [name] {
    return NoSuchSlice(name, "is no slice of v2, v3, v4, v5e, v5p, v6e, such as v3-8, v5e-4 or 2xv5e-16");
  };
  SliceType slice;
  std::string_view one = name;
  const std::size_t x = one.find('x');
  if (x != std::string_view::npos) {
    const std::optional<int> slices = ParseNumber<int>(one.substr(0, x));
    if (!slices || *slices < 2 || *slices > kMostSlices) return unknown();
    slice.slices = *slices;
    one.remove_prefix(x + 1);
  }
  const std::size_t dash = one.rfind('-');
  if (dash == std::string_view::npos) return unknown();
  const std::string_view family = one.substr(0, dash), number = one.substr(dash + 1);
  const auto found = std::find_if(
      kGenerations.begin(), kGenerations.end(),
      [family](const Generation& known) { return known.name == family || known.in_api == family; });
  if (found == kGenerations.end()) return unknown();
  if (number.empty() || found->sizes.find(StrCat(" ", number, " ")) == std::string_view::npos) {
    std::string all;
    for (std::size_t at = 1; at < found->sizes.size();) {
      const std::size_t end = found->sizes.find(' ', at);
      all += StrCat(all.empty() ? "" : ", ", found->name, "-", found->sizes.substr(at, end - at));
      at = end + 1;
    }
    return NoSuchSlice(name, StrCat("there is no such slice; there are ", all));
  }
  slice.name = StrCat(found->name, "-", number);
  slice.type = StrCat(found->in_api, "-", number);
  slice.image = found->image;
  slice.queued = found->queued || slice.slices > 1;
  return slice;
}

}  // namespace pipeline
