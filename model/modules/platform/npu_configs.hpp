// The configurations of a platform's modules that its users do not need by themselves; npu.hpp has the others.
#ifndef TLMALLOC_MODULES_PLATFORM_NPU_CONFIGS_HPP
#define TLMALLOC_MODULES_PLATFORM_NPU_CONFIGS_HPP

#include "tlmalloc/modules/npu.hpp"

namespace tlmalloc {

pe_mmu::config mmu_config(const tla_config &c, const pe_location &where);
pe_dma::config dma_config(const tla_config &c, const pe_location &where);
processing_element::config element_config(const tla_config &c, const pe_location &where, const kernel_table &kernels);
pe_ipcq::config ipcq_config(const tla_config &c, const pe_location &where);
va_manager::config va_config(const tla_config &c);
command_processor::config io_cpu_config(const tla_config &c, unsigned sip, const kernel_table &kernels);
command_processor::config m_cpu_config(const tla_config &c, unsigned sip, unsigned cube, const kernel_table &kernels);
host::config host_config(const tla_config &c);

} // namespace tlmalloc
#endif
