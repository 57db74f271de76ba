#include "storage/remote/gcs/gcs_location.h"

#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "storage/percent.h"

namespace pipeline {

namespace {

constexpr int kObjectTurns = 20;  // attempts while others keep replacing the object

std::string Fields() { return StrCat("fields=", PercentEncode(kObjectFields)); }

/// False: there is an object of another generation.
Result<bool> Delete(const GcsLocation& location, const std::string& generation, const std::stop_token& stop) {
  // Without the generation, a repeated request could remove an object that another writer created in
  // between.
  GcsOperation operation(*location.client, location.Where(), stop);
  const std::string url =
      location.client->ObjectUrl(location.bucket, location.name, StrCat("ifGenerationMatch=", generation));
  ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send({.method = "DELETE", .url = url}));
  if (answer.status < 300 || (answer.status == 404 && !IsMissingBucket(answer.error))) return true;
  if (answer.status != 412) return operation.Failure(answer.error);
  return false;
}

}  // namespace

std::string GcsLocation::Where() const { return StrCat("gs://", bucket, "/", name); }

Result<std::optional<GcsObject>> StatGcsObject(const GcsLocation& location, std::stop_token stop) {
  GcsOperation operation(*location.client, location.Where(), std::move(stop));
  const std::string url = location.client->ObjectUrl(location.bucket, location.name, Fields());
  for (;;) {
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send({.url = url}));
    if (answer.status == 404 && !IsMissingBucket(answer.error)) return std::nullopt;
    if (answer.status >= 300) return operation.Failure(answer.error);
    Result<GcsObject> object = ParseGcsObject(answer.body);
    if (object.ok()) return std::optional(std::move(object).value());
    RETURN_IF_ERROR(operation.Again(std::move(object).status().Annotate(location.Where())));
  }
}

Status RemoveGcsObject(const GcsLocation& location, std::stop_token stop) {
  for (int turn = 0; turn < kObjectTurns; ++turn) {
    ASSIGN_OR_RETURN(const std::optional<GcsObject> object, StatGcsObject(location, stop));
    if (!object) return {};
    ASSIGN_OR_RETURN(const bool gone, Delete(location, object->generation, stop));
    if (gone) return {};
  }
  return Status(Code::kUnavailable, StrCat(location.Where(), ": others keep replacing it"));
}

Status RemoveGcsGeneration(const GcsLocation& location, const std::string& generation, std::stop_token stop) {
  return Delete(location, generation, stop).status();
}

Status ListGcsObjects(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                      std::string_view prefix, const std::function<Status(GcsObject)>& visit,
                      std::stop_token stop) {
  const auto each = [&](GcsPage page) -> Status {
    for (GcsObject& object : page.objects) RETURN_IF_ERROR(visit(std::move(object)));
    return {};
  };
  return ListGcsPages(client, bucket, prefix, false, each, std::move(stop));
}

Status ListGcsPages(const std::shared_ptr<GcsClient>& client, const std::string& bucket,
                    std::string_view prefix, bool by_level, const std::function<Status(GcsPage)>& visit,
                    std::stop_token stop) {
  GcsOperation operation(*client, StrCat("gs://", bucket, "/", prefix), std::move(stop));
  std::string next;
  do {
    const std::string url = client->ObjectUrl(
        bucket, "",
        StrCat("maxResults=1000&prefix=", PercentEncode(prefix), by_level ? "&delimiter=%2F" : "",
               next.empty() ? "" : "&pageToken=", PercentEncode(next),
               "&fields=", PercentEncode(StrCat("nextPageToken,prefixes,items(", kObjectFields, ")"))));
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send({.url = url}));
    if (answer.status >= 300) return operation.Failure(answer.error);
    Result<GcsPage> page = ParseGcsPage(answer.body);
    if (!page.ok()) {
      RETURN_IF_ERROR(operation.Again(std::move(page).status().Annotate(operation.where())));
      continue;
    }
    operation.Progress();
    next = std::move(page->next);  // an empty page need not be the last one
    RETURN_IF_ERROR(visit(std::move(page).value()));
    if (next.empty()) return {};
  } while (true);
}

Result<std::optional<GcsObject>> RewriteGcsObject(const GcsLocation& from, const GcsObject& source,
                                                  const GcsLocation& to, const std::string& generation,
                                                  const std::string& mark, std::stop_token stop) {
  GcsOperation operation(*to.client, to.Where(), std::move(stop));
  Json resource;
  resource["contentType"] = source.content_type;
  if (!source.content_encoding.empty()) resource["contentEncoding"] = source.content_encoding;
  resource["metadata"][kUploadMark] = mark;
  HttpRequest request = {.method = "POST",
                         .url = {},
                         .headers = {{"Content-Type", "application/json; charset=UTF-8"}},
                         .body = resource.Dump()};
  // The path names both objects; ObjectUrl makes its first half.
  const std::string query =
      StrCat("ifGenerationMatch=", generation, "&sourceGeneration=", source.generation,
             "&ifSourceGenerationMatch=", source.generation,
             "&fields=", PercentEncode(StrCat("done,rewriteToken,resource(", kObjectFields, ")")));
  std::string url = to.client->ObjectUrl(from.bucket, from.name, query);
  url.insert(url.find('?'), StrCat("/rewriteTo/b/", PercentEncode(to.bucket), "/o/", PercentEncode(to.name)));
  std::string token;
  for (int turn = 0;;) {
    request.url = token.empty() ? url : StrCat(url, "&rewriteToken=", PercentEncode(token));
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send(request));
    if (answer.status == 404)
      return Status(Code::kDataLoss,
                    StrCat(from.Where(), ": was replaced or removed while it was copied; copy it again"));
    if (answer.status == 412) return std::nullopt;
    // A refused token has ended, perhaps because the copy was made and the answer was lost. The copy begins
    // again; if it was made, its generation shows this.
    if (answer.status == 400 && !token.empty() && ++turn < kObjectTurns) {
      token.clear();
      continue;
    }
    if (answer.status >= 300) return operation.Failure(answer.error);
    const Result<Json> said = Json::Parse(answer.body);
    token = said.ok() ? (*said)["rewriteToken"].AsString() : "";
    if (said.ok() && (*said)["done"].AsBool()) {
      ASSIGN_OR_RETURN(GcsObject object, ReadGcsObject((*said)["resource"]));
      return object;
    }
    if (token.empty()) {
      RETURN_IF_ERROR(operation.Again(operation.Unavailable("the answer is not that of a rewrite")));
    } else {
      operation.Progress();
    }
  }
}

}  // namespace pipeline
