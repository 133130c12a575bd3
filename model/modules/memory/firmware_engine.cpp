// Firmware behind an arena, where tlmalloc was built with it.
#include "firmware_engine.hpp"

#if TLMALLOC_HAS_FIRMWARE
#include "riscv/firmware_engine.h"
#endif

namespace tlmalloc {

#if TLMALLOC_HAS_FIRMWARE
tla_status make_firmware_engine(tla_policy policy, const tla_riscv_timing &timing, tla_engine *engine,
                                tla_error *error) {
    const tla_firmware *firmware = tla_firmware_of(policy);
    if (!firmware)
        return tla_error_set(error, TLA_UNSUPPORTED, "no firmware supports policy %s", tla_policy_name(policy));
    const tla_status status = tla_firmware_engine_for_arena(firmware, &timing, engine);
    return status ? tla_error_set(error, status, "%s", tla_status_text(status)) : TLA_OK;
}
#else
tla_status make_firmware_engine(tla_policy, const tla_riscv_timing &, tla_engine *, tla_error *error) {
    return tla_error_set(
        error, TLA_UNSUPPORTED,
        "controller.engine firmware: this build has no firmware; configure with -DTLMALLOC_FIRMWARE=ON");
}
#endif

} // namespace tlmalloc
