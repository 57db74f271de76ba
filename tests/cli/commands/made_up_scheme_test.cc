// A scheme that only this test knows: its row is enough for stores, commands and sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/crc32c.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/terminal/args.h"
#include "cli/terminal/command_line.h"
#include "cli/workspace/source_files.h"
#include "stages/sources/source_stages.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "storage/remote/open_store.h"
#include "storage/remote/remote_schemes.h"
#include "tests/support/silent_progress.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// The objects of the only bucket, by name.
const std::map<std::string, std::string, std::less<>> kObjects = {
    {"b/a", "one\n"}, {"b/c/d", "two\n"}, {"b/e", "three\n"}, {"f", "four\n"}};
constexpr std::string_view kShelf = "shelf";

class MemoryRange final : public RangedFile {
 public:
  explicit MemoryRange(std::string_view bytes) : bytes_(std::make_shared<const std::string>(bytes)) {}
  std::uint64_t size() const override { return bytes_->size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token) const override {
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(bytes_->substr(begin, end - begin)));
  }

 private:
  class Reader final : public ByteReader {
   public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
    Result<std::size_t> Read(std::span<char> out) override {
      const std::size_t got = bytes_.copy(out.data(), out.size());
      bytes_.erase(0, got);
      return got;
    }

   private:
    std::string bytes_;
  };
  const std::shared_ptr<const std::string> bytes_;
};

/// The objects below a prefix, as they are now.
class ReadOnlyStore final : public Store {
 public:
  explicit ReadOnlyStore(const std::string& prefix) {
    for (const auto& [name, bytes] : kObjects) {
      if (!name.starts_with(prefix)) continue;
      EXPECT_TRUE(WriteObject(objects_, name.substr(prefix.size()), bytes, Condition::CreateOnly()).ok());
    }
  }
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return objects_.Open(name); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return objects_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return objects_.List(prefix); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view, Condition) override { return Refused(); }
  Status Remove(std::string_view) override { return Refused(); }
  Status Sweep(std::string_view) override { return Refused(); }

 private:
  static Status Refused() { return Status(Code::kInvalidArgument, "mem: nobody writes here"); }
  MemoryStore objects_;
};

class MemoryOpener final : public RemoteOpener {
 public:
  Result<std::unique_ptr<Store>> OpenStore(const Uri& location) override {
    return std::unique_ptr<Store>(
        std::make_unique<ReadOnlyStore>(location.path.empty() ? "" : StrCat(location.path, "/")));
  }
  Result<std::optional<RemoteObject>> FindObject(const Uri& location, std::stop_token) override {
    const auto found = kObjects.find(location.path);
    if (location.authority != kShelf || found == kObjects.end()) return std::optional<RemoteObject>();
    return std::optional(ObjectOf(found->first, found->second));
  }
  Status ListPages(const std::string& bucket, std::string_view prefix, bool by_level,
                   const std::function<Status(RemotePage)>& visit, std::stop_token) override {
    RemotePage page;
    for (const auto& [name, bytes] : kObjects) {
      if (bucket != kShelf || !name.starts_with(prefix)) continue;
      const std::size_t slash = by_level ? name.find('/', prefix.size()) : std::string::npos;
      if (slash == std::string::npos)
        page.objects.push_back(ObjectOf(name, bytes));
      else if (page.prefixes.empty() || page.prefixes.back() != name.substr(0, slash + 1))
        page.prefixes.push_back(name.substr(0, slash + 1));
    }
    return visit(std::move(page));
  }

 private:
  static RemoteObject ObjectOf(const std::string& name, const std::string& bytes) {
    const auto open = [bytes] {
      return RemoteFile{std::make_shared<MemoryRange>(bytes), "1", Crc32c(bytes), true};
    };
    return {name, bytes.size(), Crc32c(bytes), open};
  }
};

class MemoryCheckup final : public Checkup {
 public:
  explicit MemoryCheckup(CheckTeller tell) : tell_(std::move(tell)) {}
  void Check(const LocationUse& use) override {
    tell_(CheckLevel::kOk, StrCat(use.location.ToString(), use.writes ? ": written" : ": read"));
  }
  void Finish() override { tell_(CheckLevel::kOk, "mem: no credentials are needed"); }

 private:
  const CheckTeller tell_;
};

constinit const RemoteScheme kMemory{
    {.name = "mem", .form = Scheme::Form::kBucket, .lists = true},
    [](const StoreOptions&) -> std::unique_ptr<RemoteOpener> { return std::make_unique<MemoryOpener>(); },
    [](CheckTeller tell, std::stop_token) -> std::unique_ptr<Checkup> {
      return std::make_unique<MemoryCheckup>(std::move(tell));
    }};

