/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled CPU kernel exports, and how it is called; and what compiler and runtime know of a launch on
 * an NPU. C, so that ahead-of-time users can include it.
 *
 * A kernel library `NAME.so` exports
 *   const char tilewright_manifest[];                 JSON, see docs/kernel-abi.md
 *   void NAME_grid(const uint64_t *slots, int64_t grid[3]);
 *   void NAME_blocks(const uint64_t *slots, char *scratch, int64_t begin, int64_t end, TwLaunch
 * *launch); and, for its second launch, NAME_grid_1 and NAME_blocks_1, and so on: launches run one
 * after the other, each until all its blocks have ended. `slots` holds, in 8 bytes each: the
 * address of every tensor in the order of the parameters, then every scalar (its bits, in the low
 * bytes), then every symbol (int64). `scratch` holds the block's on-chip buffers: `scratch_bytes`
 * of the manifest, aligned to 64, one per thread. Blocks are numbered with x fastest. Where the
 * manifest says that a launch is "cooperative", each of its blocks is run by a thread of its own.
 *
 * TwLaunch grows at its end. A library uses no more of it than its manifest's "format" says: of format 1 the members up to
 * `sync_grid`, of format 2 also `told`. So a caller looks at "format" first, and calls no library of a format that its own
 * copy of this header, TW_KERNEL_FORMAT, doesn't have: that would read and write behind the caller's TwLaunch.
 */
#ifndef TILEWRIGHT_KERNEL_ABI_H
#define TILEWRIGHT_KERNEL_ABI_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The latest format of a manifest. */
#define TW_KERNEL_FORMAT 2

typedef struct TwLaunch {
  volatile int32_t stop; /* set from outside: the kernel calls `leave` at its next loop edge */
  int32_t
      device_error; /* set by a failed device_assert: 1 + number of the assertion in the manifest */
  void (*leave)(struct TwLaunch* launch); /* never returns */
  void (*print)(struct TwLaunch* launch, const char* text, int64_t bytes);
  int64_t grid[3];
  char* workspace; /* workspace_bytes of the manifest, shared by all blocks of all launches */
  void (*sync_grid)(struct TwLaunch* launch); /* returns when all blocks have called it */
  /* Since format 2. */
  int64_t told; /* by the assertion that failed, where its message has a place for a number */
} TwLaunch;

/* Cores that a launch on an Ascend NPU may ask for: the blocks of a launch that the vendor's runtime takes. */
#define TW_ASCEND_MOST_CORES 65535

typedef void (*TwGridFunction)(const uint64_t* slots, int64_t grid[3]);
typedef void (*TwBlocksFunction)(const uint64_t* slots, char* scratch, int64_t begin, int64_t end,
                                 TwLaunch* launch);

#ifdef __cplusplus
}
#endif
#endif
