// A PE's share of HBM: bytes, and the time of pseudo-channels with banks or without.
#include "tlmalloc/modules/hbm_slice.hpp"

#include "base/passes.h"
#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/base/sparse_bytes.h"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/timing/timeline.h"

#include <algorithm>
#include <string>

namespace tlmalloc {

hbm_slice::hbm_slice(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "hbm_slice"), config_(settings),
      at_(
          "in", settings.outstanding, [this](int, auto &payload, auto &delay) { b_transport(payload, delay); },
          [this](int, auto &payload, auto &phase, auto &delay) { return in->nb_transport_bw(payload, phase, delay); }) {
    faults_.plan = settings.faults;
    make_channels();
    if (tla_sparse_bytes_create(settings.capacity, &bytes_))
        refuse_config("the host cannot reserve address space for the capacity");
    in.register_b_transport(this, &hbm_slice::b_transport);
    in.register_nb_transport_fw(this, &hbm_slice::nb_transport_fw);
    in.register_transport_dbg(this, &hbm_slice::transport_dbg);
    in.register_get_direct_mem_ptr(this, &hbm_slice::get_direct_mem_ptr);
    if (settings.style == time_style::fast) return;
    resource_ = time_queue::of_simulation().new_resource();
    group_resource_ = time_queue::of_simulation().new_resource();
    for (std::uint32_t i = 0; banks_ && i < tla_banked_channels_groups(banks_.get()); i++)
        groups_.push_back({this, i, UINT64_MAX});
}

static tla_flat_channels_config flat_channels(const hbm_slice::config &c) {
    const bool in_order = c.style == time_style::exact;
    if (c.timing) return tla_flat_channels_of(&*c.timing, c.pseudo_channels, in_order);
    const std::uint64_t burst_ps =
        c.pseudo_channel_bandwidth ? tla_transfer_ps(c.burst, c.pseudo_channel_bandwidth) : 0;
    return {c.pseudo_channels, c.burst, burst_ps, c.direction_switch_ps, in_order, 0};
}

// With banks where the profile has some, else flat.
void hbm_slice::make_channels() {
    tla_error error;
    if (config_.timing && tla_hbm_check(&*config_.timing, &error)) refuse_config(std::string("timing: ") + error.text);
    if (config_.timing && config_.timing->model == TLA_HBM_BANKS) {
        const tla_banked_channels_config channels{*config_.timing, config_.pseudo_channels, config_.capacity};
        tla_banked_channels *made = nullptr;
        if (tla_banked_channels_create(&channels, &made, &error)) refuse_config(std::string("timing: ") + error.text);
        banks_.reset(made);
        return;
    }
    const tla_flat_channels_config channels = flat_channels(config_);
    burst_ps_ = channels.burst_ps;
    tla_flat_channels *made = nullptr;
    if (tla_flat_channels_create(&channels, &made))
        refuse_config("pseudo_channels and burst must be powers of two, pseudo_channel_bandwidth above 0");
    channels_.reset(made);
}

void hbm_slice::end_of_elaboration() {
    if (config_.style == time_style::exact) announce_in_order(in.get_base_interface(), *this, 0);
}

hbm_slice::~hbm_slice() {
    leave_in_order(*this);
    tla_sparse_bytes_destroy(bytes_, config_.capacity);
}

// True when there is something to do for the payload; else it has been answered.
bool hbm_slice::accept(tlm::tlm_generic_payload &payload) {
    return accept_payload(payload, config_.capacity, config_.dmi && faults_.plan.count == 0, statistics_.errors);
}

// True when the access has been answered with an error, since a pseudo-channel is out.
bool hbm_slice::meets_outage(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps, tla_fault_hits &hits) {
    if (faults_.plan.count == 0) return false;
    hits = meet_faults(payload, arrival_ps);
    if (hits.channel_out) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return hits.channel_out;
}

void hbm_slice::move(tlm::tlm_generic_payload &payload, const tla_fault_hits &hits) {
    if (hits.uncorrectable > 0)
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    else
        copy_payload(payload, bytes_);
}

void hbm_slice::count(const tlm::tlm_generic_payload &payload, std::uint64_t done_ps) {
    const bool write = payload.is_write();
    const std::uint64_t length = payload.get_data_length();
    ++(write ? statistics_.writes : statistics_.reads);
    (write ? statistics_.bytes_written : statistics_.bytes_read) += length;
    (write ? bytes_written_ : bytes_read_).add(done_ps, static_cast<std::int64_t>(length));
    active_.add(done_ps, -1);
}

// Calls visit(nbytes) for each pass over the payload's span: one, and more where it streams.
template <typename Visit>
static void each_pass(const tlm::tlm_generic_payload &payload, Visit visit) {
    const std::uint64_t span = payload_span(payload);
    const tla_passes all{payload.get_data_length(), span, 0, span};
    std::uint64_t index = 0, nbytes = 0;
    for (std::uint64_t pass = 0; tla_passes_run(&all, pass, &index, &nbytes); pass += span)
        visit(nbytes);
}

void hbm_slice::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    if (config_.style == time_style::exact) {
        serve_waiting(*this, 0, payload, delay);
        return;
    }
    if (!accept(payload)) return;
    __builtin_prefetch(bytes_ + payload.get_address()); // on its way while the time is found
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp()), arrival = now + to_ps(delay) + config_.latency_ps;
    tla_fault_hits hits{};
    if (meets_outage(payload, arrival, hits)) return;
    std::uint64_t done = arrival;
    each_pass(payload, [&](std::uint64_t nbytes) {
        done = std::max(done, serve(payload.is_write(), payload.get_address(), nbytes, arrival));
    });
    done += hits.correctable * config_.ecc_latency_ps;
    move(payload, hits);
    active_.add(arrival, 1);
    count(payload, done);
    delay = from_ps(done - now);
}

