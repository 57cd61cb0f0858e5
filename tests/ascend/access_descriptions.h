// SPDX-License-Identifier: Apache-2.0
/// Instructions of all kinds, over several shapes, strides and lanes: one kernel of each kind of core, without flags.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace tilewright::ascend::testing {

/// Why a description may name more than is touched; every other one is exact.
enum class Excess {
  None,
  BlockStrides, ///< blocks of a repeat that lie apart count as one run
  LastBlock,    ///< so do repeats of them, with the gap between two
  UnknownCount, ///< all of the buffer, where the count is known at run time only
  Scratch, ///< the temporary memory that a function of Ascend C is given, of which it takes what it needs
  WholeTile,     ///< L0 is loaded from anywhere in the tile
  WholeBlocks,   ///< rows of UB are taken in whole blocks, of which the host counts what is moved
  Pairs,         ///< the second fractal of a pair is there for the load only
  CacheLine,     ///< a scalar store in global memory brings the whole line into the cache
  UnknownBefore, ///< all behind the target's first element, where rows begin within a block
};

class InstructionKernel {
public:
  struct Instruction {
    std::string text;
    Excess excess = Excess::None;
  };

  InstructionKernel(std::string name, unsigned seed) : name(std::move(name)), random(seed) {}

  int below(int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  }
  int from(int low, int high) {
    return low + below(high - low + 1);
  }
  /// A constant of the launch.
  std::string number(int value) {
    const std::string word = "%c" + std::to_string(value);
    constants[word] = "arith.constant " + std::to_string(value) + " : index";
    return word;
  }
  void buffer(const std::string& word, const std::string& shape, const std::string& space) {
    types[word] = "!tile.buffer<" + shape + ", " + space + ">";
    if (space != "global")
      allocs += "    %" + word + " = tile.alloc \"" + word + "\" : " + types[word] + "\n";
    else
      arguments += (arguments.empty() ? "%" : ", %") + word + ": " + types[word] +
                   " {tile.name = \"" + word + "\"}";
  }
  /// From an element of a buffer on.
  std::string at(const std::string& word, int first) {
    return "%" + word + "[" + number(first) + "] : " + types.at(word);
  }
  /// A part of a tensor of two dims.
  std::string part(const std::string& word, int row, int column, int rows, int columns) const {
    return "%" + word + "[" + std::to_string(row) + ", " + std::to_string(column) + "] [" +
           std::to_string(rows) + ", " + std::to_string(columns) + "] : " + types.at(word);
  }
  std::string count(int elements) {
    return " count(" + number(elements) + ")";
  }
  void add(const std::string& instruction, Excess excess = Excess::None) {
    instructions.push_back({instruction, excess});
  }
  std::string text() const {
    std::string all = "func.func @" + name + "(" + arguments +
                      ", %n: index {tile.name = \"n\"}) attributes {tile.kernel} {\n";
    for (const auto& [word, value] : constants)
      all += "  " + word + " = " + value + "\n";
    all +=
        "  %once = arith.constant 1 : index\n  %yes = arith.constant true\n  %no = arith.constant "
        "false\n  %one = arith.constant 1.0 : f32\n  %two = arith.constant 2.0 : f32\n  %half = "
        "arith.constant 0.5 : f16\n  %word = arith.constant 3 : i16\n  %whole = arith.constant 3 : "
        "i32\n  tile.launch (%cid) in (%once) npu {\n" +
        allocs;
    for (const Instruction& each : instructions)
      all += "    " + each.text + "\n";
    return all + "  }\n  return\n}\n";
  }

  const std::string name;
  std::vector<Instruction> instructions;

private:
  std::mt19937 random;
  std::map<std::string, std::string> constants, types;
  std::string allocs, arguments;
};

/// How a repeat walks through its operands, of which the target is the first.
struct Walk {
  std::string text;
  Excess excess = Excess::None;
};

