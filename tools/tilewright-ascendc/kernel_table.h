// SPDX-License-Identifier: Apache-2.0
// The table by which a program knows its kernels: an object with rows of tilewright::ascend::Kernel.
// It is written without a compiler, whose start alone would take a tenth of the time of a build.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_KERNEL_TABLE_H
#define TILEWRIGHT_TOOLS_ASCENDC_KERNEL_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ascendc {

/// What a kernel's source says of its kind: KERNEL_TASK_TYPE_DEFAULT, or KERNEL_TASK_TYPE for one key.
struct KindMark {
  bool isKeyed;
  uint64_t key;
  uint64_t kind; ///< by the number that tilewright::ascend::KernelType has
  uint64_t line;
  std::string file;
  bool isOfCalled = false; ///< a function says it that the kernel calls
};

/// Such a mark has this in its symbol.
inline bool isMarkOfKind(std::string_view symbol) {
  return symbol.starts_with("_ZZ") && symbol.find("tilewrightKind") != std::string_view::npos;
}

/// Begins the names of sections whose functions have the kind that follows, where a macro made a kernel's head. GCC
/// doesn't do so with instances of templates: their kind is found by what they call.
constexpr const char* kindSection = ".text.tilewrightKind";

/// Symbols of the linker; empty: the kernel has no such core.
struct TableRow {
  std::string host, aic, aiv;
  std::string name;
  uint64_t kind;
  bool isKeyed = false;
  uint64_t key = 0;
};

/// The rows of one kernel, made of `row`: its default kind first (`inferred` if no mark says it), then those of tiling
/// keys. Adds to `error` if two marks contradict each other.
std::vector<TableRow> rowsOfKinds(const TableRow& row, std::vector<KindMark> marks,
                                  uint64_t inferred, std::string& error);

/// Writes the rows as an object for the machine of the object `like`; its symbols `<symbol>_first`
/// and `<symbol>_last` stand around them. Returns an error or nothing.
std::string writeTable(const std::string& path, const std::string& like, const std::string& symbol,
                       const std::vector<TableRow>& rows);

/// C++ that registers that table when a program starts; the host's pass has it.
std::string startText(const std::string& symbol, const std::string& runDefaults);

} // namespace tilewright::ascendc

#endif
