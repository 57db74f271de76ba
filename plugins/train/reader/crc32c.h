/* CRC-32C (Castagnoli), as TFRecord uses it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of what `so_far` is the CRC of, followed by these bytes; 0 begins. */
uint32_t pipe_crc32c(uint32_t so_far, const unsigned char* bytes, size_t size);

/* Masked, as TFRecord stores it. */
uint32_t pipe_masked_crc32c(const unsigned char* bytes, size_t size);

/* The table-driven version, which any processor can run; the fast one is tested against it. */
uint32_t pipe_masked_crc32c_portable(const unsigned char* bytes, size_t size);

#ifdef __cplusplus
}
#endif
