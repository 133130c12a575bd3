// A PE's local memory: bytes behind a read channel and a write channel.
#include "tlmalloc/modules/tcm.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/base/sparse_bytes.h"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

tcm::tcm(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "tcm"), config_(settings),
      at_(
          "in", settings.outstanding, [this](int, auto &payload, auto &delay) { b_transport(payload, delay); },
          [this](int, auto &payload, auto &phase, auto &delay) { return in->nb_transport_bw(payload, phase, delay); }) {
    if (settings.read_bandwidth == 0 || settings.write_bandwidth == 0)
        refuse_config("read_bandwidth and write_bandwidth must be above 0");
    if (tla_sparse_bytes_create(settings.capacity, &bytes_))
        refuse_config("the host cannot reserve address space for the capacity");
    in.register_b_transport(this, &tcm::b_transport);
    in.register_nb_transport_fw(this, &tcm::nb_transport_fw);
    in.register_transport_dbg(this, &tcm::transport_dbg);
    in.register_get_direct_mem_ptr(this, &tcm::get_direct_mem_ptr);
    if (settings.style == time_style::fast) return;
    read_resource_ = time_queue::of_simulation().new_resource();
    write_resource_ = time_queue::of_simulation().new_resource();
}

void tcm::end_of_elaboration() {
    if (config_.style == time_style::exact) announce_in_order(in.get_base_interface(), *this, 0);
}

tcm::~tcm() {
    leave_in_order(*this);
    tla_sparse_bytes_destroy(bytes_, config_.capacity);
    tla_timeline_destroy(&read_);
    tla_timeline_destroy(&write_);
}

// True when there is something to do for the payload; else it has been answered.
bool tcm::accept(tlm::tlm_generic_payload &payload) {
    return accept_payload(payload, config_.capacity, config_.dmi, statistics_.errors);
}

// Moves the bytes; returns when the channel has.
std::uint64_t tcm::serve(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    const bool write = payload.is_write();
    const std::uint64_t length = payload.get_data_length();
    const std::uint64_t busy = tla_transfer_ps(length, write ? config_.write_bandwidth : config_.read_bandwidth);
    tla_timeline *const channel = write ? &write_ : &read_;
    std::uint64_t done = 0;
    if (config_.style == time_style::exact) {
        done = tla_timeline_serve(channel, arrival_ps, busy) + busy;
    } else {
        tla_timeline_forget(channel, to_ps(sc_core::sc_time_stamp()));
        done = tla_timeline_reserve(channel, arrival_ps, busy) + busy;
    }
    copy_payload(payload, bytes_);
    ++(write ? statistics_.writes : statistics_.reads);
    (write ? statistics_.bytes_written : statistics_.bytes_read) += length;
    statistics_.busy_ps += busy;
    (write ? bytes_written_ : bytes_read_).add(done, static_cast<std::int64_t>(length));
    return done;
}

void tcm::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    if (config_.style == time_style::exact)
        serve_waiting(*this, 0, payload, delay);
    else if (accept(payload))
        set_local_ps(delay, serve(payload, local_ps(delay) + config_.latency_ps));
}

void tcm::begin(in_order_request &request, unsigned port) {
    if (!accept(*request.payload)) {
        request.finish();
        return;
    }
    // Of one time reads go first, but for one that was sent after a write of the same bytes.
    const bool write = request.payload->is_write();
    const bool follows = !write && writes_.before(*request.payload);
    if (write) writes_.add(request);
    request.at_ps += config_.latency_ps;
    request.push(nullptr, this);
    time_queue::of_simulation().post(
        request.at_ps, write || follows ? write_resource_ : read_resource_, port,
        [](void *context, std::uint64_t at_ps) {
            auto &r = *static_cast<in_order_request *>(context);
            auto &self = *static_cast<tcm *>(r.pop().module);
            if (r.payload->is_write()) self.writes_.arrived(r);
            r.at_ps = self.serve(*r.payload, at_ps);
            r.finish();
        },
        &request);
}

tlm::tlm_sync_enum tcm::nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                        sc_core::sc_time &delay) {
    return at_.nb_transport_fw(0, payload, phase, delay);
}

bool tcm::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!config_.dmi) return refuse_dmi(dmi);
    if (payload.get_address() >= config_.capacity) return refuse_dmi(dmi, {config_.capacity, UINT64_MAX});
    const unsigned word = in.get_bus_width() / 8;
    grant_dmi(dmi, bytes_, config_.capacity, config_.latency_ps + tla_transfer_ps(word, config_.read_bandwidth),
              config_.latency_ps + tla_transfer_ps(word, config_.write_bandwidth));
    return true;
}

unsigned tcm::transport_dbg(tlm::tlm_generic_payload &payload) {
    return debug_copy(payload, bytes_, config_.capacity);
}

tcm::statistics tcm::get_statistics() const {
    statistics result = statistics_;
    for (const tla_timeline *channel : {&read_, &write_}) {
        const tla_order order = tla_timeline_order(channel);
        tla_order_add(&result.order, &order);
    }
    return result;
}

std::vector<statistics_part> tcm::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"reads", s.reads, "accesses", "reads that were served"},
              {"writes", s.writes, "accesses", "writes that were served"},
              {"bytes_read", s.bytes_read, "bytes", "what they read"},
              {"bytes_written", s.bytes_written, "bytes", "what they wrote"},
              {"errors", s.errors, "accesses", "answered with an error"},
              {"busy_ps", s.busy_ps, "ps", "sum of both channels"}}}};
}

} // namespace tlmalloc
