// SPDX-License-Identifier: Apache-2.0
// The instructions are compiled for AVX2, FMA and F16C: say so before the first one traps.
#include <cstdio>
#include <cstdlib>

#ifdef __x86_64__
__attribute__((constructor)) static void checkProcessor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return;
  fputs("error: the Ascend host needs a processor with AVX2, FMA and F16C\n", stderr);
  exit(1);
}
#endif
