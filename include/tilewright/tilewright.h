// SPDX-License-Identifier: Apache-2.0
/// All of Tilewright for C++: write a kernel, compile it, run it.
#pragma once

#include "tilewright/ascend_language.h"
#include "tilewright/compile.h"
#include "tilewright/language.h"
#include "tilewright/run.h"
