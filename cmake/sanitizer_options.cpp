// SPDX-License-Identifier: Apache-2.0
// Part of every program of ours when sanitizers are on: how they behave there.

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's name
extern "C" __attribute__((used, visibility("default"))) const char* __asan_default_options() {
  // Tests ask for more memory than there is, and expect an error of ours.
  return "allocator_may_return_null=1"
#ifdef TILEWRIGHT_USES_MLIR
         // LLVM's headers poison the free part of an allocator that sanitized code fills; LLVM's
         // library is not sanitized, and takes from the same allocator without unpoisoning.
         ":allow_user_poisoning=0"
#endif
      ;
}
