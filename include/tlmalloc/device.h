/* A device as its drivers see it: commands, the registers that take them, guarded memory, faults. */
#ifndef TLMALLOC_DEVICE_H
#define TLMALLOC_DEVICE_H

#include "tlmalloc/command/command.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/command/port_driver.h"
#include "tlmalloc/command/posting.h"
#include "tlmalloc/dram/fault_plan.h"
#include "tlmalloc/kernel/element.h"
#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/placement.h"
#include "tlmalloc/kernel/slot_costs.h"
#include "tlmalloc/kernel/tensor_shards.h"
#include "tlmalloc/kernel/tile_math.h"
#include "tlmalloc/kernel/tile_plan.h"
#include "tlmalloc/kernel/tile_schedule.h"
#include "tlmalloc/kernel/tile_transfer.h"
#include "tlmalloc/kernel/tile_vector.h"
#include "tlmalloc/memory/address_windows.h"
#include "tlmalloc/memory/exclusive_monitor.h"
#include "tlmalloc/memory/guard.h"
#include "tlmalloc/memory/list_in_memory.h"
#include "tlmalloc/memory/object_store.h"
#include "tlmalloc/riscv/firmware_engine.h"
#include "tlmalloc/riscv/mailbox.h"
#include "tlmalloc/riscv/riscv_hart.h"
#include "tlmalloc/topology/path_terms.h"
#include "tlmalloc/topology/topology.h"
#include "tlmalloc/topology/topology_shape.h"

#endif
