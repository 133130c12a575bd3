#include "tlmalloc/modules/hbm_slice.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/sparse_bytes.h"

namespace tlmalloc {

hbm_slice::hbm_slice(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), config_(settings),
      at_(
          "in", settings.outstanding, [this](int, auto &payload, auto &delay) { b_transport(payload, delay); },
          [this](int, auto &payload, auto &phase, auto &delay) { return in->nb_transport_bw(payload, phase, delay); }) {
    require_ps_resolution();
    const tla_channels_config channels{settings.pseudo_channels, settings.burst, settings.pseudo_channel_bandwidth,
                                       settings.direction_switch_ps};
    tla_channels *made = nullptr;
    if (tla_channels_create(&channels, &made))
        SC_REPORT_ERROR("/tlmalloc/hbm_slice/config",
                        "pseudo_channels and burst must be powers of two, pseudo_channel_bandwidth above 0");
    channels_.reset(made);
    if (tla_sparse_bytes_create(settings.capacity, &bytes_))
        SC_REPORT_ERROR("/tlmalloc/hbm_slice/config", "the host cannot reserve address space for the capacity");
    in.register_b_transport(this, &hbm_slice::b_transport);
    in.register_nb_transport_fw(this, &hbm_slice::nb_transport_fw);
    in.register_transport_dbg(this, &hbm_slice::transport_dbg);
    in.register_get_direct_mem_ptr(this, &hbm_slice::get_direct_mem_ptr);
}

hbm_slice::~hbm_slice() {
    tla_sparse_bytes_destroy(bytes_, config_.capacity);
}

void hbm_slice::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const tlm::tlm_response_status status = check_payload(payload, config_.capacity);
    if (status != tlm::TLM_OK_RESPONSE) {
        statistics_.errors++;
        payload.set_response_status(status);
        return;
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    payload.set_dmi_allowed(config_.dmi);
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return;
    const bool write = payload.is_write();
    const std::uint64_t length = payload.get_data_length();
    const std::uint64_t arrival = local_ps(delay) + config_.latency_ps;
    const std::uint64_t done =
        tla_channels_access(channels_.get(), write, payload.get_address(), payload_span(payload), arrival);
    copy_payload(payload, bytes_);
    ++(write ? statistics_.writes : statistics_.reads);
    (write ? statistics_.bytes_written : statistics_.bytes_read) += length;
    (write ? bytes_written_ : bytes_read_).add(done, static_cast<std::int64_t>(length));
    active_.add(arrival, 1);
    active_.add(done, -1);
    set_local_ps(delay, done);
}

tlm::tlm_sync_enum hbm_slice::nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                              sc_core::sc_time &delay) {
    return at_.nb_transport_fw(0, payload, phase, delay);
}

bool hbm_slice::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!config_.dmi) return refuse_dmi(dmi);
    if (payload.get_address() >= config_.capacity) return refuse_dmi(dmi, {config_.capacity, UINT64_MAX});
    const std::uint64_t latency = config_.latency_ps + tla_channels_burst_ps(channels_.get());
    grant_dmi(dmi, bytes_, config_.capacity, latency, latency);
    return true;
}

unsigned hbm_slice::transport_dbg(tlm::tlm_generic_payload &payload) {
    return debug_copy(payload, bytes_, config_.capacity);
}

hbm_slice::statistics hbm_slice::get_statistics() const {
    statistics result = statistics_;
    result.busy_ps = tla_channels_busy_ps(channels_.get());
    return result;
}

void hbm_slice::record(waveform &wave) {
    for (figure *f : {&bytes_read_, &bytes_written_, &active_})
        f->record(wave, name());
}

void hbm_slice::trace(sc_core::sc_trace_file *file) const {
    for (const figure *f : {&bytes_read_, &bytes_written_, &active_})
        f->trace(file, name());
}

} // namespace tlmalloc
