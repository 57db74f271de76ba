/* CRC-32C (Castagnoli), as TFRecord uses it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Extends the CRC `so_far` by these bytes; begin with 0. */
uint32_t pipe_crc32c(uint32_t so_far, const unsigned char* bytes, size_t size);

/* The masked CRC of these bytes, as TFRecord stores it. */
uint32_t pipe_masked_crc32c(const unsigned char* bytes, size_t size);

/* The portable, table-driven version; tests compare the fast one with it. */
uint32_t pipe_masked_crc32c_portable(const unsigned char* bytes, size_t size);

#ifdef __cplusplus
}
#endif
