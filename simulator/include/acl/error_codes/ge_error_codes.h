/* SPDX-License-Identifier: Apache-2.0 */
/** Codes of graphs and models: none is returned here. */
#ifndef TILEWRIGHT_ACL_GE_ERROR_CODES_H
#define TILEWRIGHT_ACL_GE_ERROR_CODES_H
#include <stdint.h>
#endif
