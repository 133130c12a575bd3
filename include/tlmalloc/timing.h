/* What takes time: shared resources, links, memory channels, pseudo-channels with banks, engines with a queue. */
#ifndef TLMALLOC_TIMING_H
#define TLMALLOC_TIMING_H

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/command/command_engine.h"
#include "tlmalloc/dram/banked_channels.h"
#include "tlmalloc/dram/flat_channels.h"
#include "tlmalloc/dram/hbm_pseudo_channel.h"
#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/fabric/transaction.h"

#endif