/// `widths`: bytes of each operand's elements.
inline Walk randomWalk(InstructionKernel& kernel, const std::vector<int>& widths) {
  const int most = 256 / *std::max_element(widths.begin(), widths.end());
  const int lanes = kernel.from(1, most), times = kernel.from(1, 6);
  std::string blocks, strides;
  Walk walk;
  for (size_t i = 0; i < widths.size(); ++i) {
    const int taken = (lanes * widths[i] + 31) / 32;
    const int apart = i == 0 ? kernel.from(1, 2) : kernel.from(0, 2);
    const int span = (taken - 1) * apart + 1;
    const int stride = i == 0 ? kernel.from(span, span + 4) : kernel.from(0, span + 4);
    blocks += (i ? ", " : "") + std::to_string(apart);
    strides += (i ? ", " : "") + std::to_string(stride);
    if (apart > 1 && taken > 1)
      walk.excess = Excess::BlockStrides;
  }
  walk.text = " repeat <lanes = " + std::to_string(lanes) + ", times = " + std::to_string(times) +
              ", blocks = [" + blocks + "], strides = [" + strides + "]>";
  return walk;
}

/// From a block of a tile in UB on.
inline std::string someOf(InstructionKernel& k, const std::string& word) {
  const bool isWide = word.size() == 1 || word[0] == 'w';
  return k.at(word, (isWide ? 8 : 16) * k.below(16));
}
/// With a count, and with repeats.
inline void addShaped(InstructionKernel& k, const std::string& head,
                      const std::vector<int>& widths) {
  k.add(head + k.count(k.from(1, 400)));
  for (int i = 0; i < 2; ++i) {
    const Walk walk = randomWalk(k, widths);
    k.add(head + walk.text, walk.excess);
  }
}

/// Element by element.
inline void addElementwise(InstructionKernel& k) {
  const auto some = [&](const std::string& word) { return someOf(k, word); };
  const auto shaped = [&](const std::string& head, const std::vector<int>& widths) {
    addShaped(k, head, widths);
  };
  for (const char* kind : {"exp", "ln", "abs", "reciprocal", "sqrt", "rsqrt", "relu"})
    shaped("npu.unary " + std::string(kind) + " " + some("y") + ", " + some("x"), {4, 4});
  shaped("npu.unary not " + some("ix") + ", " + some("iy"), {2, 2});
  k.add("npu.unary exp " + some("y") + ", " + some("x") + " count(%n)", Excess::UnknownCount);
  for (const char* kind : {"add", "sub", "mul", "div", "max", "min", "mul_add_dst"}) {
    shaped("npu.binary " + std::string(kind) + " " + some("z") + ", " + some("x") + ", " +
               some("y"),
           {4, 4, 4});
    if (std::string(kind) == "add")
      shaped("npu.binary " + std::string(kind) + " " + some("hz") + ", " + some("hx") + ", " +
                 some("hy"),
             {2, 2, 2});
  }
  for (const char* kind : {"and", "or"})
    shaped("npu.binary " + std::string(kind) + " " + some("ix") + ", " + some("iy") + ", " +
               some("iy"),
           {2, 2, 2});
  for (const char* kind : {"add", "mul", "max", "min", "leaky_relu", "axpy"})
    shaped("npu.scalar " + std::string(kind) + " " + some("y") + ", " + some("x") + ", %two",
           {4, 4});
  for (const char* kind : {"shift_left", "shift_right"})
    shaped("npu.scalar " + std::string(kind) + " " + some("ix") + ", " + some("iy") + ", %word",
           {2, 2});
}

