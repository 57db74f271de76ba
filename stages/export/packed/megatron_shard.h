// Checks a shard in the form of a Megatron data set: formats/megatron_index.md.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "stages/export/packed/packed_info.h"
#include "stages/verify/findings.h"

namespace pipeline {

/// The two files of a shard; they outlive it.
struct MegatronShard {
  const ByteFile& ids;
  const ByteFile& index;
  std::string_view index_name;
  std::uint64_t sequences = 0;  // as the manifest says
  std::stop_token stop;
};

/// Checks that the index is that of rows. Holds a part of it. kCancelled: stopped.
Status CheckMegatronRows(const MegatronShard& shard, const PackedInfo& info, Findings& findings);

/// Checks the index, each document as it divides them, and the number of their ids. Holds a part of the index
/// and of a document. Adds the documents that it read to `read`. `said` null: nothing is said of the totals.
/// Fails where the ids cannot be read.
Status CheckMegatronDocuments(const MegatronShard& shard, const PackedInfo& info, const PackedTotals* said,
                              Findings& findings, std::uint64_t& read);

}  // namespace pipeline
