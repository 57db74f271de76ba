// What a server says of objects, and what files of credentials say: no input may do harm, and no message may
// hold what the input hid.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/gcs_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<GcsObject> object = ParseGcsObject(text); object.ok()) {
    if (object->name.empty() || object->generation.empty()) std::abort();
    if (object->generation.find_first_not_of("0123456789") != std::string::npos) std::abort();
  } else if (object.status().code() != Code::kUnavailable) {
    std::abort();
  }
  if (const Result<GcsPage> page = ParseGcsPage(text); page.ok())
    for (const GcsObject& object : page->objects)
      if (object.name.empty()) std::abort();
  const GcsError error = ParseGcsError(400, text);
  for (const char c : error.message)
    if (static_cast<unsigned char>(c) < ' ') std::abort();

  // Whatever file it is, this may stand in no message.
  constexpr std::string_view kHidden = "HIDDEN-SECRET";
  const Result<GcsCredentials> credentials = ParseGcsCredentials(text, "key.json");
  if (credentials.ok()) {
    if (const auto* external = std::get_if<ExternalAccount>(&credentials->kind);
        external != nullptr && !IsGoogleUrl(external->token_url))
      std::abort();
  } else if (credentials.status().message().find(kHidden) != std::string_view::npos) {
    std::abort();
  }
  return 0;
}
