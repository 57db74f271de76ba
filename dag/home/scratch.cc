#include "dag/home/scratch.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/digest.h"
#include "base/result.h"
#include "base/str.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kName = "home";
constexpr std::uint64_t kMostNameBytes = 64 << 10;
constexpr std::size_t kDigestDigits = 8;

/// The home that the directory names. Empty: it names none.
Result<std::string> HomeOf(const WorkDir& scratch) {
  LocalStore store(scratch.path());
  Result<std::string> named = ReadObject(store, kName, kMostNameBytes);
  if (!named.ok() && named.status().code() == Code::kNotFound) return std::string();
  return named;
}

bool HasLog(const WorkDir& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory.log(), ignored);
}

}  // namespace

std::string ScratchFor(const std::string& location, const std::string& usual) {
  const Result<std::string> named = HomeOf(WorkDir(usual));
  if (!named.ok() || named->empty() || *named == location) return usual;
  return StrCat(usual, "-", DigestOf(location).ToHex().substr(0, kDigestDigits));
}

Status CheckScratch(const WorkDir& scratch, const std::string& location) {
  ASSIGN_OR_RETURN(const std::string named, HomeOf(scratch));
  if (named == location) return {};
  if (!named.empty())
    return Status(Code::kInvalidArgument,
                  StrCat(scratch.path(), ": is the scratch of ", named, "; give another --scratch"));
  if (!HasLog(scratch)) return {};
  return Status(Code::kInvalidArgument,
                StrCat(scratch.path(), ": is the work directory of runs without --work ", location,
                       ", which begin anew in a bucket; give another --scratch"));
}

Status ClaimScratch(const WorkDir& scratch, const std::string& location) {
  RETURN_IF_ERROR(CheckScratch(scratch, location));
  LocalStore store(scratch.path());
  return WriteObject(store, kName, location, Condition::ReplaceAny()).status();
}

Status CheckNoScratch(const WorkDir& directory) {
  const Result<std::string> named = HomeOf(directory);
  if (!named.ok() || named->empty()) return {};
  return Status(Code::kInvalidArgument,
                StrCat(directory.path(), ": is the scratch of the run in ", *named, "; call it with --work ",
                       *named, " --scratch ", directory.path(), ", or give another --work"));
}

}  // namespace pipeline
