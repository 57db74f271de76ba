// store_copy [OPTIONS] FROM TO SPOOL: every object of one store into another, create-only; those that are
// there already, with the same bytes, are left out. For tests that kill it, and with other people's clients.
//   --jobs N               objects at a time
//   --impatient            pauses of milliseconds, and a transfer has stalled after a second
//   --compose-above BYTES --part-bytes BYTES   as in GcsWriterOptions
//   --user-project NAME    pays for requests
//   --replace              what is there with other bytes
//   --pieces               every other object piece by piece, as stages write: by the spool
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/remote/http/retry.h"
#include "storage/remote/open_store.h"
#include "storage/remote/remote_schemes.h"
#include "storage/uri.h"

namespace pipeline {
namespace {

struct Options {
  std::vector<std::string> places;  // from, to, spool
  int jobs = 1;
  std::string user_project;
  HttpLimits limits;
  RetryMeans means;
  GcsWriterOptions writing;
  Condition condition = Condition::CreateOnly();
  bool pieces = false;
};

Result<std::shared_ptr<GcsClient>> NewGcsClient(const Options& options) {
  GcsSettings settings;
  settings.user_project = options.user_project;
  settings.means = options.means;
  ASSIGN_OR_RETURN(settings.endpoint, FindGcsEndpoint(ProcessEnvironment()));
  const std::shared_ptr<HttpClient> http = NewHttpClient(options.limits);
  const GcsTokenTools tools{http, http};
  ASSIGN_OR_RETURN(const GcsCredentials who,
                   FindGcsCredentials(ProcessEnvironment(), settings.endpoint, tools));
  return std::make_shared<GcsClient>(settings, http, std::make_shared<GcsAuth>(who, tools));
}

/// Two buckets by one client, so that the servers copy between them.
Result<std::unique_ptr<Store>> Open(const std::string& place, const Options& options,
                                    const std::shared_ptr<GcsClient>& client) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place));
  if (uri.scheme->form != Scheme::Form::kBucket) return OpenStore(place);
  return NewGcsStore(client, uri.authority, uri.path, options.writing);
}

Result<std::uint32_t> CrcOf(const ByteFile& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  std::string piece(1 << 20, '\0');
  for (std::uint32_t crc = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return crc;
    crc = Crc32c(std::string_view(piece).substr(0, got), crc);
  }
}

/// Of the place itself where it keeps one.
Result<std::uint32_t> CrcOf(Store& store, const ObjectInfo& object) {
  if (object.crc32c) return *object.crc32c;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store.Open(object.name));
  return CrcOf(*file);
}

Status AppendPieces(const ByteFile& file, ObjectWriter& writer) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  std::string piece(100'000, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return {};
    RETURN_IF_ERROR(writer.Append(std::string_view(piece).substr(0, got)));
  }
}

class Copies {
 public:
  Copies(Store& source, Store& target, const Options& options)
      : source_(source), target_(target), options_(options) {}

  Status Run() {
    RETURN_IF_ERROR(target_.Sweep(""));
    ASSIGN_OR_RETURN(objects_, source_.List(""));
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> there, target_.List(""));
    for (ObjectInfo& object : there) there_.emplace(object.name, std::move(object));
    std::vector<Status> failed(static_cast<std::size_t>(options_.jobs));
    {
      std::vector<std::jthread> threads;
      for (Status& status : failed) threads.emplace_back([this, &status] { status = Work(); });
    }
    for (const Status& status : failed) RETURN_IF_ERROR(status);
    std::printf("%zu objects, %d copied\n", objects_.size(), copied_.load());
    return {};
  }

 private:
  Status Work() {
    for (std::size_t at = next_++; at < objects_.size(); at = next_++) {
      // What was damaged on its way is told at the end, and read again.
      Retry retry(options_.means);
      for (Status failed = Copy(objects_[at]); !failed.ok(); failed = Copy(objects_[at]))
        if (Status given_up = retry.Again(std::move(failed), {}, {}); !given_up.ok()) {
          next_ = objects_.size();
          return given_up;
        }
    }
    return {};
  }

  Status Copy(const ObjectInfo& object) {
    const auto found = there_.find(object.name);
    if (found != there_.end() && found->second.size == object.size) {
      ASSIGN_OR_RETURN(const std::uint32_t is, CrcOf(target_, found->second));
      ASSIGN_OR_RETURN(const std::uint32_t wanted, CrcOf(source_, object));
      if (is == wanted) return {};
    }
    ASSIGN_OR_RETURN(const auto file, source_.Open(object.name));
    ASSIGN_OR_RETURN(const auto writer, target_.Create(object.name, options_.condition));
    const bool in_pieces = options_.pieces && Crc32c(object.name) % 2 == 0;
    RETURN_IF_ERROR(in_pieces ? AppendPieces(*file, *writer) : writer->AppendFile(*file, {}));
    RETURN_IF_ERROR(writer->Commit().status());
    ++copied_;
    return {};
  }

  Store& source_;
  Store& target_;
  const Options& options_;
  std::vector<ObjectInfo> objects_;
  std::map<std::string, ObjectInfo, std::less<>> there_;  // before
  std::atomic<std::size_t> next_ = 0;
  std::atomic<int> copied_ = 0;
};

Status Run(Options options) {
  options.writing.spool = options.places[2];
  std::shared_ptr<GcsClient> client;
  for (const std::string& place : options.places)
    if (client == nullptr && place.substr(0, 5) == "gs://") {
      ASSIGN_OR_RETURN(client, NewGcsClient(options));
    }
  ASSIGN_OR_RETURN(const auto source, Open(options.places[0], options, client));
  ASSIGN_OR_RETURN(const auto target, Open(options.places[1], options, client));
  return Copies(*source, *target, options).Run();
}

bool Parse(int argc, char** argv, Options& options) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (word.substr(0, 2) != "--") {
      options.places.push_back(word);
    } else if (word == "--impatient") {
      using std::chrono::milliseconds;
      options.means.policy = {milliseconds(2), milliseconds(40), 12, milliseconds(20'000)};
      options.limits = {milliseconds(5'000), milliseconds(1'000), 0};
    } else if (word == "--pieces") {
      options.pieces = true;
    } else if (word == "--replace") {
      options.condition = Condition::ReplaceAny();
    } else if (at + 1 == argc) {
      return false;
    } else if (const char* value = argv[++at]; word == "--jobs") {
      options.jobs = std::atoi(value);
    } else if (word == "--user-project") {
      options.user_project = value;
    } else if (word == "--compose-above") {
      options.writing.compose_above = std::strtoull(value, nullptr, 10);
    } else if (word == "--part-bytes") {
      options.writing.part_bytes = std::strtoull(value, nullptr, 10);
    } else {
      return false;
    }
  }
  return options.places.size() == 3 && options.jobs > 0;
}

}  // namespace
}  // namespace pipeline

int main(int argc, char** argv) {
  pipeline::InstallSchemes();
  pipeline::Options options;
  if (!pipeline::Parse(argc, argv, options)) {
    std::fputs("usage: store_copy [OPTIONS] FROM TO SPOOL\n", stderr);
    return 2;
  }
  const pipeline::Status copied = pipeline::Run(std::move(options));
  if (!copied.ok()) std::fprintf(stderr, "%s\n", std::string(copied.message()).c_str());
  return copied.ok() ? 0 : 1;
}
