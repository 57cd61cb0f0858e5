// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_resources.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/memory_sizes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <algorithm>
#include <map>

namespace tilewright::ascend {

using namespace mlir;
using tile::MemorySpace;

namespace {

struct Row {
  std::string name;
  int64_t address = 0, bytes = 0;
  BufferLife life;
};

int lineOf(Operation* op) {
  return op ? static_cast<int>(placeOf(op->getLoc()).line) : 0;
}

std::vector<Row> rowsOf(ArrayRef<BufferLife> lives, MemorySpace space) {
  std::vector<Row> rows;
  for (const BufferLife& life : lives) {
    tile::AllocOp alloc = life.alloc;
    if (alloc.getType().getSpace() == space && alloc.getAddress())
      rows.push_back({alloc.getSymName().value_or("buffer").str(),
                      static_cast<int64_t>(*alloc.getAddress()), npu::storageBytes(alloc.getType()),
                      life});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.address, a.life.first) < std::pair(b.address, b.life.first);
  });
  return rows;
}

int64_t endOf(const std::vector<Row>& rows) {
  int64_t end = 0;
  for (const Row& row : rows)
    end = std::max(end, row.address + row.bytes);
  return end;
}

std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string linesText(const Row& row) {
  const int first = lineOf(row.life.firstUser), last = lineOf(row.life.lastUser);
  if (first == 0)
    return row.life.firstUser ? "" : "unused";
  return first == last ? "line " + std::to_string(first)
                       : "lines " + std::to_string(std::min(first, last)) + " to " +
                             std::to_string(std::max(first, last));
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

/// One memory of the picture, its upper edge at `top`.
constexpr int pictureWidth = 800, memoryHeight = 150, leftEdge = 60;

/// Where names stand in the picture: right of `left`, one under the other where they would meet.
class Labels {
public:
  /// The base line of a name whose buffer begins at (`left`, `upper`).
  int place(int left, int upper, const std::string& name) {
    Label label{left, left + letterWidth * static_cast<int>(name.size()), upper + lineHeight};
    for (bool isFree = false; !isFree;) {
      isFree = true;
      for (const Label& other : placed)
        if (label.left < other.right && other.left < label.right &&
            std::abs(label.base - other.base) < lineHeight) {
          label.base = other.base + lineHeight;
          isFree = false;
        }
    }
    placed.push_back(label);
    lowest = std::max(lowest, label.base);
    return label.base;
  }
  int lowestBase() const {
    return lowest;
  }

private:
  static constexpr int letterWidth = 7, lineHeight = 11;
  struct Label {
    int left, right, base;
  };
  std::vector<Label> placed;
  int lowest = 0;
};

std::string rectangle(const Row& row, int64_t lastNumber, int64_t capacity, int top,
                      Labels& labels) {
  const auto across = [&](int64_t number) {
    return leftEdge + static_cast<int>(number * (pictureWidth - leftEdge) / (lastNumber + 1));
  };
  const auto down = [&](int64_t address) {
    return top + static_cast<int>(address * memoryHeight / capacity);
  };
  const bool isUsed = row.life.firstUser;
  const int left = across(isUsed ? row.life.first : 0);
  const int right = across(isUsed ? row.life.last + 1 : lastNumber);
  const int upper = down(row.address), lower = down(row.address + row.bytes);
  const std::string place =
      "x=\"" + std::to_string(left) + "\" y=\"" + std::to_string(upper) + "\"";
  return "<rect " + place + " width=\"" + std::to_string(std::max(1, right - left)) +
         "\" height=\"" + std::to_string(std::max(1, lower - upper)) +
         "\" fill=\"#9ecae1\" stroke=\"#3182bd\"><title>" + escaped(row.name) + ": " +
         std::to_string(row.bytes) + " bytes from " + std::to_string(row.address) + ", " +
         linesText(row) + "</title></rect>\n<text x=\"" + std::to_string(left + 3) + "\" y=\"" +
         std::to_string(labels.place(left, upper, row.name)) + "\">" + escaped(row.name) +
         "</text>\n";
}

} // namespace

