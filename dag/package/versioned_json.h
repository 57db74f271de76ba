// The objects of a work package that are JSON with a version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/in_parallel.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// The version of most of their forms.
inline constexpr std::uint32_t kPackageFormVersion = 1;

/// The end of their names.
inline constexpr std::string_view kJsonSuffix = ".json";

/// The longest time of a unit that one of them can tell, in milliseconds: a year.
inline constexpr std::int64_t kLongestUnit = std::int64_t{1000} * 60 * 60 * 24 * 365;

/// Requests at a time when many objects are read: each waits for a server.
inline constexpr std::size_t kPackageReaders = 16;

/// Parses an object whose member `member` is the version of its form: from 1 to `newest`.
/// kFailedPrecondition: a newer program wrote it. kDataLoss: it is damaged.
Result<Json> ParseVersioned(std::string_view text, std::string_view member,
                            std::uint32_t newest = kPackageFormVersion);

/// The same for a type that lists its fields. T::kForm: the member.
template <class T>
Result<T> ParseVersioned(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseVersioned(text, T::kForm));
  Status status;
  JsonFields fields(json, "", status);
  T value;
  ListFields(fields, value);
  RETURN_IF_ERROR(status);
  return value;
}

/// Returns the text of such an object in the version kPackageFormVersion.
template <class T>
std::string EncodeVersioned(const T& value) {
  JsonWriter writer;
  writer.Written(T::kForm, kPackageFormVersion);
  ListFields(writer, value);
  return writer.Finish().Dump();
}

/// Returns whether an object cannot be read because of its bytes: they are damaged, or too many.
bool IsDamaged(const Status& why);

/// What ReadEach read, object by object. Absent: it is gone, or was replaced. Not OK: it is damaged.
template <class T>
using ReadObjects = std::vector<std::optional<Result<T>>>;

/// Reads many objects of at most `most` bytes, several at a time. `parse` gets the text and the name of each,
/// on any thread. Fails if a server does not answer.
template <class T, class Parse>
Result<ReadObjects<T>> ReadEach(Store& package, const std::vector<ObjectInfo>& objects, std::uint64_t most,
                                const std::stop_token& stop, const Parse& parse) {
  ReadObjects<T> read(objects.size());
  RETURN_IF_ERROR(InParallel(objects.size(), kPackageReaders, [&](std::size_t at) -> Status {
    const Result<std::string> text = ReadObject(package, objects[at], most, stop);
    if (text.status().code() == Code::kNotFound) return {};
    if (!text.ok() && !IsDamaged(text.status())) return text.status();
    read[at] = text.ok() ? parse(*text, objects[at].name) : Result<T>(text.status());
    return {};
  }));
  return read;
}

}  // namespace pipeline