/// With masks, temporary memory, numbers in a row.
inline void addFunctions(InstructionKernel& k) {
  const auto some = [&](const std::string& word) { return someOf(k, word); };
  const auto shaped = [&](const std::string& head, const std::vector<int>& widths) {
    addShaped(k, head, widths);
  };
  for (const char* kind : {"sin", "cos", "tanh", "erf", "floor", "round"})
    k.add("npu.function " + std::string(kind) + " " + k.at("y", 64) + ", " + k.at("x", 0) +
              " scratch " + k.at("space", 0) + " of 8192" + k.count(k.from(1, 300)),
          Excess::Scratch);
  k.add("npu.function power " + k.at("z", 64) + ", " + k.at("x", 0) + ", " + k.at("y", 8) +
            " scratch " + k.at("space", 0) + " of 8192" + k.count(96),
        Excess::Scratch);
  k.add("npu.function xor " + k.at("ix", 64) + ", " + k.at("iy", 0) + ", " + k.at("iy", 512) +
            " scratch " + k.at("space", 0) + " of 8192" + k.count(96),
        Excess::Scratch);
  for (const int repeats : {1, 3}) {
    k.add("npu.compare lt " + k.at("mask", 32) + ", " + some("x") + ", " + some("y") +
          k.count(64 * repeats));
    k.add("npu.compare_scalar ge " + k.at("mask", 64) + ", " + some("x") + ", %two" +
          k.count(64 * repeats));
    k.add("npu.compare_scalar eq " + k.at("mask", 0) + ", " + some("hx") + ", %half" +
          k.count(128 * repeats));
    k.add("npu.select " + some("z") + ", " + k.at("mask", 32) + ", " + some("x") + ", " +
          some("y") + k.count(64 * repeats));
    k.add("npu.select_scalar " + some("y") + ", " + k.at("mask", 0) + ", " + some("x") + ", %two" +
          k.count(64 * repeats));
  }
  shaped("npu.cast " + some("y") + ", " + some("hx") + " none", {4, 2});
  shaped("npu.cast " + some("hy") + ", " + some("x") + " rint", {2, 4});
  shaped("npu.cast " + some("wx") + ", " + some("x") + " rint", {4, 4});
  shaped("npu.duplicate " + some("x") + ", %two", {4});
  shaped("npu.duplicate " + some("hx") + ", %half", {2});
  k.add("npu.sequence " + some("x") + ", %two step %one : f32" + k.count(k.from(1, 200)));
  k.add("npu.sequence " + some("x") + ", %two step %two : f32" + k.count(k.from(1, 200)));
}

/// Of rows and columns.
inline void addOfRows(InstructionKernel& k) {
  const auto some = [&](const std::string& word) { return someOf(k, word); };
  const auto size = [](int rows, int columns, int pitch, int dim) {
    return " of 24576 size " + std::to_string(rows) + " x " + std::to_string(columns) + " pitch " +
           std::to_string(pitch) + " dim " + std::to_string(dim);
  };
  for (const char* kind : {"sum", "max", "min"})
    for (const auto& [rows, columns, pitch] : {std::tuple(8, 40, 40),
                                               {5, 20, 64},
                                               {40, 80, 88},
                                               {1, 200, 200},
                                               {3, 64, 64},
                                               {2, 16, 16}})
      for (const int dim : {0, 1})
        for (const char* clear : {"", " clear"})
          if (kind[0] == 's' || rows == 40) // others alike
            k.add("npu.reduce " + std::string(kind) + " " + some("z") + ", " +
                      k.at("x", 8 * k.below(9)) + " scratch " + k.at("room", 0) +
                      size(rows, columns, pitch, dim) + clear,
                  Excess::Scratch);
  for (const auto& [rows, columns, pitch] :
       {std::tuple(8, 40, 40), {5, 20, 64}, {20, 80, 88}, {1, 200, 200}, {3, 7, 8}})
    for (const int dim : {0, 1})
      k.add("npu.broadcast " + k.at("z", 8 * k.below(9)) + ", " + some("x") + " scratch " +
                k.at("room", 0) + size(rows, columns, pitch, dim),
            Excess::Scratch);
  for (const auto& [rows, columns] : {std::pair(8, 40), {5, 24}, {20, 80}, {3, 200}})
    for (const char* kind : {"add", "sub", "mul", "div", "max", "min"})
      k.add("npu.row_binary " + std::string(kind) + " " + k.at("z", 8 * k.below(9)) + ", " +
                k.at("y", 8 * k.below(9)) + ", " + some("x") + " scratch " + k.at("room", 0) +
                " of 4096 size " + std::to_string(rows) + " x " + std::to_string(columns),
            Excess::Scratch);
  k.add("npu.transpose " + k.at("hx", 64) + ", " + k.at("hy", 16) + " size 16 x 32");
  k.add("npu.transpose " + k.at("hx", 0) + ", " + k.at("hy", 0) + " size 48 x 16");
  k.add("npu.transpose " + k.at("y", 0) + ", " + k.at("x", 0) + " size 16 x 32");
}

