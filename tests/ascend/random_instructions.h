// SPDX-License-Identifier: Apache-2.0
/// Random kernels of instructions, as text: loads, arithmetic, stores and scalar accesses in loops,
/// on one kind of core or on both, without any flag.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace tilewright::ascend::testing {

class RandomKernel {
public:
  RandomKernel(unsigned seed, bool hasCube, bool hasVector)
      : name((hasCube ? hasVector ? "both" : "cube" : "vector") + std::to_string(seed)),
        hasCube(hasCube), hasVector(hasVector), random(seed) {
    open("func.func @" + name + "(%A: " + tensor("f32") + " {tile.name = \"A\"}, %B: " +
         tensor("f32") + " {tile.name = \"B\"}, %H: " + tensor("f16") +
         " {tile.name = \"H\"}) attributes {tile.kernel} {");
    for (const int number : {0, 1, 2, 3, 4, 64, 256})
      line("%c" + std::to_string(number) + " = arith.constant " + std::to_string(number) +
           " : index");
    line("%one = arith.constant 1.0 : f32");
    line("%yes = arith.constant true");
    line("%no = arith.constant false");
    open("tile.launch (%cid) in (%c1) npu {");
    if (hasVector)
      beginVector();
    if (hasCube)
      beginCube();
    block(0, 2 + below(3));
    close();
    line("return");
    close();
  }
  const std::string name;
  std::string text;

private:
  int below(int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  }
  void line(const std::string& words) {
    text += std::string(2 * depth, ' ') + words + "\n";
  }
  void open(const std::string& words) {
    line(words);
    ++depth;
  }
  void close() {
    --depth;
    line("}");
  }

  static std::string tensor(const std::string& element) {
    return "!tile.buffer<64x16x" + element + ", global>";
  }
  static std::string ub() {
    return "!tile.buffer<2x16x16xf32, UB>";
  }

  // Buffers in UB are pairs of tiles of 1 KiB, so that loops can take turns.
  static constexpr int ubTiles = 3;
  void beginVector() {
    for (int i = 0; i < ubTiles; ++i) {
      const std::string name = "%x" + std::to_string(i);
      line(name + " = tile.alloc \"x" + std::to_string(i) + "\" : " + ub());
    }
    line("%half = tile.alloc \"half\" : !tile.buffer<16x16xf16, UB>");
    for (int i = 0; i < ubTiles; ++i)
      for (const char* at : {"%c0", "%c256"})
        line("npu.duplicate %x" + std::to_string(i) + "[" + at + "] : " + ub() +
             ", %one count(%c256)");
  }

  void beginCube() {
    line("%l1 = tile.alloc \"l1\" : !tile.buffer<16x16xf16, L1>");
    line("%l1b = tile.alloc \"l1b\" : !tile.buffer<16x16xf16, L1>");
    line("%l0a = tile.alloc \"l0a\" : !tile.buffer<16x16xf16, L0A>");
    line("%l0b = tile.alloc \"l0b\" : !tile.buffer<16x16xf16, L0B>");
    line("%l0c = tile.alloc \"l0c\" : !tile.buffer<16x16xf32, L0C>");
    line("npu.fill_l1 %l1[%c0] : !tile.buffer<16x16xf16, L1> bytes 512");
    line("npu.fill_l1 %l1b[%c0] : !tile.buffer<16x16xf16, L1> bytes 512");
    loadL0("%l1", true);
    loadL0("%l1b", false);
    multiply("%yes");
  }

  void block(int level, int count) {
    for (int i = 0; i < count; ++i) {
      if (level < 2 && below(3) == 0)
        loop(level);
      else if (hasCube && (!hasVector || below(2) == 0))
        cubeStatement(level);
      else
        vectorStatement(level);
    }
  }

  void loop(int level) {
    const std::string variable = "%i" + std::to_string(level) + "_" + std::to_string(numLoops++);
    const int trips = 2 + below(3);
    open("tile.for " + variable + " = %c0 to %c" + std::to_string(trips) + " step %c1 {");
    loops.push_back(variable);
    block(level + 1, 1 + below(3));
    loops.pop_back();
    close();
  }

  std::string fresh() {
    return "%v" + std::to_string(numValues++);
  }

