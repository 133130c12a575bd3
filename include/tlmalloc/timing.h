/* What takes time: shared resources, links, memory channels, pseudo-channels with banks, engines with a queue. */
#ifndef TLMALLOC_TIMING_H
#define TLMALLOC_TIMING_H

#include "tlmalloc/timing/banked_channels.h"
#include "tlmalloc/timing/command_engine.h"
#include "tlmalloc/timing/fabric.h"
#include "tlmalloc/timing/flat_channels.h"
#include "tlmalloc/timing/hbm_pseudo_channel.h"
#include "tlmalloc/timing/time_account.h"
#include "tlmalloc/timing/timeline.h"
#include "tlmalloc/timing/transaction.h"

#endif
