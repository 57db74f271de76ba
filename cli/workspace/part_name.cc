#include "cli/workspace/part_name.h"

#include <algorithm>

#include "base/digest.h"
#include "base/result.h"
#include "base/str.h"
#include "storage/uri.h"

namespace pipeline {

std::string PartName(const LocalInput& input) {
  const std::string& checksum = input.checksum;
  if (!checksum.empty())
    return StrCat(DigestOf(checksum).ToHex().substr(0, 16), "-", checksum.substr(0, checksum.find(':')));
  std::string name = "file";
  if (const Result<Uri> uri = Uri::Parse(input.path); uri.ok() && !uri->LastPart().empty())
    name = uri->LastPart();
  std::replace(name.begin(), name.end(), '\0', '_');
  return StrCat(DigestOf(input.path).ToHex().substr(0, 16), "-", name.substr(0, 100));
}

}  // namespace pipeline
