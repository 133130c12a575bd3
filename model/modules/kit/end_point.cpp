// Bulk transfers from a SIP's PCIe end point.
#include "tlmalloc/modules/end_point.hpp"

#include "modules/pe/bulk_transfer.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

end_point::end_point(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), config_(settings), requester_(settings.asid, 0, true) {
    require_ps_resolution();
    requester_.purpose = TLA_PURPOSE_HOST;
    if (settings.chunk == 0 || settings.outstanding == 0)
        SC_REPORT_ERROR("/tlmalloc/end_point/config", "chunk and outstanding must be above 0");
}

void end_point::start_of_simulation() {
    to_fabric_.lead_to(*out.operator->(), out.name());
}

tla_status end_point::move(tlm::tlm_command command, std::uint64_t pa, std::uint8_t *bytes, std::uint64_t nbytes) {
    if (in_reset()) return TLA_RESET;
    const visit here(this);
    const auto now_ps = [] { return to_ps(sc_core::sc_time_stamp()); };
    bulk_transfer transfer{to_fabric_, config_.chunk, config_.outstanding, &requester_, this};
    const bool refused = transfer.move(command, {{pa, bytes, nbytes}}, now_ps()) == 0 && nbytes > 0;
    if (transfer.end_ps > now_ps() && !in_reset()) sc_core::wait(from_ps(transfer.end_ps - now_ps()), reset_began_);
    if (in_reset()) return TLA_RESET;
    return refused ? TLA_BUS_ERROR : TLA_OK;
}

} // namespace tlmalloc
