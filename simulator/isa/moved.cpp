// SPDX-License-Identifier: Apache-2.0
// Where bytes that nothing has written are behind an instruction that takes them along: rare, and apart from what
// instructions do to values.
#include "simulator/isa/cube.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

/// A byte for each of the core's memories, with a mark where nothing has written. Zeros between instructions.
struct Marks {
  std::vector<uint8_t> of[numSpaces];
  std::vector<LocalBytes> touched;
  std::vector<MovedFrom> named; ///< what a mark says: its number, from 1 on

  uint8_t markOf(const MovedFrom& from) {
    constexpr size_t most = 255;
    auto at = std::find(named.begin(), named.end(), from);
    if (at == named.end() && named.size() == most)
      --at; // one of them is told
    else if (at == named.end())
      at = named.insert(at, from);
    return static_cast<uint8_t>(at - named.begin() + 1);
  }
  const MovedFrom& fromOf(uint8_t mark) const {
    return named[mark - 1u];
  }
  uint8_t* at(Space space) {
    std::vector<uint8_t>& memory = of[static_cast<unsigned>(space)];
    memory.resize(spaceBytes[static_cast<unsigned>(space)]);
    return memory.data();
  }
  void set(const LocalBytes& bytes) {
    std::memset(at(bytes.space) + bytes.begin, markOf(bytes.from), bytes.end - bytes.begin);
    touched.push_back(bytes);
  }
  void clear() {
    for (const LocalBytes& bytes : touched)
      std::memset(at(bytes.space) + bytes.begin, 0, bytes.end - bytes.begin);
    touched.clear();
    named.clear();
  }
};
Marks& marks() {
  static thread_local Marks all;
  return all;
}

void append(std::vector<LocalBytes>& list, LocalBytes bytes) {
  if (!list.empty() && list.back().end == bytes.begin && list.back().from == bytes.from)
    list.back().end = bytes.end;
  else
    list.push_back(bytes);
}

/// Marks go through the instruction as its elements do.
template <class Instr>
std::vector<LocalBytes> marksBehind(const Instr& instr, const AccessList& accesses, Marks& all) {
  Context context;
  for (unsigned s = 0; s < numSpaces; ++s)
    if (static_cast<Space>(s) != Space::GM)
      context.base[s] = all.at(static_cast<Space>(s));
  run(instr, context);
  std::vector<LocalBytes> found;
  std::vector<Interval> written;
  for (unsigned k = 0; k < accesses.count; ++k) {
    const Access& access = accesses.items[k];
    if (access.kind != AccessKind::Write)
      continue;
    written.clear();
    access.region.intervals(written);
    const uint8_t* memory = all.at(access.space);
    for (const Interval& bytes : written) {
      all.touched.push_back({access.space, bytes.begin, bytes.end});
      for (uint64_t at = bytes.begin; at < bytes.end; ++at)
        if (memory[at])
          append(found, {access.space, at, at + 1, all.fromOf(memory[at])});
    }
  }
  return found;
}

/// One of the factors of a Mmad: its lines are the rows of A or the columns of B, and run along k.
struct Factor {
  const uint8_t* marks;
  const uint8_t* values;
  uint64_t lineStride, fractalLines,
      fractalDepth; ///< in bytes: between lines, 16 of them, and 32 bytes of depth
  uint32_t depth;   ///< bytes along k

  uint64_t place(uint32_t line, uint32_t byte) const {
    return line / fractalSide * fractalLines + line % fractalSide * lineStride +
           byte / rowBytes * fractalDepth + byte % rowBytes;
  }
  bool isLineMarked(uint32_t line) const {
    for (uint32_t byte = 0; byte < depth; byte += rowBytes) {
      const uint8_t* row = marks + place(line, byte);
      if (std::any_of(row, row + std::min(rowBytes, depth - byte), [](uint8_t m) { return m; }))
        return true;
    }
    return false;
  }
};

/// Integers that nothing has written are no harm where the other factor is zero; floats may be infinite.
bool meetsNonzero(const Factor& marked, uint32_t line, const Factor& other, uint32_t otherLine) {
  for (uint32_t byte = 0; byte < marked.depth; ++byte) {
    const uint64_t there = other.place(otherLine, byte);
    if (marked.marks[marked.place(line, byte)] && (other.marks[there] || other.values[there]))
      return true;
  }
  return false;
}

