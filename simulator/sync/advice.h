// SPDX-License-Identifier: Apache-2.0
// What to write into a kernel, in the words of its source: Ascend C, or the tile language where the place is a line
// of Python.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_ADVICE_H
#define TILEWRIGHT_SIMULATOR_SYNC_ADVICE_H

#include "simulator/isa/instruction.h"

#include <string>

namespace tilewright::ascend {

class Advice {
public:
  /// `place` is where it is to be written, or near it.
  explicit Advice(const Place& place);

  /// PipeBarrier<PIPE_V>(), or T.pipe_barrier("v").
  std::string barrier(Pipe pipe) const;
  std::string barrierOfAll() const;
  /// SetFlag<HardEvent::MTE2_V>(0), or T.set_flag("mte2", "v", 0).
  std::string setFlag(Pipe from, Pipe to, const std::string& id) const;
  std::string waitFlag(Pipe from, Pipe to, const std::string& id) const;
  /// CrossCoreSetFlag<2, PIPE_FIX>(0), or T.set_cross_flag("fix", 0).
  std::string setCrossFlag(unsigned mode, Pipe pipe, const std::string& id) const;
  std::string waitCrossFlag(const std::string& id) const;

  /// Words that stand for the whole of such a kind of statement.
  const char* crossFlags() const {
    return isPython ? "T.set_cross_flag and T.wait_cross_flag"
                    : "CrossCoreSetFlag and CrossCoreWaitFlag";
  }
  const char* syncAll() const {
    return isPython ? "T.sync_all()" : "SyncAll";
  }
  /// What of `pass_configs` does it, to add to the advice.
  const char* switchWithinCores() const {
    return isPython ? "; or let the compiler do it, by tl.ascend_auto_sync in pass_configs" : "";
  }
  const char* switchBetweenCores() const {
    return isPython ? "; or, within a block, let the compiler do it, by tl.ascend_auto_cv_combine "
                      "and tl.ascend_auto_cross_core_sync in pass_configs"
                    : "";
  }
  /// Where the vendor's compiler orders two instructions by itself, to add to that.
  const char* relaxed() const {
    return isPython ? ": a kernel that relies on it runs here with --cce-auto-sync=on in "
                      "compile_flags, or with TILEWRIGHT_ASCEND=relaxed"
                    : ": a kernel that relies on it runs here with TILEWRIGHT_ASCEND=relaxed";
  }
  /// Of global memory that nothing has written.
  const char* fillBefore() const {
    return isPython
               ? "a tensor that the call makes (out_idx, T.empty, a workspace) is empty: write it "
                 "before it is read, or give one that is filled"
               : "aclrtMalloc leaves memory as it is: copy to it, or fill it with "
                 "aclrtMemset";
  }
  /// Of one statement with which several cores write the same bytes: no flag orders what all do at once.
  const char* oneStore(bool isCube) const {
    if (isPython)
      return isCube ? "store it in one block only (`if cid == 0:`), let each block store a part of "
                      "its own, by cid, put T.sync_all() between turns of a loop that store it"
                    : "store it on one core only (`if` the numbers of T.Kernel, such as bx or cid "
                      "and vid, are 0), let each core store a part of its own, by them, put "
                      "T.sync_all() between turns of a loop that store it";
    return "store it on one core only (`if (GetBlockIdx() == 0)`), let each core store a part of "
           "its own, put SyncAll between turns of a loop that store it";
  }
  /// Of a tile in UB.
  const char* fill() const {
    return isPython ? "T.copy, T.clear or T.fill" : "a copy or Duplicate";
  }
  /// How a product doesn't add to what its result holds.
  const char* beginsSum() const {
    return isPython ? "T.clear, or init=True of T.gemm_v0 and T.mma" : "cmatrixInitVal";
  }
  const char* atomicAdd() const {
    return isPython ? "T.tile.atomic_add" : "SetAtomicAdd";
  }

private:
  std::string event(const char* python, const char* ascendC, Pipe from, Pipe to,
                    const std::string& id) const;

  bool isPython;
};

} // namespace tilewright::ascend

#endif
