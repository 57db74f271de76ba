#include "tests/support/fake_gcs_objects.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/base64.h"
#include "base/str.h"
#include "storage/percent.h"

namespace pipeline {

namespace {

std::optional<std::uint64_t> Number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

FakePreconditions FakePreconditions::From(const ServedRequest& request, std::string_view prefix) {
  const auto argument = [&](std::string_view name) { return Number(request.Argument(StrCat(prefix, name))); };
  return {argument("GenerationMatch"), argument("GenerationNotMatch"), argument("MetagenerationMatch"),
          argument("MetagenerationNotMatch")};
}

int FakePreconditions::Check(const FakeObject* object) const {
  const std::uint64_t generation = object ? object->generation : 0;
  const std::uint64_t metageneration = object ? object->metageneration : 0;
  if (generation_match && *generation_match != generation) return 412;
  if (metageneration_match && *metageneration_match != metageneration) return 412;
  if (generation_not_match && *generation_not_match == generation) return 304;
  if (metageneration_not_match && *metageneration_not_match == metageneration) return 304;
  return 200;
}

void FakeGcsObjects::SetBucket(const std::string& name, const FakeBucket& bucket) {
  const std::scoped_lock lock(mutex_);
  buckets_[name] = bucket;
}

std::optional<FakeBucket> FakeGcsObjects::Bucket(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = buckets_.find(name);
  return found == buckets_.end() ? std::nullopt : std::optional(found->second);
}

void FakeGcsObjects::LimitWrites(bool limit) {
  const std::scoped_lock lock(mutex_);
  limit_writes_ = limit;
}

int FakeGcsObjects::refused_writes() const {
  const std::scoped_lock lock(mutex_);
  return refused_writes_;
}

int FakeGcsObjects::overwritten() const {
  const std::scoped_lock lock(mutex_);
  int all = 0;
  for (const auto& [bucket, number] : overwritten_) all += number;
  return all;
}

std::map<std::string, FakeBooks> FakeGcsObjects::Books() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, FakeBooks> books;
  for (const auto& [name, bucket] : buckets_) books[name] = {};
  for (const auto& [key, object] : objects_) ++books[key.first].objects;
  for (const auto& [bucket, number] : overwritten_) books[bucket].overwritten = number;
  for (const auto& [key, number] : made_) {
    FakeBooks& book = books[key.first];
    book.made += number;
    book.most_made = std::max(book.most_made, number);
  }
  return books;
}

std::optional<FakeObject> FakeGcsObjects::Find(const std::string& bucket, const std::string& name,
                                               std::optional<std::uint64_t> generation) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find({bucket, name});
  if (found == objects_.end() || (generation && *generation != found->second.generation)) return std::nullopt;
  return found->second;
}

int FakeGcsObjects::Made(const std::string& bucket, const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = made_.find({bucket, name});
  return found == made_.end() ? 0 : found->second;
}

bool FakeGcsObjects::TooSoon(const Key& key) {
  if (!limit_writes_) return false;
  const std::chrono::nanoseconds now = clock_.Monotonic();
  const auto before = written_.find(key);
  if (before != written_.end() && now - before->second < std::chrono::seconds(1)) {
    ++refused_writes_;
    return true;
  }
  written_[key] = now;
  return false;
}

FakeOutcome FakeGcsObjects::Put(FakeObject object, const FakePreconditions& preconditions) {
  const std::scoped_lock lock(mutex_);
  const auto bucket = buckets_.find(object.bucket);
  if (bucket == buckets_.end()) return {404, {}};
  const Key key(object.bucket, object.name);
  const auto found = objects_.find(key);
  if (preconditions.Check(found == objects_.end() ? nullptr : &found->second) != 200) return {412, {}};
  // To replace an object takes the right to delete it.
  const auto deletes = [](const std::string& begin) { return StartsWith("storage.objects.delete", begin); };
  const std::vector<std::string>& denied = bucket->second.denied;
  if (found != objects_.end() && std::any_of(denied.begin(), denied.end(), deletes)) return {403, {}};
  if (TooSoon(key)) return {429, {}};
  if (found != objects_.end()) ++overwritten_[object.bucket];
  ++made_[key];
  object.generation = ++generation_;
  object.created_millis = clock_.UnixMillis();
  return {200, objects_.insert_or_assign(key, std::move(object)).first->second};
}

FakeOutcome FakeGcsObjects::Remove(const std::string& bucket, const std::string& name,
                                   std::optional<std::uint64_t> generation,
                                   const FakePreconditions& preconditions) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find({bucket, name});
  if (found == objects_.end() || (generation && *generation != found->second.generation)) return {404, {}};
  if (preconditions.Check(&found->second) != 200) return {412, {}};
  objects_.erase(found);
  return {204, {}};
}

