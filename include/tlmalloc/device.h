/* A device as its drivers see it: commands, the registers that take them, guarded memory, faults. */
#ifndef TLMALLOC_DEVICE_H
#define TLMALLOC_DEVICE_H

#include "tlmalloc/device/address_windows.h"
#include "tlmalloc/device/command.h"
#include "tlmalloc/device/control_port.h"
#include "tlmalloc/device/element.h"
#include "tlmalloc/device/exclusive_monitor.h"
#include "tlmalloc/device/fault_plan.h"
#include "tlmalloc/device/firmware_engine.h"
#include "tlmalloc/device/guard.h"
#include "tlmalloc/device/host_driver.h"
#include "tlmalloc/device/list_in_memory.h"
#include "tlmalloc/device/mailbox.h"
#include "tlmalloc/device/message_queue.h"
#include "tlmalloc/device/object_store.h"
#include "tlmalloc/device/path_terms.h"
#include "tlmalloc/device/placement.h"
#include "tlmalloc/device/port_driver.h"
#include "tlmalloc/device/posting.h"
#include "tlmalloc/device/riscv_hart.h"
#include "tlmalloc/device/slot_costs.h"
#include "tlmalloc/device/tensor.h"
#include "tlmalloc/device/tile_math.h"
#include "tlmalloc/device/tile_plan.h"
#include "tlmalloc/device/tile_schedule.h"
#include "tlmalloc/device/tile_transfer.h"
#include "tlmalloc/device/tile_vector.h"
#include "tlmalloc/device/topology.h"
#include "tlmalloc/device/topology_shape.h"

#endif