// --- exact -----------------------------------------------------------------------------------------------------------

namespace {

// Of an access that is in the banks.
struct banked {
    std::uint64_t end_ps, extra_ps;
    std::uint64_t passes; // that are under way
};

} // namespace

void hbm_slice::begin(in_order_request &request, unsigned port) {
    if (!accept(*request.payload)) {
        request.finish();
        return;
    }
    request.at_ps += config_.latency_ps;
    request.push(nullptr, this);
    time_queue::of_simulation().post(
        request.at_ps, resource_, port,
        [](void *context, std::uint64_t) {
            auto &r = *static_cast<in_order_request *>(context);
            static_cast<hbm_slice *>(r.top().module)->arrive(r);
        },
        &request);
}

void hbm_slice::arrive(in_order_request &request) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const std::uint64_t arrival = request.at_ps;
    tla_fault_hits hits{};
    if (meets_outage(payload, arrival, hits)) {
        request.pop();
        request.finish();
        return;
    }
    move(payload, hits);
    active_.add(arrival, 1);
    const std::uint64_t extra = hits.correctable * config_.ecc_latency_ps;
    if (!banks_) {
        std::uint64_t done = arrival;
        each_pass(payload, [&](std::uint64_t nbytes) {
            done = std::max(done, tla_flat_channels_access(channels_.get(), payload.is_write(), payload.get_address(),
                                                           nbytes, arrival));
        });
        request.at_ps = done + extra;
        count(payload, request.at_ps);
        request.pop();
        request.finish();
        return;
    }
    auto &in_banks = request.top().state<banked>() = {arrival, extra, 0};
    each_pass(payload, [&](std::uint64_t nbytes) {
        in_banks.passes++;
        if (tla_banked_channels_arrive(banks_.get(), payload.is_write() ? TLA_HBM_WRITE : TLA_HBM_READ,
                                       payload.get_address(), nbytes, arrival, &request))
            SC_REPORT_ERROR("/tlmalloc/hbm_slice/host_memory", "no host memory for an access");
    });
    const std::uint32_t burst = config_.timing->burst_bytes, groups = static_cast<std::uint32_t>(groups_.size());
    const std::uint64_t first = payload.get_address() / burst,
                        last = (payload.get_address() + payload_span(payload) - 1) / burst;
    for (std::uint64_t i = first; i <= last && i < first + groups; i++)
        schedule(static_cast<std::uint32_t>(i % groups));
}

// Lets the queue run a group of pseudo-channels when it has something to do.
void hbm_slice::schedule(std::uint32_t number) {
    bank_group &g = groups_[number];
    time_queue &queue = time_queue::of_simulation();
    const std::uint64_t next = tla_banked_channels_next_ps(banks_.get(), number);
    if (next == UINT64_MAX || (g.due_ps != UINT64_MAX && g.due_ps <= next)) return;
    g.due_ps = std::max(next, queue.now_ps());
    queue.post(
        g.due_ps, group_resource_, number,
        [](void *context, std::uint64_t at_ps) {
            const auto &due = *static_cast<bank_group *>(context);
            due.slice->run_banks(due.number, at_ps);
        },
        &g);
}

