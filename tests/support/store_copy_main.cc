// store_copy FROM TO SPOOL: every object of one store into another, create-only. For tests with other
// people's clients.
#include <cstdio>

#include "remote/open_store.h"

namespace {

pipeline::Status Copy(const char* from, const char* to, const char* spool) {
  pipeline::StoreOptions options;
  options.spool = spool;
  pipeline::StoreOpener opener(options);
  ASSIGN_OR_RETURN(const auto source, opener.Open(from));
  ASSIGN_OR_RETURN(const auto target, opener.Open(to));
  ASSIGN_OR_RETURN(const auto objects, source->List(""));
  for (const pipeline::ObjectInfo& object : objects) {
    ASSIGN_OR_RETURN(const auto file, source->Open(object.name));
    ASSIGN_OR_RETURN(const auto writer, target->Create(object.name, pipeline::Condition::CreateOnly()));
    RETURN_IF_ERROR(writer->AppendFile(*file, {}));
    RETURN_IF_ERROR(writer->Commit().status());
  }
  std::printf("%zu objects\n", objects.size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: store_copy FROM TO SPOOL\n", stderr);
    return 2;
  }
  const pipeline::Status copied = Copy(argv[1], argv[2], argv[3]);
  if (!copied.ok()) std::fprintf(stderr, "%s\n", std::string(copied.message()).c_str());
  return copied.ok() ? 0 : 1;
}