std::string memoryMapText(func::FuncOp kernel, const chips::AscendChip& chip) {
  const SmallVector<BufferLife> lives = findBufferLives(kernel);
  std::string text;
  for (const MemorySpace space : kMemoriesOnChip) {
    const std::vector<Row> rows = rowsOf(lives, space);
    if (rows.empty())
      continue;
    text += stringifyMemorySpace(space).str() + ": " + std::to_string(endOf(rows)) + " of " +
            std::to_string(capacityOf(chip, space)) + " bytes\n";
    for (const Row& row : rows)
      text += "  " + padded(std::to_string(row.address), 6) + " + " +
              padded(std::to_string(row.bytes), 6) + "  " + row.name + "  " + linesText(row) + "\n";
  }
  return text;
}

std::string memoryMapSvg(func::FuncOp kernel, const chips::AscendChip& chip) {
  const SmallVector<BufferLife> lives = findBufferLives(kernel);
  int64_t lastNumber = 1;
  for (const BufferLife& life : lives)
    lastNumber = std::max(lastNumber, life.last);
  std::string shapes;
  int top = 20;
  for (const MemorySpace space : kMemoriesOnChip) {
    const std::vector<Row> rows = rowsOf(lives, space);
    if (rows.empty())
      continue;
    shapes += "<text x=\"5\" y=\"" + std::to_string(top + 11) + "\">" +
              stringifyMemorySpace(space).str() + "</text>\n<rect x=\"" + std::to_string(leftEdge) +
              "\" y=\"" + std::to_string(top) + "\" width=\"" +
              std::to_string(pictureWidth - leftEdge) + "\" height=\"" +
              std::to_string(memoryHeight) + "\" fill=\"none\" stroke=\"#999\"/>\n";
    Labels labels;
    for (const Row& row : rows)
      shapes += rectangle(row, lastNumber, capacityOf(chip, space), top, labels);
    top = std::max(top + memoryHeight, labels.lowestBase()) + 20;
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(pictureWidth + 10) +
         "\" height=\"" + std::to_string(top) +
         "\" font-family=\"sans-serif\" font-size=\"10\">\n" + shapes + "</svg>\n";
}

namespace {

std::string counted(int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Flags and barriers that neither stand in the kernel as it was written nor say why they are there: an
/// operation of several instructions, such as a gemm, orders these by itself.
std::string waitsOfParts(func::FuncOp kernel, func::FuncOp written) {
  DenseSet<Location> own;
  written.walk([&](Operation* op) {
    if (isa<PipeBarrierOp, SetFlagOp, tile::SyncOp>(op))
      own.insert(op->getLoc());
  });
  struct Counts {
    int64_t flags = 0, barriers = 0;
  };
  std::map<int, Counts> byLine;
  kernel.walk([&](Operation* op) {
    if (!isa<PipeBarrierOp, SetFlagOp>(op) || op->hasAttr(kWhyAttr) || own.contains(op->getLoc()))
      return;
    Counts& counts = byLine[lineOf(op)];
    ++(isa<SetFlagOp>(op) ? counts.flags : counts.barriers);
  });
  std::string text;
  for (const auto& [line, counts] : byLine) {
    text += line ? "line " + std::to_string(line) + ": " : "";
    text += counts.flags ? counted(counts.flags, "flag") : "";
    text += counts.flags && counts.barriers ? " and " : "";
    text += counts.barriers ? counted(counts.barriers, "barrier") : "";
    text += ", between parts of the operation there\n";
  }
  return text;
}

} // namespace

std::string insertedWaitsText(func::FuncOp kernel, func::FuncOp written) {
  std::string text;
  kernel.walk([&](Operation* op) {
    auto why = op->getAttrOfType<StringAttr>(kWhyAttr);
    if (!why || isa<WaitFlagOp, WaitCrossFlagOp>(op))
      return; // said with its set
    std::string what;
    if (auto barrier = dyn_cast<PipeBarrierOp>(op))
      what = "barrier of " + stringifyPipe(barrier.getPipe()).str();
    else if (auto set = dyn_cast<SetFlagOp>(op))
      what = "flag from " + stringifyPipe(set.getFrom()).str() + " to " +
             stringifyPipe(set.getTo()).str();
    else if (auto cross = dyn_cast<SetCrossFlagOp>(op))
      what = "cross-core flag on " + stringifyPipe(cross.getPipe()).str();
    const int line = lineOf(op);
    const std::string entry =
        (line ? "line " + std::to_string(line) + ": " : "") + what + ", " + why.str() + "\n";
    // The set before a loop says the same as the one in it.
    if (text.find(entry) == std::string::npos)
      text += entry;
  });
  return text + waitsOfParts(kernel, written);
}

} // namespace tilewright::ascend
