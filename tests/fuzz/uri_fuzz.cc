// Whatever parses must come back equal from its text; names joined to it stay below it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "storage/uri.h"

namespace {

using Form = pipeline::Scheme::Form;
constexpr pipeline::Scheme kBucket{"gs", Form::kBucket}, kWeb{"https", Form::kWeb};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pipeline::Uri;
  if (pipeline::Schemes().size() == 1) pipeline::SetRemoteSchemes({&kBucket, &kWeb});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const pipeline::Result<Uri> uri = Uri::Parse(text);
  if (!uri.ok()) return 0;
  const std::string written = uri->ToString();
  const pipeline::Result<Uri> again = Uri::Parse(written);
  if (!again.ok() || !(*again == *uri)) std::abort();
  const std::string joined = uri->Join("x/y").ToString();
  if (joined.substr(0, written.size()) != written || uri->LastPart().size() > uri->path.size()) std::abort();
  return 0;
}
