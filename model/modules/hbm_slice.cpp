#include "tlmalloc/modules/hbm_slice.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/sparse_bytes.h"

#include <algorithm>
#include <string>

namespace tlmalloc {

hbm_slice::hbm_slice(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), config_(settings),
      at_(
          "in", settings.outstanding, [this](int, auto &payload, auto &delay) { b_transport(payload, delay); },
          [this](int, auto &payload, auto &phase, auto &delay) { return in->nb_transport_bw(payload, phase, delay); }) {
    require_ps_resolution();
    faults_.plan = settings.faults;
    if (settings.timing) {
        const tla_hbm_channels_config channels{*settings.timing, settings.pseudo_channels, settings.capacity};
        tla_hbm_channels *made = nullptr;
        tla_error error;
        if (tla_hbm_channels_create(&channels, &made, &error))
            SC_REPORT_ERROR("/tlmalloc/hbm_slice/config", (std::string("timing: ") + error.text).c_str());
        banks_.reset(made);
    }
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
    payload.set_dmi_allowed(config_.dmi && faults_.plan.count == 0);
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return;
    const bool write = payload.is_write();
    __builtin_prefetch(bytes_ + payload.get_address()); // on its way while the time is found
    const std::uint64_t length = payload.get_data_length();
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp()), arrival = now + to_ps(delay) + config_.latency_ps;
    tla_fault_hits hits{};
    if (faults_.plan.count > 0) {
        hits = meet_faults(payload, arrival);
        if (hits.channel_out) {
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
            return;
        }
    }
    const std::uint64_t span = payload_span(payload);
    std::uint64_t done = arrival;
    for (std::uint64_t passed = 0; passed < length; passed += span) // more than once where it streams
        done = std::max(done, serve(write, payload.get_address(), std::min(span, length - passed), arrival));
    done += hits.correctable * config_.ecc_latency_ps;
    if (hits.uncorrectable > 0)
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    else
        copy_payload(payload, bytes_);
    ++(write ? statistics_.writes : statistics_.reads);
    (write ? statistics_.bytes_written : statistics_.bytes_read) += length;
    (write ? bytes_written_ : bytes_read_).add(done, static_cast<std::int64_t>(length));
    active_.add(arrival, 1);
    active_.add(done, -1);
    delay = from_ps(done - now);
}

// What an access meets, counted and reported.
tla_fault_hits hbm_slice::meet_faults(const tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    tla_fault_geometry geometry{config_.timing ? config_.timing->burst_bytes : config_.burst, config_.pseudo_channels,
                                nullptr, banks_.get()};
    if (banks_)
        geometry.bank_of = [](const void *banks, std::uint64_t offset) {
            return tla_hbm_channels_bank_of(static_cast<const tla_hbm_channels *>(banks), offset);
        };
    const tla_fault_hits hits = tla_faults_access(&faults_, &geometry, payload.is_write(), payload.get_address(),
                                                  payload_span(payload), arrival_ps);
    statistics_.corrected += hits.correctable;
    statistics_.uncorrectable += hits.uncorrectable;
    statistics_.channel_errors += hits.channel_out;
    statistics_.errors += hits.channel_out || hits.uncorrectable > 0;
    if (hits.channel_out)
        report_fault("/tlmalloc/hbm_slice/channel", "a pseudo-channel or bank is out", payload, arrival_ps);
    if (hits.uncorrectable) report_fault("/tlmalloc/hbm_slice/ecc", "an uncorrectable bit error", payload, arrival_ps);
    return hits;
}

void hbm_slice::report_fault(const char *id, const char *what, const tlm::tlm_generic_payload &payload,
                             std::uint64_t at_ps) {
    const std::string text = std::string(name()) + ": " + what + ": " +
                             (payload.is_write() ? "write of " : "read of ") + std::to_string(payload_span(payload)) +
                             " bytes at " + std::to_string(payload.get_address()) + " at " + std::to_string(at_ps) +
                             " ps";
    SC_REPORT_WARNING(id, text.c_str());
}

std::uint64_t hbm_slice::serve(bool write, std::uint64_t offset, std::uint64_t nbytes, std::uint64_t arrival_ps) {
    if (!banks_) return tla_channels_access(channels_.get(), write, offset, nbytes, arrival_ps);
    const std::uint64_t done =
        tla_hbm_channels_access(banks_.get(), write ? TLA_HBM_WRITE : TLA_HBM_READ, offset, nbytes, arrival_ps);
    if (rows_shown_) show(done);
    return done;
}

void hbm_slice::show(std::uint64_t at_ps) {
    const tla_hbm_stats now = tla_hbm_channels_get_stats(banks_.get());
    const auto grow = [&](figure &f, std::uint64_t tla_hbm_stats::*member) {
        if (now.*member != shown_.*member) f.add(at_ps, static_cast<std::int64_t>(now.*member - shown_.*member));
    };
    grow(row_hits_, &tla_hbm_stats::row_hits);
    grow(row_misses_, &tla_hbm_stats::row_misses);
    grow(row_conflicts_, &tla_hbm_stats::row_conflicts);
    grow(refreshes_, &tla_hbm_stats::refreshes);
    shown_ = now;
}

tlm::tlm_sync_enum hbm_slice::nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                              sc_core::sc_time &delay) {
    return at_.nb_transport_fw(0, payload, phase, delay);
}

bool hbm_slice::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!config_.dmi || faults_.plan.count > 0) return refuse_dmi(dmi);
    if (payload.get_address() >= config_.capacity) return refuse_dmi(dmi, {config_.capacity, UINT64_MAX});
    const auto latency = [this](tla_hbm_op op) {
        return config_.latency_ps +
               (banks_ ? tla_hbm_channels_latency_ps(banks_.get(), op) : tla_channels_burst_ps(channels_.get()));
    };
    grant_dmi(dmi, bytes_, config_.capacity, latency(TLA_HBM_READ), latency(TLA_HBM_WRITE));
    return true;
}

unsigned hbm_slice::transport_dbg(tlm::tlm_generic_payload &payload) {
    return debug_copy(payload, bytes_, config_.capacity);
}

hbm_slice::statistics hbm_slice::get_statistics() const {
    statistics result = statistics_;
    if (!banks_) {
        result.busy_ps = tla_channels_busy_ps(channels_.get());
        return result;
    }
    const tla_hbm_stats s = tla_hbm_channels_get_stats(banks_.get());
    result.busy_ps = tla_hbm_channels_busy_ps(banks_.get());
    result.row_hits = s.row_hits;
    result.row_misses = s.row_misses;
    result.row_conflicts = s.row_conflicts;
    result.refreshes = s.refreshes;
    return result;
}

template <typename Visit>
void hbm_slice::each_figure(Visit visit) {
    for (figure *f : {&bytes_read_, &bytes_written_, &active_})
        visit(*f);
    rows_shown_ = has_banks();
    if (!rows_shown_) return;
    for (figure *f : {&row_hits_, &row_misses_, &row_conflicts_, &refreshes_})
        visit(*f);
}

void hbm_slice::record(waveform &wave) {
    each_figure([&](figure &f) { f.record(wave, name()); });
}

void hbm_slice::trace(sc_core::sc_trace_file *file) const {
    const_cast<hbm_slice *>(this)->each_figure([&](figure &f) { f.trace(file, name()); });
}

} // namespace tlmalloc
