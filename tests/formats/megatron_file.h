// The index of a Megatron data set as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/megatron_index.h"

namespace pipeline {

struct MegatronSequences {
  MegatronType type = MegatronType::kInt32;
  std::vector<std::uint32_t> lengths;
  bool operator==(const MegatronSequences&) const = default;
};

inline std::string MegatronIndexOf(const MegatronSequences& sequences) {
  MegatronIndexWriter writer(sequences.type);
  for (const std::uint32_t ids : sequences.lengths) writer.Add(ids);
  std::string bytes;
  const Status written = writer.Finish([&bytes](std::string_view part) {
    bytes += part;
    return Status();
  });
  return written.ok() ? bytes : std::string();
}

inline Result<MegatronSequences> MegatronSequencesIn(std::string_view bytes) {
  const HeldFile file(bytes);
  ASSIGN_OR_RETURN(MegatronIndexReader reader, MegatronIndexReader::Open(file, {}));
  MegatronSequences sequences = {reader.type(), {}};
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<std::uint32_t> ids, reader.Next());
    if (!ids) return sequences;
    sequences.lengths.push_back(*ids);
  }
}

}  // namespace pipeline
