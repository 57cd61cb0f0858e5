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

/// Of the picture, in pixels; a name's letters are at most so wide.
constexpr int pictureWidth = 800, leftEdge = 84, letterWidth = 7, lineHeight = 11;

struct Rectangle {
  int left, upper, right, lower;
  bool meets(const Rectangle& other) const {
    return left < other.right && other.left < right && upper < other.lower && other.upper < lower;
  }
};

/// One memory of the picture: its used part over the steps of the kernel.
class MemoryPicture {
public:
  MemoryPicture(const std::vector<Row>& rows, int64_t firstStep, int64_t lastStep, int top)
      : firstStep(firstStep), steps(lastStep + 1 - firstStep), used(endOf(rows)),
        frame{leftEdge, top, pictureWidth,
              top + std::clamp(28 * static_cast<int>(rows.size()), 48, 170)} {
    for (const Row& row : rows)
      boxes.push_back(boxOf(row));
    shapes = "<rect " + placeAndSize(frame) + " fill=\"none\" stroke=\"#999\"/>\n";
    for (const auto& [row, box] : llvm::zip_equal(rows, boxes))
      shapes += "<rect " + placeAndSize(box) + " fill=\"#9ecae1\" stroke=\"#3182bd\"><title>" +
                escaped(row.name) + ": " + std::to_string(row.bytes) + " bytes from " +
                std::to_string(row.address) + ", " + linesText(row) + "</title></rect>\n";
    for (const auto& [row, box] : llvm::zip_equal(rows, boxes))
      addName(row.name, box);
  }
  const std::string& text() const {
    return shapes;
  }
  int lower() const {
    return frame.lower;
  }

private:
  int across(int64_t step) const {
    return leftEdge + static_cast<int>((step - firstStep) * (pictureWidth - leftEdge) / steps);
  }
  int down(int64_t address) const {
    return frame.upper +
           static_cast<int>(address * (frame.lower - frame.upper) / std::max<int64_t>(used, 1));
  }
  Rectangle boxOf(const Row& row) const {
    const bool isUsed = row.life.firstUser;
    Rectangle box{isUsed ? across(row.life.first) : leftEdge, down(row.address),
                  isUsed ? across(row.life.last + 1) : pictureWidth, down(row.address + row.bytes)};
    box.right = std::max(box.right, box.left + 1);
    box.lower = std::max(box.lower, box.upper + 1);
    return box;
  }
  static std::string placeAndSize(const Rectangle& box) {
    return "x=\"" + std::to_string(box.left) + "\" y=\"" + std::to_string(box.upper) +
           "\" width=\"" + std::to_string(box.right - box.left) + "\" height=\"" +
           std::to_string(box.lower - box.upper) + "\"";
  }
  /// Within its box, else beside, below or above it, where nothing else is; nowhere if there is no such place.
  void addName(const std::string& name, const Rectangle& box) {
    const int width = letterWidth * static_cast<int>(name.size()) + 4;
    const int middle = (box.upper + box.lower - lineHeight) / 2;
    const auto at = [&](int left, int upper) {
      return Rectangle{left, upper, left + width, upper + lineHeight};
    };
    const Rectangle within = at(box.left + 2, box.upper + 1);
    if (within.right <= box.right && within.lower <= box.lower)
      return write(name, within);
    for (const Rectangle& place :
         {at(box.right + 2, middle), at(box.left - width - 2, middle), at(box.left, box.lower + 1),
          at(box.left, box.upper - lineHeight - 1)})
      if (isFree(place))
        return write(name, place);
  }
  bool isFree(const Rectangle& place) const {
    const auto isMet = [&](const Rectangle& other) { return place.meets(other); };
    return place.left >= frame.left && place.right <= frame.right && place.upper >= frame.upper &&
           place.lower <= frame.lower && llvm::none_of(boxes, isMet) && llvm::none_of(names, isMet);
  }
  void write(const std::string& name, const Rectangle& place) {
    names.push_back(place);
    shapes += "<text x=\"" + std::to_string(place.left + 2) + "\" y=\"" +
              std::to_string(place.lower - 2) + "\">" + escaped(name) + "</text>\n";
  }

  int64_t firstStep, steps, used;
  Rectangle frame;
  std::vector<Rectangle> boxes, names;
  std::string shapes;
};

std::string words(int x, int y, const std::string& text, const char* color = "#222") {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" fill=\"" + color +
         "\">" + text + "</text>\n";
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
  int64_t first = INT64_MAX, last = 0;
  for (const BufferLife& life : lives)
    if (life.firstUser) {
      first = std::min(first, life.first);
      last = std::max(last, life.last);
    }
  std::string shapes;
  int top = 12;
  for (const MemorySpace space : kMemoriesOnChip) {
    const std::vector<Row> rows = rowsOf(lives, space);
    if (rows.empty())
      continue;
    const MemoryPicture picture(rows, std::min(first, last), last, top);
    shapes += words(5, top + 11, stringifyMemorySpace(space).str()) +
              words(5, top + 26, std::to_string(endOf(rows)) + " of", "#666") +
              words(5, top + 38, std::to_string(capacityOf(chip, space)), "#666") + picture.text();
    top = picture.lower() + 14;
  }
  shapes +=
      words(leftEdge, top + 4,
            "to the right the kernel's steps, downwards the bytes that are used; pointing at a "
            "buffer shows its lines",
            "#666");
  const std::string size = "width=\"" + std::to_string(pictureWidth + 10) + "\" height=\"" +
                           std::to_string(top + 14) + "\"";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size +
         " font-family=\"sans-serif\" font-size=\"10\">\n<rect " + size + " fill=\"white\"/>\n" +
         shapes + "</svg>\n";
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