inline void addMoves(InstructionKernel& k) {
  k.add("npu.copy_ub " + k.at("x", 8) + " to " + k.at("y", 16) + " rows 5 of 64 pitch 96 to 64");
  k.add("npu.copy_ub " + k.at("x", 0) + " to " + k.at("y", 0) + " rows 3 of 32 pitch 32 to 128");
  k.add("npu.load_ub " + k.part("A", 3, 5, 8, 33) + " to " + k.at("x", 8) + " pitch 64");
  k.add("npu.load_ub " + k.part("A", 0, 0, 4, 64) + " to " + k.at("x", 0) +
        " pitch 64 pad(%two : f32)");
  k.add("npu.load_ub " + k.part("H", 7, 1, 3, 21) + " to " + k.at("hx", 16) +
        " pitch 48 pad(%half : f16)");
  k.add("npu.load_ub " + k.part("A", 2, 3, 4, 10) + " to " + k.at("x", 64) +
            " pitch 64 pad(%two : f32) before(" + k.number(3) + ")",
        Excess::UnknownBefore);
  k.add("npu.store_ub " + k.at("x", 8) + " pitch 64 to " + k.part("A", 3, 5, 8, 33),
        Excess::WholeBlocks);
  k.add("npu.store_ub " + k.at("hx", 16) + " pitch 32 to " + k.part("H", 0, 60, 9, 4),
        Excess::WholeBlocks);
  k.add("npu.store_ub " + k.at("x", 0) + " pitch 64 to " + k.part("A", 10, 0, 2, 64) +
        " atomic_add");
  k.add("%v0 = npu.get_value " + k.at("x", 21));
  k.add("npu.set_value %v0 to " + k.at("y", 35));
  k.add("%v1 = npu.get_value " + k.at("N", 21) + " on vector");
  k.add("npu.set_value %v1 to " + k.at("N", 7) + " on vector", Excess::CacheLine);
}

/// Instructions of the vector unit, and to and from UB.
inline InstructionKernel vectorInstructions() {
  InstructionKernel k("vector", 1);
  k.buffer("A", "64x64xf32", "global");
  k.buffer("H", "64x64xf16", "global");
  k.buffer("N", "64xsi32", "global");
  for (const char* word : {"x", "y", "z"})
    k.buffer(word, "64x64xf32", "UB");
  for (const char* word : {"hx", "hy", "hz"})
    k.buffer(word, "64x64xf16", "UB");
  for (const char* word : {"ix", "iy"})
    k.buffer(word, "64x64xsi16", "UB");
  k.buffer("wx", "64x16xsi32", "UB");
  k.buffer("mask", "1024xui8", "UB");
  k.buffer("room", "24576xui8", "UB");
  k.buffer("space", "8192xui8", "UB");
  addElementwise(k);
  addFunctions(k);
  addOfRows(k);
  addMoves(k);
  return k;
}