/// The elements of the result that come of what nothing has written in A, B and L0C. Those behind m and n count only
/// where they go on to L1: whole fractals are multiplied, and a store of a tensor may have room for them.
std::vector<LocalBytes> unwrittenResults(const CubeInstr& i, const Context& context, Marks& all) {
  const MmadShape s = mmadShape(i);
  const uint32_t perRow = rowElements(i.a.type);
  const uint32_t depth = ceilDiv(i.k * rowBytes, perRow);
  const Factor a = {all.at(Space::L0A) + i.a.address,
                    context.at(i.a),
                    rowBytes,
                    uint64_t{s.k1} * fractalBytes,
                    i.vectorA ? rowBytes : fractalBytes,
                    depth};
  const Factor b = {all.at(Space::L0B) + i.b.address,
                    context.at(i.b),
                    rowBytes,
                    fractalBytes,
                    uint64_t{s.n1} * fractalBytes,
                    i.sparse ? depth / 2 : depth};
  const bool isFloat = i.dst.type == DType::F32;
  const uint32_t allRows = s.m1 * fractalSide;
  std::vector<uint8_t> rows(allRows), columns(s.n1 * fractalSide);
  const uint32_t rowsOfA = i.sparse ? 0 : i.vectorA ? 1 : allRows; // a sparse B leaves out elements
  for (uint32_t m = 0; m < rowsOfA; ++m)
    rows[m] = a.isLineMarked(m);
  for (uint32_t n = 0; n < columns.size(); ++n)
    columns[n] = b.isLineMarked(n);
  const bool accumulates = !i.initialise && !i.fromBias && !i.hasBias;
  const uint8_t* before = all.at(Space::L0C);
  auto sourceOf = [&](uint32_t m, uint32_t n, uint64_t at) {
    const bool areAllSure = !isFloat && !i.sparse;
    if (rows[m] && (!areAllSure || meetsNonzero(a, m, b, n)))
      return Space::L0A;
    if (columns[n] && (!areAllSure || meetsNonzero(b, n, a, m)))
      return Space::L0B;
    return accumulates && before[at] ? all.fromOf(before[at]).space : Space::GM;
  };
  std::vector<LocalBytes> found;
  for (uint32_t n = 0; n < columns.size(); n += fractalSide)
    for (uint32_t m = 0; m < allRows; ++m)
      for (uint32_t column = n; column < n + fractalSide; ++column) {
        const uint64_t at =
            i.dst.address +
            ((uint64_t{n} / fractalSide * allRows + m) * fractalSide + column - n) * sizeof(float);
        if (Space from = sourceOf(m, column, at); from != Space::GM)
          append(found, {Space::L0C,
                         at,
                         at + sizeof(float),
                         {.space = from, .isOutside = m >= i.m || column >= i.n}});
      }
  return found;
}

/// The matrices in L0C that Fixpipe takes, by their marks.
struct Source {
  const CubeInstr& i;
  const uint8_t* marks;

  uint64_t place(uint32_t nd, uint32_t m, uint32_t n) const {
    return i.a.address + ((uint64_t{nd} * i.srcNdStride * fractalSide +
                           uint64_t{n / fractalSide} * i.fixSrcStride + m) *
                              fractalSide +
                          n % fractalSide) *
                             sizeof(float);
  }
  uint32_t matrices() const {
    return i.rowMajor ? std::max(i.ndNum, 1u) : 1;
  }
  /// Calls `take(nd, m, n, place)` for each element, in the order of L0C, until it is false.
  template <class Take> void forEach(uint32_t rows, uint32_t columns, Take take) const {
    for (uint32_t nd = 0; nd < matrices(); ++nd)
      for (uint32_t n1 = 0; n1 < columns; n1 += fractalSide)
        for (uint32_t m = 0; m < rows; ++m)
          for (uint32_t n = n1; n < std::min(columns, n1 + fractalSide); ++n)
            if (!take(nd, m, n, place(nd, m, n)))
              return;
  }
};

/// Whole rows or columns at the end of the last fractals of an NZ matrix are padding: it has no room for fewer.
uint32_t withoutPadding(uint32_t lines, uint32_t others, auto isMarked) {
  const uint32_t leastLines = (lines - 1) / fractalSide * fractalSide + 1;
  auto isWhole = [&](uint32_t line) {
    for (uint32_t other = 0; other < others; ++other)
      if (!isMarked(line, other))
        return false;
    return true;
  };
  while (lines > leastLines && isWhole(lines - 1))
    --lines;
  return lines;
}

