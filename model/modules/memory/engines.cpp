// The engines that can stand behind a memory controller's free lists, by what they are built from.
#include "rtl_engine.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/riscv/firmware_engine.h"

namespace tlmalloc {

static tla_status make_firmware_engine(const tla_controller_parameters &parameters, tla_policy placement,
                                       tla_engine *engine, tla_error *error) {
    const tla_firmware *firmware = tla_firmware_of(placement);
    if (!firmware)
        return tla_error_set(error, TLA_UNSUPPORTED, "there is no firmware for %s", tla_policy_name(placement));
    const tla_status status = tla_firmware_engine_for_arena(firmware, &parameters.firmware, engine);
    return status ? tla_error_set(error, status, "%s", tla_status_text(status)) : TLA_OK;
}

tla_status make_engine(const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                       tla_engine *engine, tla_error *error) {
    switch (parameters.engine) {
    case TLA_ENGINE_RTL:
        return make_rtl_engine(placement, parameters.engine_node_cycles, units, engine, error);
    case TLA_ENGINE_FIRMWARE:
        return make_firmware_engine(parameters, placement, engine, error);
    default:
        return tla_error_set(error, TLA_UNSUPPORTED, "%s is no engine of this library",
                             tla_engine_kind_name(parameters.engine));
    }
}

} // namespace tlmalloc