FakePage FakeGcsObjects::List(const std::string& bucket, const FakeListing& listing) const {
  const std::scoped_lock lock(mutex_);
  FakePage page;
  std::string last;  // the last name or prefix of the page: where the next one goes on
  const auto token = PercentDecode(listing.token).value_or("");
  for (auto at = objects_.lower_bound({bucket, listing.prefix}); at != objects_.end(); ++at) {
    const auto& [in, name] = at->first;
    if (in != bucket || !StartsWith(name, listing.prefix)) break;
    if (name < listing.start || (!listing.end.empty() && name >= listing.end)) continue;
    const std::size_t cut =
        listing.delimiter.empty() ? std::string::npos : name.find(listing.delimiter, listing.prefix.size());
    const std::string entry =
        cut == std::string::npos ? name : name.substr(0, cut + listing.delimiter.size());
    if ((!token.empty() && entry <= token) || (entry == last && !page.prefixes.empty())) continue;
    if (page.objects.size() + page.prefixes.size() == listing.most) {
      page.next = PercentEncode(last);
      break;
    }
    if (cut == std::string::npos) {
      page.objects.push_back(at->second);
    } else {
      page.prefixes.push_back(entry);
    }
    last = entry;
  }
  return page;
}

std::string CrcText(std::uint32_t crc) {
  const char bytes[] = {static_cast<char>(crc >> 24), static_cast<char>(crc >> 16),
                        static_cast<char>(crc >> 8), static_cast<char>(crc)};
  return ToBase64(std::string_view(bytes, 4));
}

std::string FakeHashes(const FakeContent& content) {
  const std::string md5 = content.Md5();
  return StrCat("crc32c=", CrcText(content.crc32c()), md5.empty() ? "" : ",md5=", ToBase64(md5));
}

Json FakeResource(const FakeObject& object, std::string_view base) {
  Json resource = object.given;
  const std::string place = StrCat("/storage/v1/b/", object.bucket, "/o/", PercentEncode(object.name));
  const std::string generation = std::to_string(object.generation);
  resource["kind"] = "storage#object";
  resource["id"] = StrCat(object.bucket, "/", object.name, "/", generation);
  resource["selfLink"] = StrCat(base, place);
  resource["mediaLink"] = StrCat(base, "/download", place, "?generation=", generation, "&alt=media");
  resource["name"] = object.name;
  resource["bucket"] = object.bucket;
  resource["generation"] = generation;
  resource["metageneration"] = std::to_string(object.metageneration);
  resource["etag"] = StrCat("C", generation, "=");
  resource["storageClass"] = "STANDARD";
  resource["size"] = std::to_string(object.content->size());
  resource["crc32c"] = CrcText(object.content->crc32c());
  resource["timeCreated"] = Iso8601(object.created_millis);
  resource["updated"] = Iso8601(object.created_millis);
  const std::string md5 = object.content->Md5();
  resource.Remove("md5Hash");
  if (object.component_count != 0) {
    resource["componentCount"] = object.component_count;
  } else if (!md5.empty()) {
    resource["md5Hash"] = ToBase64(md5);
  }
  return resource;
}

namespace {

/// Adds the members of `more`; what both have is joined, "items/name,items/size" being two lists of one
/// thing.
void Merge(Json& into, const Json& more) {
  if (into.is_object() && more.is_object()) {
    for (const auto& [name, value] : more.AsObject()) Merge(into[name], value);
  } else if (into.is_array() && more.is_array() && into.AsArray().size() == more.AsArray().size()) {
    Json joined = Json(Json::Array{});
    for (std::size_t at = 0; at < more.AsArray().size(); ++at) {
      Json element = into.AsArray()[at];
      Merge(element, more.AsArray()[at]);
      joined.Append(std::move(element));
    }
    into = std::move(joined);
  } else {
    into = more;
  }
}

/// Reads one list of fields up to its end or its closing bracket.
Json Keep(const Json& resource, std::string_view& fields) {
  Json kept = Json(Json::Object{});
  while (!fields.empty() && fields.front() != ')') {
    const std::size_t end = std::min(fields.find_first_of(",()/"), fields.size());
    const std::string name(fields.substr(0, end));
    fields.remove_prefix(end);
    const Json& value = resource[name];
    Json part = value;
    if (!fields.empty() && (fields.front() == '(' || fields.front() == '/')) {
      const bool bracket = fields.front() == '(';
      fields.remove_prefix(1);
      std::string_view inner = bracket ? fields : fields.substr(0, fields.find(','));
      const std::string_view begin = inner;
      if (value.is_array()) {
        part = Json(Json::Array{});
        std::string_view rest = begin;
        for (const Json& element : value.AsArray()) part.Append(Keep(element, rest = begin));
        std::string_view past = begin;
        Keep({}, past);
        inner = past;
      } else {
        part = Keep(value, inner);
      }
      fields.remove_prefix(begin.size() - inner.size());
      if (bracket && !fields.empty()) fields.remove_prefix(1);
    }
    if (resource.Has(name)) Merge(kept[name], part);
    if (!fields.empty() && fields.front() == ',') fields.remove_prefix(1);
  }
  return kept;
}

}  // namespace

Json KeepFields(const Json& resource, std::string_view fields) {
  return fields.empty() || fields == "*" ? resource : Keep(resource, fields);
}

}  // namespace pipeline