/// The first of the m x n elements that Fixpipe stores although they come of what nothing has written. A row-major
/// tensor has no padding: also what lies behind the m and n of Mmad counts.
std::vector<LocalBytes> unwrittenStored(const CubeInstr& i, Marks& all) {
  const Source source = {i, all.at(Space::L0C)};
  uint32_t rows = i.m, columns = i.n;
  if (!i.rowMajor) {
    auto isMarked = [&](uint32_t m, uint32_t n) {
      return source.marks[source.place(0, m, n)] != 0;
    };
    columns = withoutPadding(i.n, i.m, [&](uint32_t n, uint32_t m) { return isMarked(m, n); });
    rows = withoutPadding(i.m, i.n, isMarked);
  }
  std::vector<LocalBytes> found;
  source.forEach(rows, columns, [&](uint32_t, uint32_t, uint32_t, uint64_t at) {
    const uint8_t mark = source.marks[at];
    const bool isTold = mark && (i.rowMajor || !all.fromOf(mark).isOutside);
    if (!found.empty() && (!isTold || found.back().end != at))
      return false;
    if (isTold)
      append(found, {Space::L0C, at, at + sizeof(float)});
    return true;
  });
  return found;
}

/// Where Fixpipe to L1 has what comes of what nothing has written: another load takes what it needs of that. Whole
/// fractals go there, and what a product has left behind its m and n with them, which has no value there, either.
std::vector<LocalBytes> unwrittenInL1(const CubeInstr& i, Marks& all) {
  const Source source = {i, all.at(Space::L0C)};
  const uint32_t size = bytesOf(i.dst.type);
  std::vector<LocalBytes> found;
  source.forEach(i.m, i.n, [&](uint32_t nd, uint32_t m, uint32_t n, uint64_t at) {
    const uint8_t mark = source.marks[at];
    if (!mark)
      return true;
    const MovedFrom from = all.fromOf(mark);
    const uint64_t to = fixpipePlace(i, nd, m, n);
    append(found, {i.dst.space, to, to + size, {.space = from.space, .isLeft = from.isLeft}});
    return true;
  });
  return found;
}

} // namespace

Unwritten behind(const VectorInstr& instr, const AccessList& accesses, const Context& context,
                 const std::vector<LocalBytes>& before, const std::vector<uint8_t>& knownBits) {
  if (isGather(instr.op))
    return {.moved = {},
            .used = gathered(instr, context, before),
            .knownBits = {},
            .dropped = {},
            .joined = {}};
  if (isByElements(instr))
    return throughElements(instr, accesses, context, before, knownBits);
  Marks& all = marks();
  for (const LocalBytes& bytes : before)
    all.set(bytes);
  Unwritten result;
  result.moved = marksBehind(instr, accesses, all);
  all.clear();
  return result;
}

Unwritten behind(const CopyInstr& instr, const std::vector<LocalBytes>& before) {
  Unwritten result;
  const uint64_t widening = instr.length / instr.sourceBytes();
  for (uint32_t row = 0; row < instr.count; ++row) {
    const uint64_t from = instr.src.address + static_cast<uint64_t>(row * instr.srcStride);
    const uint64_t to = instr.dst.address + static_cast<uint64_t>(row * instr.dstStride);
    for (const LocalBytes& bytes : before) {
      const uint64_t begin = std::max(bytes.begin, from),
                     end = std::min(bytes.end, from + instr.sourceBytes());
      if (begin < end)
        append(result.moved, {instr.dst.space, to + (begin - from) * widening,
                              to + (end - from) * widening, bytes.from});
    }
  }
  return result;
}

Unwritten behind(const CubeInstr& instr, const AccessList& accesses, const Context& context,
                 const std::vector<LocalBytes>& before, const std::vector<uint8_t>&) {
  Marks& all = marks();
  for (const LocalBytes& bytes : before)
    all.set(bytes);
  Unwritten result;
  if (instr.op == CubeOp::Mmad) {
    result.moved = unwrittenResults(instr, context, all);
  } else if (instr.op == CubeOp::Fixpipe) {
    const bool isStored = instr.dst.space == Space::GM;
    (isStored ? result.used : result.moved) =
        isStored ? unwrittenStored(instr, all) : unwrittenInL1(instr, all);
  } else {
    CubeInstr load = instr;
    load.padBits = 0; // or padding would be a mark
    result.moved = marksBehind(load, accesses, all);
  }
  all.clear();
  return result;
}

} // namespace tilewright::ascend::isa
