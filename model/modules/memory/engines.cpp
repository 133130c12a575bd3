// The engines for a memory controller's free lists, by the components of the build.
#include "firmware_engine.hpp"
#include "rtl_engine.hpp"
#include "tlmalloc/modules/controller_hooks.hpp"

namespace tlmalloc {

tla_status make_engine(const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                       tla_engine *engine, tla_error *error) {
    switch (parameters.engine) {
    case TLA_ENGINE_RTL:
        return make_rtl_engine(placement, parameters.engine_node_cycles, units, engine, error);
    case TLA_ENGINE_FIRMWARE:
        return make_firmware_engine(placement, parameters.firmware, engine, error);
    default:
        return tla_error_set(error, TLA_UNSUPPORTED, "unknown engine %s", tla_engine_kind_name(parameters.engine));
    }
}

} // namespace tlmalloc
