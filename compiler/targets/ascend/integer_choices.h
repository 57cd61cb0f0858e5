// SPDX-License-Identifier: Apache-2.0
/// Whether integers can be such that some sums of them aren't negative, and one of several others isn't, of each choice:
/// what the least and the greatest of numbers, quotients and the conditions of branches say of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tilewright::ascend {

/// A constant, and variables as often as `factors` says.
struct LinearSum {
  int64_t constant = 0;
  std::map<unsigned, int64_t> factors;
  bool hasRoom = true; ///< else numbers were too large, and nothing is known of it

  LinearSum& add(const LinearSum& other, int64_t times = 1);
  LinearSum plus(const LinearSum& other, int64_t times = 1) const {
    LinearSum sum = *this;
    return sum.add(other, times);
  }
};

class IntegerChoices {
public:
  unsigned addVariable() {
    return variables++;
  }
  static LinearSum of(unsigned variable, int64_t factor = 1) {
    return {.constant = 0, .factors = {{variable, factor}}};
  }
  /// That a sum isn't negative.
  void require(LinearSum sum) {
    required.push_back(std::move(sum));
  }
  void requireZero(const LinearSum& sum) {
    require(sum);
    require(LinearSum().plus(sum, -1));
  }
  /// That all sums of one of these aren't negative.
  void requireOne(std::vector<std::vector<LinearSum>> alternatives) {
    choices.push_back(std::move(alternatives));
  }
  /// Of what fractions allow, a sum of variables is asked for, too, whether it lies between two integers.
  void askForInteger(LinearSum sum) {
    integers.push_back(std::move(sum));
  }
  /// True: no integers are so. False also where that takes more than `most` steps, or needs more than fractions and that.
  bool areImpossible(unsigned most) const;

private:
  unsigned variables = 0;
  std::vector<LinearSum> required, integers;
  std::vector<std::vector<std::vector<LinearSum>>> choices;
};

} // namespace tilewright::ascend
