// Strings of files that the stores and downloads leave on a disk or in a bucket for another process.
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/str.h"
#include "storage/bundle_file.h"
#include "storage/digest_cache.h"
#include "storage/local_names.h"
#include "storage/remote/gcs/gcs_object.h"
#include "storage/remote/gcs/upload_sessions.h"
#include "storage/remote/http/part_file.h"
#include "storage/remote/http/spool.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(OutsideStringsOfStorageTest, FilesOfOtherProcesses) {
  OutsideStrings strings;
  // A struct with a further member stops the build at the binding of its members; set the member then, and
  // bind it.
  const FileIdentity identity{"/<path>", 1, 2, 3, 4};
  [[maybe_unused]] const auto& [path, size, mtime, inode, ctime] = identity;
  CachedDigests digests;
  digests["/<path>"] = {identity, DigestOf("1")};
  strings.Add("cache of digests", FormatDigestCache(digests));
  digests["/<path>"].ranges = {DigestOf("2"), DigestOf("3")};
  strings.Add("cache of digests with ranges", FormatDigestCache(digests));

  const std::string temporary = NewTemporaryName("<object>");
  const auto parsed = ParseTemporaryName(temporary);
  ASSERT_TRUE(parsed);
  strings.Add("front of a temporary", temporary.substr(0, temporary.find(parsed->boot)));
  strings.Add("part file", KeptPartName("<object>"));

  strings.Add("bundle", "<bytes>" + EncodeBundleEnd(std::vector<BundledPart>{{"<object>", 0, 7}}));
  strings.Add("bundle's name", BundleName("<object>", 1));

  PartState state;
  state.identity = "<identity>";
  state.size = 3;
  state.bytes = 2;
  state.crc32c = 1;
  state.sent = "<checksum>";
  [[maybe_unused]] const auto& [state_identity, state_size, bytes, crc32c, sent] = state;
  strings.AddMembers("member of a journal", *Json::Parse(FormatPartState(state)));
  const DropNote note{"<identity>", 1, true};
  [[maybe_unused]] const auto& [note_identity, from, is_done] = note;
  const Json drop = *Json::Parse(FormatDropNote(note));
  strings.AddMembers("member of a note beside a part file", drop);
  strings.Add("version of that note", drop["version"].Dump());
  const TempDir dir;
  {
    const auto part = PartFile::Open(dir / "part", "<identity>", 10);
    ASSERT_TRUE(part.ok()) << part.status().message();
    ASSERT_TRUE((*part)->Append("text").ok());
    ASSERT_TRUE((*part)->Sync().ok());
    ASSERT_TRUE(WriteDropNote(dir / "part", note).ok());
  }
  UploadSessions sessions(dir / "sessions");
  const auto id = sessions.Begin(Secret("<uri>"), {"<target>", "<source>"});
  ASSERT_TRUE(id.ok()) << id.status().message();
  ASSERT_TRUE(sessions.Note(*id, {{1, 2}, {3, 4}}).ok());
  std::string line = ReadFile(dir / "sessions");
  const std::size_t started = line.find("<source> ") + 9;
  line.replace(started, line.find(' ', started) - started, "<started>");
  strings.Add("line of an upload session", line.substr(line.find(' ')));
  strings.Add("front of an upload session", line.substr(0, line.find(".tmp.") + 5));
  ASSERT_TRUE(sessions.Leave(*id).ok());
  const std::string left = ReadFile(dir / "sessions");
  strings.Add("front of a session that was left", left.substr(0, left.rfind('-', left.find(' ')) + 1));

  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    strings.Add("file", entry.path().filename().string());
  strings.Add("file", Spool::kSpoolName).Add("metadata of an object", kUploadMark);
  EXPECT_TRUE(ArePinned(strings, "storage"));
}

}  // namespace
}  // namespace pipeline
