#include "storage/remote/gcs/gcs_object.h"

#include <memory>

#include "base/attendance.h"
#include "base/base64.h"
#include "base/str.h"
#include "base/utf8.h"
#include "storage/remote/http/http_text.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxShown = 300;
constexpr int kSameAnswers = 2;  // of a server that speaks another language

Status NotOne(std::string_view what) {
  return Status(Code::kUnavailable, StrCat("the answer is no ", what, " of Google Cloud Storage"))
      .With(std::make_shared<SameAnswer>(kSameAnswers));
}

std::optional<std::uint32_t> ParseCrc(std::string_view text) {
  const std::optional<std::string> bytes = FromBase64(text);
  if (!bytes || bytes->size() != 4) return std::nullopt;
  std::uint32_t crc = 0;
  for (const char byte : *bytes) crc = (crc << 8) | static_cast<unsigned char>(byte);
  return crc;
}

}  // namespace

Result<GcsObject> ReadGcsObject(const Json& resource) {
  GcsObject object;
  object.name = resource["name"].AsString();
  object.generation = resource["generation"].AsString();
  const std::optional<std::uint64_t> size = ParseLength(resource["size"].AsString());
  if (object.name.empty() || !size || !ParseLength(object.generation)) return NotOne("object");
  object.size = *size;
  object.crc32c = ParseCrc(resource["crc32c"].AsString());
  object.content_type = resource["contentType"].AsString();
  object.content_encoding = resource["contentEncoding"].AsString();
  object.upload = resource["metadata"][kUploadMark].AsString();
  return object;
}

Result<GcsObject> ParseGcsObject(std::string_view text) {
  const Result<Json> resource = Json::Parse(text);
  return resource.ok() ? ReadGcsObject(*resource) : Result<GcsObject>(NotOne("object"));
}

Result<GcsPage> ParseGcsPage(std::string_view text) {
  const Result<Json> answer = Json::Parse(text);
  if (!answer.ok() || !answer->is_object()) return NotOne("list");
  GcsPage page;
  page.next = (*answer)["nextPageToken"].AsString();
  for (const Json& item : (*answer)["items"].AsArray()) {
    ASSIGN_OR_RETURN(GcsObject object, ReadGcsObject(item));
    page.objects.push_back(std::move(object));
  }
  for (const Json& prefix : (*answer)["prefixes"].AsArray()) page.prefixes.emplace_back(prefix.AsString());
  return page;
}

GcsError ParseGcsError(int status, std::string_view body) {
  GcsError error;
  error.status = status;
  const Result<Json> parsed = Json::Parse(body);
  if (!parsed.ok()) return error;
  const Json& said = (*parsed)["error"];
  error.message = said["message"].AsString().substr(0, kMaxShown);
  for (char& c : error.message)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  if (const Json::Array& details = said["errors"].AsArray(); !details.empty())
    error.reason = details.front()["reason"].AsString().substr(0, kMaxShown);
  return error;
}

bool IsMissingBucket(const GcsError& error) {
  return error.message.find("bucket does not exist") != std::string::npos;
}

bool IsGcsGeneration(std::string_view version) {
  return !version.empty() && version != "0" &&
         version.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string FormatGcsCrc(std::uint32_t crc) {
  const char bytes[] = {static_cast<char>(crc >> 24), static_cast<char>(crc >> 16),
                        static_cast<char>(crc >> 8), static_cast<char>(crc)};
  return ToBase64(std::string_view(bytes, sizeof bytes));
}

Status CheckGcsName(std::string_view name) {
  RETURN_IF_ERROR(CheckObjectName(name));
  const bool line_end = name.find_first_of("\r\n") != std::string_view::npos;
  constexpr std::string_view kReserved = ".well-known/acme-challenge/";
  if (!line_end && IsUtf8(name) && name.substr(0, kReserved.size()) != kReserved) return {};
  return Status(Code::kInvalidArgument, StrCat("object name '", line_end ? "…" : name,
                                               "': Google Cloud Storage takes UTF-8 without line ends"));
}

}  // namespace pipeline
