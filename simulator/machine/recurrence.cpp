// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/recurrence.h"

#include <cstring>
#include <elf.h>
#include <link.h>

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's name
extern "C" __attribute__((weak)) int __asan_option_detect_stack_use_after_return;

namespace tilewright::ascend {

namespace {

constexpr uint64_t odd[4] = {0x9E3779B97F4A7C15ull, 0xBF58476D1CE4E5B9ull, 0x94D049BB133111EBull,
                             0xD6E8FEB86659FD93ull};
uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 32) * odd[0];
  return z ^ z >> 29;
}

struct Variables {
  uint64_t address;
  uint64_t fingerprint = 0;
  bool isFound = false;
};
constexpr uint64_t mostVariables = uint64_t{4} << 20; // bytes

int addVariables(dl_phdr_info* module, size_t, void* argument) {
  auto* variables = static_cast<Variables*>(argument);
  auto covers = [&](const ElfW(Phdr) & part) {
    return variables->address - module->dlpi_addr - part.p_vaddr < part.p_memsz;
  };
  for (int i = 0; i < module->dlpi_phnum; ++i)
    variables->isFound |= module->dlpi_phdr[i].p_type == PT_LOAD && covers(module->dlpi_phdr[i]);
  if (!variables->isFound)
    return 0;
  uint64_t bytes = 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = module->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_W))
      continue;
    auto begin = reinterpret_cast<const char*>(module->dlpi_addr + part.p_vaddr);
    bytes += part.p_memsz;
    if (bytes > mostVariables)
      break;
    variables->fingerprint = fingerprintOf(begin, begin + part.p_memsz, variables->fingerprint + 1);
  }
  if (bytes > mostVariables)
    variables->fingerprint = 0;
  return 1;
}

} // namespace

__attribute__((no_sanitize("address"))) uint64_t fingerprintOf(const void* begin, const void* end,
                                                               uint64_t seed) {
  const auto* p = static_cast<const char*>(begin);
  auto bytes = static_cast<size_t>(static_cast<const char*>(end) - p);
  uint64_t lanes[4] = {seed ^ odd[1], seed ^ odd[2], seed ^ odd[3], seed ^ odd[0]};
  using Word = uint64_t __attribute__((may_alias, aligned(1)));
  constexpr size_t turn = 4 * sizeof(uint64_t);
  for (; bytes >= turn; p += turn, bytes -= turn)
    for (unsigned i = 0; i < 4; ++i) {
      lanes[i] = (lanes[i] ^ reinterpret_cast<const Word*>(p)[i]) * odd[i];
      lanes[i] ^= lanes[i] >> 31;
    }
  for (; bytes > 0; ++p, --bytes)
    lanes[bytes % 4] = mixed(lanes[bytes % 4] ^ static_cast<unsigned char>(*p));
  return mixed(mixed(lanes[0]) ^ mixed(lanes[1] + odd[2]) ^ mixed(lanes[2] + odd[3]) ^
               mixed(lanes[3] + odd[1]));
}

uint64_t fingerprintOfVariables(const void* address) {
  Variables variables{reinterpret_cast<uint64_t>(address)};
  dl_iterate_phdr(addVariables, &variables);
  return variables.isFound ? variables.fingerprint : 0;
}

bool canSeeStates() {
  return !&__asan_option_detect_stack_use_after_return ||
         !__asan_option_detect_stack_use_after_return;
}

void Recurrence::noteMemory(uint64_t memory) {
  hasSameMemory = memory != 0 && memory == keptMemory;
  const bool isSecond = keptMemory != 0;
  keptMemory = isSecond ? 0 : memory;
  if (isSecond ||
      memory == 0) // what goes on for long is looked at seldom: that costs more than its steps
    nextDue = 2 * turns + 1;
}

bool Recurrence::moveTo(Place place) {
  constexpr uint64_t leastPatience = 1024;
  uint64_t longer = patience ? 2 * patience : leastPatience;
  forget();
  patience = longer;
  anchor = place;
  return true;
}

/// What a function of the kernel leaves unwritten in its frame may hold what the host has counted there before, so that
/// the state of one place never comes again, where that of the next does.
bool Recurrence::keepFrom(Place place) {
  anchor = place;
  movesOn = false;
  hasReadElsewhere = true; // so the next state is kept
  missed = steps = 0;
  return true;
}

void Recurrence::note(uint64_t state, const void* code, uint64_t newResults, bool isRepeating) {
  ++steps;
  bool readsTheSame = isRepeating && keptRepeating && newResults == keptResults;
  if (state == kept && !hasReadElsewhere && (!hasReadData || readsTheSame)) {
    period = steps;
    steps = 0;
    readsInLoop |= hasReadData;
    hasReadData = false;
    // The next round has the next window.
    constexpr uint64_t window = 64;
    firstTest = tests > firstTest + window ? firstTest + window : 0;
    tests = 0;
    if (looksEndless()) {
      ++turns;
      isDue = !hasSameMemory && (keptMemory != 0 || turns >= nextDue);
      return;
    }
    uint64_t variables = fingerprintOfVariables(code);
    if (keptVariables != 0 && variables != keptVariables) {
      writesByItself();
      return;
    }
    rounds = variables != 0 && variables == keptVariables ? rounds + 1 : 0;
    keptVariables = variables;
    isDue = looksEndless();
    return;
  }
  bool isOver = steps >= limit;
  if (state != kept && !isOver && !hasReadElsewhere)
    return;
  limit = isOver ? 2 * limit : limit;
  movesOn = isOver;
  kept = state;
  keptResults = newResults;
  keptRepeating = isRepeating;
  keptVariables = isOver && limit > longPeriod ? fingerprintOfVariables(code) : 0;
  steps = 0;
  rounds = 0;
  tests = firstTest = 0;
  forgetMemory();
  hasReadData = hasReadElsewhere = readsInLoop = false;
}

} // namespace tilewright::ascend
