// A local memory: bytes behind a read channel and a write channel.
#include "tlmalloc/modules/tcm.hpp"

#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

tcm::tcm(sc_core::sc_module_name name, const config &settings)
    : memory_module(name, settings.kind, {settings.capacity, settings.latency_ps, settings.outstanding, settings.dmi}),
      config_(settings), write_resource_(shared_resource::kind::memory, this->name()) {
    if (settings.read_bandwidth == 0 || settings.write_bandwidth == 0)
        refuse_config("read_bandwidth and write_bandwidth must be above 0");
}

std::uint64_t tcm::access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    const bool write = payload.is_write();
    const requester *const who = payload.get_extension<requester>();
    if (who && who->overlaps) return move(payload, arrival_ps);
    const std::uint64_t busy = tla_transfer_ps(payload.get_data_length(), bandwidth(write));
    const std::uint64_t start_ps = tla_timeline_serve(write ? &write_ : &read_, arrival_ps, busy);
    busy_ps_ += busy;
    return move(payload, start_ps + busy);
}

// At one time reads go first, except for a read that was sent after a write of the same bytes.
std::uint32_t tcm::resource_of(const in_order_request &request) {
    const bool write = request.payload->is_write();
    const bool follows = !write && writes_.before(*request.payload);
    if (write) writes_.add(request);
    return write || follows ? write_resource_.number() : memory_module::resource_of(request);
}

void tcm::arrive(in_order_request &request) {
    if (request.payload->is_write()) writes_.arrived(request);
    memory_module::arrive(request);
}

void tcm::make_idle() {
    read_ = write_ = {};
}

std::uint64_t tcm::word_ps(bool write) const {
    return tla_transfer_ps(in.get_bus_width() / 8, bandwidth(write));
}

tcm::statistics tcm::get_statistics() const {
    time_queue::catch_up_all();
    return {counts_, busy_ps_};
}

std::vector<statistics_group> tcm::list_statistics() const {
    statistics_group all = list_accesses();
    all.statistics.push_back({"busy_ps", busy_ps_, "ps", "busy time, summed over both channels"});
    return {all};
}

} // namespace tlmalloc