  /// The first element of a tile in UB: one of the two, or in turns.
  std::string ubOffset() {
    const int kind = below(loops.empty() ? 2 : 4);
    if (kind < 2)
      return kind == 0 ? "%c0" : "%c256";
    const std::string phase = fresh(), offset = fresh();
    line(phase + " = arith.remsi " + loops.back() + ", %c2 : index");
    line(offset + " = arith.muli " + phase + ", %c256 : index");
    return offset;
  }
  std::string ubTile() {
    const std::string offset = ubOffset();
    return "%x" + std::to_string(below(ubTiles)) + "[" + offset + "] : " + ub();
  }

  /// 16 rows of a tensor: some fixed ones, or those of an iteration.
  std::string rows() {
    if (loops.empty() || below(2) == 0)
      return std::to_string(16 * below(2));
    const std::string row = fresh(), c16 = fresh();
    line(c16 + " = arith.constant 16 : index");
    line(row + " = arith.muli " + loops.back() + ", " + c16 + " : index");
    return row;
  }
  /// Rows are 0 to 63, and loops have up to four iterations.
  std::string region(const std::string& name, const std::string& element) {
    return "%" + name + "[" + rows() + ", 0] [16, 16] : " + tensor(element);
  }

  void vectorStatement(int) {
    switch (below(hasCube ? 7 : 6)) {
    case 0: {
      const std::string source = region("A", "f32");
      return line("npu.load_ub " + source + " to " + ubTile() + " pitch 16");
    }
    case 1: {
      const std::string target = region("B", "f32");
      return line("npu.store_ub " + ubTile() + " pitch 16 to " + target);
    }
    case 2:
    case 3: {
      const std::string a = ubTile(), b = ubTile(), c = ubTile();
      return line("npu.binary max " + a + ", " + b + ", " + c + " count(%c256)");
    }
    case 4: {
      const std::string a = ubTile(), b = ubTile();
      return line("npu.unary abs " + a + ", " + b + " count(%c64)");
    }
    case 5: {
      const std::string value = fresh(), from = ubTile(), to = ubTile();
      line(value + " = npu.get_value " + from);
      return line("npu.set_value " + value + " to " + to);
    }
    default: {
      // To the cube core.
      line("npu.cast %half[%c0] : !tile.buffer<16x16xf16, UB>, " + ubTile() + " rint count(%c256)");
      const std::string target = region("H", "f16");
      return line("npu.store_ub %half[%c0] : !tile.buffer<16x16xf16, UB> pitch 16 to " + target);
    }
    }
  }

  void loadL0(const std::string& l1, bool isA) {
    line("npu.load_l0 " + l1 + "[%c0] : !tile.buffer<16x16xf16, L1> at (%c0, %c0) to " +
         (isA ? "%l0a[%c0] : !tile.buffer<16x16xf16, L0A>"
              : "%l0b[%c0] : !tile.buffer<16x16xf16, L0B>") +
         " rows 16 size 16 x 16");
  }
  void multiply(const std::string& init) {
    line("npu.mmad %l0a[%c0] : !tile.buffer<16x16xf16, L0A>, %l0b[%c0] : "
         "!tile.buffer<16x16xf16, L0B> into %l0c[%c0] : !tile.buffer<16x16xf32, L0C> size 16 x 16 "
         "x 16 init(" +
         init + ")");
  }

  void cubeStatement(int) {
    const std::string l1 = below(2) ? "%l1" : "%l1b";
    switch (below(5)) {
    case 0: {
      const std::string source = region("H", "f16");
      return line("npu.load_l1 " + source + " to " + l1 +
                  "[%c0] : !tile.buffer<16x16xf16, L1> rows 16");
    }
    case 1:
      return loadL0(l1, below(2) == 0);
    case 2:
      return multiply(below(2) ? "%yes" : "%no");
    case 3:
      return line("npu.move_l0c %l0c[%c0] : !tile.buffer<16x16xf32, L0C> rows 16 to " + l1 +
                  "[%c0] : !tile.buffer<16x16xf16, L1> rows 16 size 16 x 16");
    default: {
      // Where both kinds of core are, the vector cores read it.
      const std::string target = region(hasVector ? "A" : "B", "f32");
      return line("npu.store_l0c %l0c[%c0] : !tile.buffer<16x16xf32, L0C> rows 16 to " + target);
    }
    }
  }

  bool hasCube, hasVector;
  std::mt19937 random;
  unsigned depth = 0;
  int numLoops = 0, numValues = 0;
  std::vector<std::string> loops;
};

} // namespace tilewright::ascend::testing
