// Includes every SystemC module.
#ifndef TLMALLOC_MODULES_HPP
#define TLMALLOC_MODULES_HPP

#include "tlmalloc/modules/at_lt_bridge.hpp"
#include "tlmalloc/modules/command_processor.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/controller_hooks.hpp"
#include "tlmalloc/modules/end_point.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/host_driver.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/memory_module.hpp"
#include "tlmalloc/modules/npu.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/resettable.hpp"
#if __has_include("tlmalloc/modules/riscv_core.hpp") // an installation may lack the firmware
#include "tlmalloc/modules/riscv_core.hpp"
#endif
#include "tlmalloc/modules/runtime.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/tensor.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/modules/va_manager.hpp"
#include "tlmalloc/modules/width_adapter.hpp"

#endif
