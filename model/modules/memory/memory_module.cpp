// Bytes behind a target socket.
#include "tlmalloc/modules/memory_module.hpp"

#include "base/sparse_bytes.h"
#include "modules/kit/dmi.hpp"
#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

memory_module::memory_module(const sc_core::sc_module_name &name, const char *kind, const memory_config &settings)
    : instrumented(name, kind), in("in", *this, *this, settings.outstanding), memory_(settings),
      resource_(shared_resource::kind::memory, this->name()) {
    if (settings.capacity == 0) refuse_config("the capacity must be at least 1 byte");
    if (tla_sparse_bytes_create(settings.capacity, &bytes_))
        refuse_config("the host cannot reserve address space for the capacity");
}

memory_module::~memory_module() {
    tla_sparse_bytes_destroy(bytes_, memory_.capacity);
}

void memory_module::begin(in_order_request &request, unsigned input) {
    if (refuses(*request.payload) || refuses_exclusive(*request.payload) ||
        !accept_payload(*request.payload, memory_.capacity, memory_.dmi, counts_.errors)) {
        request.finish();
        return;
    }
    begun();
    __builtin_prefetch(bytes_ + request.payload->get_address()); // on its way while the time is found
    if (tla_access_times *const times = times_of(*request.payload))
        note_arrival(*request.payload, *times, request.at_ps);
    request.at_ps += memory_.latency_ps;
    request.arrive_at<&memory_module::arrive>(resource_of(request), input, *this);
}

void memory_module::arrive(in_order_request &request) {
    request.at_ps = access(*request.payload, request.at_ps);
    answer(request);
}

void memory_module::note_arrival(const tlm::tlm_generic_payload &payload, tla_access_times &times,
                                 std::uint64_t at_ps) const {
    note_time(times.arrived_ps, at_ps);
    note_place(payload, times);
}

void memory_module::answer(in_order_request &request) {
    if (tla_access_times *const times = times_of(*request.payload)) note_time(times->served_ps, request.at_ps);
    ended();
    request.finish();
}

void memory_module::begin_reset() {
    in.withdraw_dmi(0, memory_.capacity - 1);
}

void memory_module::make_new() {
    tla_sparse_bytes_clear(bytes_, memory_.capacity);
    make_idle();
}

void memory_module::move_bytes(tlm::tlm_generic_payload &payload) {
    copy_payload(payload, bytes_);
}

void memory_module::count(const tlm::tlm_generic_payload &payload, std::uint64_t done_ps) {
    const bool write = payload.is_write();
    const std::uint64_t length = payload.get_data_length();
    ++(write ? counts_.writes : counts_.reads);
    (write ? counts_.bytes_written : counts_.bytes_read) += length;
    (write ? counts_.bytes_written_for : counts_.bytes_read_for)[purpose_of(payload)] += length;
    (write ? bytes_written_ : bytes_read_).add(done_ps, static_cast<std::int64_t>(length));
}

std::uint64_t memory_module::move(tlm::tlm_generic_payload &payload, std::uint64_t done_ps) {
    move_bytes(payload);
    count(payload, done_ps);
    return done_ps;
}

bool memory_module::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    time_queue::keep_in_step();
    if (!memory_.dmi || in_reset()) return refuse_dmi(dmi);
    if (payload.get_address() >= memory_.capacity) return refuse_dmi(dmi, {memory_.capacity, UINT64_MAX});
    tlmalloc::grant_dmi(dmi, bytes_, memory_.capacity, memory_.latency_ps + word_ps(false),
                        memory_.latency_ps + word_ps(true));
    return true;
}

unsigned memory_module::debug(tlm::tlm_generic_payload &payload) {
    time_queue::catch_up_all();
    return debug_copy(payload, bytes_, memory_.capacity);
}

statistics_group memory_module::list_accesses() const {
    time_queue::catch_up_all();
    return {{{"reads", counts_.reads, "accesses", "completed reads"},
             {"writes", counts_.writes, "accesses", "completed writes"},
             {"bytes_read", counts_.bytes_read, "bytes", "read"},
             {"bytes_written", counts_.bytes_written, "bytes", "written"},
             {"errors", counts_.errors, "accesses", "completed with an error response"}}};
}

} // namespace tlmalloc