class MadeUpSchemeTest : public testing::Test {
 protected:
  MadeUpSchemeTest() {
    std::vector<const RemoteScheme*> schemes = BuiltinSchemes();
    schemes.insert(schemes.begin() + 1, &kMemory);
    InstallSchemes(schemes);
  }
  ~MadeUpSchemeTest() override { InstallSchemes(); }

  /// Returns the output of `pipe` with these words.
  static std::string Output(std::vector<std::string> words, int exit_code) {
    words.insert(words.begin(), "pipe");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    const std::vector<Command> commands = Commands();
    const std::variant<Call, Reply> parsed =
        ParseArgs(commands, VersionText, static_cast<int>(argv.size()), argv.data());
    const Call* call = std::get_if<Call>(&parsed);
    if (call == nullptr) return std::get<Reply>(parsed).text;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunCall(*call), exit_code);
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  }
};

std::string BytesOf(const ByteFile& file) {
  std::string bytes(file.size(), '\0');
  const auto reader = file.Open(0, {});
  EXPECT_TRUE(reader.ok() && ReadExactly(**reader, bytes).ok());
  return bytes;
}

TEST_F(MadeUpSchemeTest, IsParsedShownAndNamedAmongTheOthers) {
  const Result<Uri> uri = Uri::Parse("mem://shelf/b/a/");
  ASSERT_TRUE(uri.ok()) << uri.status().message();
  EXPECT_EQ(uri->ToString(), "mem://shelf/b/a");
  EXPECT_TRUE(IsRemote("mem://shelf"));
  EXPECT_EQ(Uri::Parse("mem:///p").status().message(), "mem:///p: names no bucket; write mem://BUCKET/PATH");
  EXPECT_NE(Uri::Parse("s3://b/p").status().message().find("use a path, file, gs, mem, http or https"),
            std::string_view::npos);
  EXPECT_EQ(WithoutSecret("mem://shelf/a?b"), "mem://shelf/a?b");
}

TEST_F(MadeUpSchemeTest, HasAStoreAndAList) {
  const auto store = OpenStore("mem://shelf/b");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(ReadObject(**store, "c/d", 100).value(), "two\n");

  EXPECT_EQ(Output({"ls", "mem://shelf", "mem://shelf/b"}, 0),
            "mem://shelf/b/\nmem://shelf/f\nmem://shelf/b/a\nmem://shelf/b/c/\nmem://shelf/b/e\n");
  EXPECT_NE(Output({"ls", "-l", "mem://shelf/b/a"}, 0).find("\tmem://shelf/b/a\n"), std::string::npos);
  EXPECT_NE(Output({"ls", "mem://shelf/none"}, 2).find("there is no such object, and none below it"),
            std::string::npos);
}

TEST_F(MadeUpSchemeTest, IsCopiedFromAndRefusesToBeWrittenTo) {
  const TempDir dir;
  EXPECT_NE(Output({"cp", "-r", "mem://shelf/b", dir / "copy"}, 0).find("copied 3 objects"),
            std::string::npos);
  EXPECT_EQ(ReadFile(dir / "copy/c/d"), "two\n");
  EXPECT_NE(Output({"cp", "-r", dir / "copy", "mem://shelf/other"}, 2).find("mem: nobody writes here"),
            std::string::npos);
}

TEST_F(MadeUpSchemeTest, IsCheckedByDoctor) {
  EXPECT_EQ(Output({"doctor", "mem://shelf/b"}, 0),
            "ok       mem://shelf/b: read\nok       mem: no credentials are needed\n");
}

TEST_F(MadeUpSchemeTest, IsASource) {
  Json config;
  config["url"].Append("mem://shelf/b/?");
  const StageType download = DownloadType();
  Schema schema;
  ASSERT_TRUE(download.check(config, schema).ok());
  const Result<std::vector<LocalInput>> inputs = download.file_list()->local_inputs(config);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  ASSERT_TRUE(inputs->at(0).is_pattern);

  const TempDir dir;
  LocalStore work(dir / "work");
  DigestCache digests(work, "digests.txt");
  SilentProgress progress;
  SourceFiles sources(dir / "sources", digests, SourceFiles::Network::kMayAsk, progress);
  const Result<std::vector<LocalInput>> found = sources.Find(inputs->at(0), {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  std::string bytes;
  for (const LocalInput& input : *found) {
    const Result<SourceFile> source = sources.Look(input, {});
    ASSERT_TRUE(source.ok()) << source.status().message();
    const auto file = sources.Open(input.path, {});
    ASSERT_TRUE(file.ok()) << file.status().message();
    bytes += StrCat(input.path, " ", BytesOf(**file));
  }
  EXPECT_EQ(bytes, "mem://shelf/b/a one\nmem://shelf/b/e three\n");

  EXPECT_EQ(FindRemoteFiles("mem://shelf/x*", {}).status().message(),
            "mem://shelf/x*: no object has such a name; `pipe ls mem://shelf/x` shows which there are");
}

}  // namespace
}  // namespace pipeline
