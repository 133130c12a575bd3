// The MMU of a host, as a controller whose blocks move sees it.
#ifndef TLMALLOC_PLATFORM_PLUGIN_MAPPINGS_HPP
#define TLMALLOC_PLATFORM_PLUGIN_MAPPINGS_HPP

#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/tlm_c.h"

#include <vector>

namespace tlmalloc::plugin {

class host_mappings final : private command_handler {
  public:
    control_window control{"mappings", "plugin", TLA_TARGET_PE_MMU, 1, *this};
    int (*changed)(void *, std::uint32_t, const tlmc_mapping *, std::size_t) = nullptr;
    void *context = nullptr;

  private:
    tla_status change(const tla_command &command) const {
        static_assert(int{TLMC_PAUSE} == TLA_OP_PAUSE && int{TLMC_REMAP} == TLA_OP_REMAP &&
                      int{TLMC_RESUME} == TLA_OP_RESUME);
        if (!changed) return TLA_UNSUPPORTED;
        std::vector<tlmc_mapping> mappings;
        for (std::uint32_t i = 0; i < command.count; i++) {
            const tla_map_entry &entry = command.entries[i];
            mappings.push_back({entry.va.value, entry.nbytes, entry.pa.value, entry.asid});
        }
        return static_cast<tla_status>(
            changed(context, static_cast<std::uint32_t>(command.opcode), mappings.data(), mappings.size()));
    }
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override {
        control.complete(port, control_window::answer_to(command, change(command)), arrival_ps);
        return arrival_ps;
    }
};

} // namespace tlmalloc::plugin
#endif