void hbm_slice::run_banks(std::uint32_t number, std::uint64_t at_ps) {
    if (groups_[number].due_ps != at_ps) return; // has been run at an earlier time that came up later
    groups_[number].due_ps = UINT64_MAX;
    tla_banked_channels_run(
        banks_.get(), number, at_ps,
        [](void *self, void *tag, std::uint64_t end_ps) {
            auto &request = *static_cast<in_order_request *>(tag);
            auto &of_request = request.top().state<banked>();
            of_request.end_ps = std::max(of_request.end_ps, end_ps);
            if (--of_request.passes > 0) return;
            const auto in_banks = request.pop().state<banked>();
            request.at_ps = in_banks.end_ps + in_banks.extra_ps;
            static_cast<hbm_slice *>(self)->count(*request.payload, request.at_ps);
            request.finish();
        },
        this);
    if (row_hits_.is_watched()) show_rows(at_ps);
    schedule(number);
}

// What an access meets, counted and reported.
tla_fault_hits hbm_slice::meet_faults(const tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    tla_fault_geometry geometry{config_.timing ? config_.timing->burst_bytes : config_.burst, config_.pseudo_channels,
                                nullptr, banks_.get()};
    if (banks_)
        geometry.bank_of = [](const void *banks, std::uint64_t offset) {
            return tla_banked_channels_bank_of(static_cast<const tla_banked_channels *>(banks), offset);
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
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (!banks_) {
        tla_flat_channels_forget(channels_.get(), now);
        return tla_flat_channels_access(channels_.get(), write, offset, nbytes, arrival_ps);
    }
    tla_banked_channels_forget(banks_.get(), now);
    const std::uint64_t done =
        tla_banked_channels_access(banks_.get(), write ? TLA_HBM_WRITE : TLA_HBM_READ, offset, nbytes, arrival_ps);
    if (row_hits_.is_watched()) show_rows(done);
    return done;
}

void hbm_slice::show_rows(std::uint64_t at_ps) {
    const tla_hbm_stats now = tla_banked_channels_get_stats(banks_.get());
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
        return config_.latency_ps + (banks_ ? tla_banked_channels_latency_ps(banks_.get(), op) : burst_ps_);
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
        result.busy_ps = tla_flat_channels_busy_ps(channels_.get());
        result.order = tla_flat_channels_order(channels_.get());
        return result;
    }
    if (config_.style == time_style::fast) // nobody else lets the buffered writes go on
        for (std::uint32_t i = 0; i < tla_banked_channels_groups(banks_.get()); i++)
            tla_banked_channels_run(banks_.get(), i, to_ps(sc_core::sc_time_stamp()), nullptr, nullptr);
    const tla_hbm_stats s = tla_banked_channels_get_stats(banks_.get());
    result.busy_ps = tla_banked_channels_busy_ps(banks_.get());
    result.order = tla_banked_channels_order(banks_.get());
    result.row_hits = s.row_hits;
    result.row_misses = s.row_misses;
    result.row_conflicts = s.row_conflicts;
    result.refreshes = s.refreshes;
    return result;
}

std::vector<statistics_part> hbm_slice::list_statistics() const {
    const statistics s = get_statistics();
    statistics_part all{{{"reads", s.reads, "accesses", "reads that were served"},
                         {"writes", s.writes, "accesses", "writes that were served"},
                         {"bytes_read", s.bytes_read, "bytes", "what they read"},
                         {"bytes_written", s.bytes_written, "bytes", "what they wrote"},
                         {"errors", s.errors, "accesses", "answered with an error"},
                         {"busy_ps", s.busy_ps, "ps", "sum over the pseudo-channels"},
                         {"corrected", s.corrected, "bit errors", "that reads met and ECC corrected"},
                         {"uncorrectable", s.uncorrectable, "bit errors", "that reads met and ECC could not correct"},
                         {"channel_errors", s.channel_errors, "accesses", "to a pseudo-channel that is out"}}};
    if (!has_banks()) return {all};
    for (const statistic &row :
         {statistic{"row_hits", s.row_hits, "bursts", "to a row that was open"},
          statistic{"row_misses", s.row_misses, "bursts", "to a bank without an open row"},
          statistic{"row_conflicts", s.row_conflicts, "bursts", "to a bank with another row open"},
          statistic{"refreshes", s.refreshes, "commands", "refreshes"}})
        all.statistics.push_back(row);
    return {all};
}

} // namespace tlmalloc
