// Messages of the workers, in files of their engine, as far as this machine sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pipeline {

class WorkerMessages {
 public:
  /// Messages that are in `directory` now belong to earlier workers. If absent: there are none.
  explicit WorkerMessages(std::string directory);

  /// Returns the last error that each file has got since then, the same one once, at most `most`. If no
  /// worker told one, as where its program is missing: the last lines, but rather no warnings.
  std::vector<std::string> LastErrors(std::size_t most) const;

 private:
  std::map<std::string, std::uint64_t> Sizes() const;

  const std::string directory_;
  const std::map<std::string, std::uint64_t> before_;  // bytes, by name
};

}  // namespace pipeline