/// Instructions of the cube core.
inline InstructionKernel cubeInstructions() {
  InstructionKernel k("cube", 2);
  k.buffer("H", "64x64xf16", "global");
  k.buffer("F", "64x64xf32", "global");
  k.buffer("B", "64x64xsi8", "global");
  k.buffer("C", "64x64xf32", "global");
  k.buffer("D", "64x64xf16", "global");
  k.buffer("h", "64x64xf16", "L1");
  k.buffer("f", "64x64xf32", "L1");
  k.buffer("b", "64x64xsi8", "L1");
  for (const char* side : {"a", "b"}) {
    const std::string space = side[0] == 'a' ? "L0A" : "L0B";
    k.buffer("h" + std::string(side), "64x64xf16", space);
    k.buffer("f" + std::string(side), "64x64xf32", space);
    k.buffer("b" + std::string(side), "64x64xsi8", space);
  }
  k.buffer("c", "64x64xf32", "L0C");
  k.buffer("ic", "64x64xsi32", "L0C");
  k.add("npu.fill_l1 " + k.at("h", 0) + " bytes 8192");
  k.add("npu.fill_l1 " + k.at("f", 16) + " bytes 96");
  for (const auto& [tensor, tile, element] :
       {std::tuple("H", "h", 2), {"F", "f", 4}, {"B", "b", 1}}) {
    const int side = 32 / element;
    k.add("npu.load_l1 " + k.part(tensor, 0, 0, 64, 64) + " to " + k.at(tile, 0) + " rows 64");
    k.add("npu.load_l1 " + k.part(tensor, 3, 5, 20, 40) + " to " + k.at(tile, 16 * side) +
          " rows 32");
    k.add("npu.load_l1 " + k.part(tensor, 63, 0, 1, 17) + " to " + k.at(tile, 0) + " rows 16");
    for (const char* to : {"a", "b"})
      for (const char* transpose : {"", " transpose"})
        for (const auto& [row, column, height, width] :
             {std::tuple(0, 0, 64, 64), {32, 32, 32, 32}, {0, 32, 32, 32}, {32, 0, 32, 64}})
          k.add("npu.load_l0 " + k.at(tile, 0) + " at (" + k.number(row) + ", " + k.number(column) +
                    ") to " + k.at(std::string(tile) + to, 0) + " rows 64 size " +
                    std::to_string(height) + " x " + std::to_string(width) + transpose,
                Excess::WholeTile);
    const std::string result = element == 1 ? "ic" : "c";
    for (const auto& [m, n, k0] : {std::tuple(64, 64, 64), {20, 33, 40}, {1, 16, 8}, {17, 1, 64}})
      for (const char* init : {"%yes", "%no"})
        k.add("npu.mmad " + k.at(std::string(tile) + "a", 0) + ", " +
              k.at(std::string(tile) + "b", 0) + " into " +
              k.at(result, 256 * k.below(2) * (m < 64)) + " size " + std::to_string(m) + " x " +
              std::to_string(n) + " x " + std::to_string(k0) + " init(" + init + ")");
  }
  k.add("npu.mmad " + k.at("fa", 0) + ", " + k.at("fb", 0) + " into " + k.at("c", 0) +
            " size 32 x 16 x 24 init(%yes) pairs",
        Excess::Pairs);
  for (const char* to : {"C", "D"})
    for (const char* more : {"", " relu", " atomic_add"}) {
      k.add("npu.store_l0c " + k.at("c", 0) + " rows 64 to " + k.part(to, 0, 0, 64, 64) + more);
      k.add("npu.store_l0c " + k.at("c", 256) + " rows 32 to " + k.part(to, 3, 5, 20, 40) + more);
      k.add("npu.store_l0c " + k.at("c", 0) + " rows 16 to " + k.part(to, 63, 1, 1, 17) + more);
    }
  k.add("npu.store_l0c " + k.at("ic", 0) + " rows 64 to " + k.part("D", 3, 5, 20, 40) +
        " scale(%two)");
  for (const char* more : {"", " relu"}) {
    k.add("npu.move_l0c " + k.at("c", 0) + " rows 64 to " + k.at("h", 0) + " rows 64 size 64 x 64" +
          more);
    k.add("npu.move_l0c " + k.at("c", 256) + " rows 64 to " + k.at("h", 512) +
          " rows 32 size 20 x 48" + more);
    k.add("npu.move_l0c " + k.at("c", 16) + " rows 16 to " + k.at("h", 16) +
          " rows 16 size 1 x 16" + more);
  }
  k.add("npu.move_l0c " + k.at("ic", 0) + " rows 32 to " + k.at("h", 0) +
        " rows 64 size 32 x 32 scale(%two)");
  return k;
}

} // namespace tilewright::ascend::testing
