// A PE's share of HBM: bytes, and the time of pseudo-channels with banks or without.
#include "tlmalloc/modules/hbm_slice.hpp"

#include "base/passes.h"
#include "modules/kit/payload.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace tlmalloc {

hbm_slice::hbm_slice(sc_core::sc_module_name name, const config &settings)
    : memory_module(
          name, settings.kind,
          {settings.capacity, settings.latency_ps, settings.outstanding, settings.dmi && settings.faults.count == 0}),
      config_(settings), group_resource_(shared_resource::kind::memory, this->name()) {
    faults_.plan = settings.faults;
    make_channels();
    if (settings.energy && (!has_banks() || settings.energy->burst_bytes != settings.timing->burst_bytes))
        refuse_config("energy must be for a timing with banks, and for its bursts");
    for (std::uint32_t i = 0; banks_ && i < tla_banked_channels_groups(banks_.get()); i++)
        groups_.push_back({this, i, UINT64_MAX});
}

static tla_flat_channels_config flat_channels(const hbm_slice::config &c) {
    if (c.timing) return tla_flat_channels_of(&*c.timing, c.pseudo_channels);
    const std::uint64_t burst_ps =
        c.pseudo_channel_bandwidth ? tla_transfer_ps(c.burst, c.pseudo_channel_bandwidth) : 0;
    return {c.pseudo_channels, c.burst, burst_ps, c.direction_switch_ps, 0};
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
    const bool has_bandwidth = config_.timing || config_.pseudo_channel_bandwidth > 0;
    if (!has_bandwidth || tla_flat_channels_create(&channels, &made))
        refuse_config("pseudo_channels and burst must be powers of two, pseudo_channel_bandwidth above 0");
    channels_.reset(made);
}

hbm_slice::~hbm_slice() = default;

void hbm_slice::make_idle() {
    const bool watched = watches_windows();
    const std::uint64_t now = time_queue::of_simulation().now_ps();
    if (watched) end_windows(now);
    const totals before = watched ? totals_at(now) : totals{};
    make_channels();
    const totals after = watched ? totals_at(now) : totals{};
    for (std::size_t i = 0; i < after.size(); i++) // the window began before the reset
        window_start_[i] += after[i] - before[i];
    const tla_fault_injection plan = faults_.plan;
    faults_ = {};
    faults_.plan = plan;
    shown_ = {};
    for (bank_group &g : groups_)
        g.due_ps = UINT64_MAX;
}

// True when the access has been answered with an error, since a pseudo-channel is out.
bool hbm_slice::meets_outage(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps, tla_fault_hits &hits) {
    if (faults_.plan.count == 0) return false;
    hits = meet_faults(payload, arrival_ps);
    if (hits.channel_out) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return hits.channel_out;
}

void hbm_slice::move_unless_lost(tlm::tlm_generic_payload &payload, const tla_fault_hits &hits) {
    if (hits.uncorrectable > 0)
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    else
        move_bytes(payload);
}

// Where the last byte of an access is.
void hbm_slice::note_place(const tlm::tlm_generic_payload &payload, tla_access_times &times) const {
    const std::uint64_t last = payload.get_address() + payload_span(payload) - 1;
    const std::uint32_t burst = config_.timing ? config_.timing->burst_bytes : config_.burst;
    times.unit = tla_time_unit(static_cast<std::uint32_t>(last / burst % config_.pseudo_channels),
                               banks_ ? tla_banked_channels_bank_of(banks_.get(), last) : 0);
}

void hbm_slice::finish(const tlm::tlm_generic_payload &payload, std::uint64_t done_ps) {
    count(payload, done_ps);
    active_.add(done_ps, -1);
}

// Calls visit(nbytes) for each pass over the payload's span: one, and more where it streams.
template <typename Visit>
static void each_pass(const tlm::tlm_generic_payload &payload, Visit visit) {
    const std::uint64_t span = payload_span(payload);
    if (span == payload.get_data_length()) {
        visit(span);
        return;
    }
    const tla_passes all{payload.get_data_length(), span, 0, span};
    std::uint64_t index = 0, nbytes = 0;
    for (std::uint64_t pass = 0; tla_passes_run(&all, pass, &index, &nbytes); pass += span)
        visit(nbytes);
}

std::uint64_t hbm_slice::access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    tla_fault_hits hits{};
    if (meets_outage(payload, arrival_ps, hits)) return arrival_ps; // no time
    std::uint64_t done_ps = arrival_ps;
    each_pass(payload, [&](std::uint64_t nbytes) {
        done_ps = std::max(done_ps, tla_flat_channels_access(channels_.get(), payload.is_write(), payload.get_address(),
                                                             nbytes, arrival_ps));
    });
    done_ps += hits.correctable * config_.ecc_latency_ps;
    move_unless_lost(payload, hits);
    active_.add(arrival_ps, 1);
    finish(payload, done_ps);
    return done_ps;
}

// --- banks -----------------------------------------------------------------------------------------------------------

namespace {

// The state of an access in the banks.
struct banked {
    std::uint64_t end_ps, extra_ps;
    std::uint64_t passes; // in flight
};

} // namespace

void hbm_slice::arrive(in_order_request &request) {
    if (banks_)
        arrive_at_banks(request);
    else
        memory_module::arrive(request);
}

void hbm_slice::arrive_at_banks(in_order_request &request) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const std::uint64_t arrival = request.at_ps;
    tla_fault_hits hits{};
    if (meets_outage(payload, arrival, hits)) {
        answer(request);
        return;
    }
    move_unless_lost(payload, hits);
    active_.add(arrival, 1);
    const std::uint64_t extra = hits.correctable * config_.ecc_latency_ps;
    auto &in_banks = request.push(nullptr, this).state<banked>() = {arrival, extra, 0};
    each_pass(payload, [&](std::uint64_t nbytes) {
        in_banks.passes++;
        if (tla_banked_channels_arrive(banks_.get(), payload.is_write() ? TLA_HBM_WRITE : TLA_HBM_READ,
                                       purpose_of(payload), payload.get_address(), nbytes, arrival, &request))
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
        g.due_ps, group_resource_.number(), number,
        [](void *context, std::uint64_t at_ps) {
            const auto &due = *static_cast<bank_group *>(context);
            due.slice->run_banks(due.number, at_ps);
        },
        &g);
}

void hbm_slice::run_banks(std::uint32_t number, std::uint64_t at_ps) {
    if (groups_[number].due_ps != at_ps) return; // an earlier run, posted later, has replaced it
    groups_[number].due_ps = UINT64_MAX;
    if (watches_windows()) end_windows(at_ps);
    tla_banked_channels_run(
        banks_.get(), number, at_ps,
        [](void *self, void *tag, std::uint64_t end_ps) {
            auto &request = *static_cast<in_order_request *>(tag);
            auto &of_request = request.top().state<banked>();
            of_request.end_ps = std::max(of_request.end_ps, end_ps);
            if (--of_request.passes > 0) return;
            const auto in_banks = request.pop().state<banked>();
            request.at_ps = in_banks.end_ps + in_banks.extra_ps;
            auto &slice = *static_cast<hbm_slice *>(self);
            slice.finish(*request.payload, request.at_ps);
            slice.answer(request);
        },
        this);
    if (row_hits_.is_watched()) show_rows(at_ps);
    constexpr std::uint64_t fj_per_pj = 1000; // 1 pJ in a ns is 1 mW
    if (energy_.is_watched()) energy_.set(at_ps, energy_fj_at(at_ps) / fj_per_pj);
    schedule(number);
}

// Finds the faults of an access, counts them and reports them.
tla_fault_hits hbm_slice::meet_faults(const tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) {
    tla_fault_geometry geometry{config_.timing ? config_.timing->burst_bytes : config_.burst, config_.pseudo_channels,
                                nullptr, banks_.get()};
    if (banks_)
        geometry.bank_of = [](const void *banks, std::uint64_t offset) {
            return tla_banked_channels_bank_of(static_cast<const tla_banked_channels *>(banks), offset);
        };
    const tla_fault_hits hits = tla_faults_access(&faults_, &geometry, payload.is_write(), payload.get_address(),
                                                  payload_span(payload), arrival_ps);
    corrected_ += hits.correctable;
    uncorrectable_ += hits.uncorrectable;
    channel_errors_ += hits.channel_out;
    counts_.errors += hits.channel_out || hits.uncorrectable > 0;
    if (hits.channel_out)
        report_fault("/tlmalloc/hbm_slice/channel", "a pseudo-channel or bank has failed", payload, arrival_ps);
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

void hbm_slice::show_rows(std::uint64_t at_ps) {
    const tla_hbm_stats now = tla_banked_channels_get_stats(banks_.get());
    const auto grow = [&](figure &f, std::uint64_t tla_hbm_stats::*member) {
        if (now.*member != shown_.*member) f.add(at_ps, static_cast<std::int64_t>(now.*member - shown_.*member));
    };
    grow(row_hits_, &tla_hbm_stats::row_hits);
    grow(row_misses_, &tla_hbm_stats::row_misses);
    grow(row_conflicts_, &tla_hbm_stats::row_conflicts);
    grow(refreshes_, &tla_hbm_stats::refreshes);
    grow(activates_, &tla_hbm_stats::activates);
    grow(read_commands_, &tla_hbm_stats::read_commands);
    grow(write_commands_, &tla_hbm_stats::write_commands);
    shown_ = now;
}

std::uint64_t hbm_slice::energy_fj_at(std::uint64_t at_ps) const {
    const tla_dram_activity so_far = activity_at(at_ps);
    tla_dram_energy_sum sum{};
    tla_dram_energy_add_up(&*config_.energy, &*config_.timing, &so_far, &sum, nullptr);
    return sum.total_fj;
}

// --- windows of the waveform -----------------------------------------------------------------------------------------

bool hbm_slice::watches_windows() const {
    return std::any_of(std::begin(of_windows_), std::end(of_windows_), [](const figure &f) { return f.is_watched(); });
}

hbm_slice::totals hbm_slice::totals_at(std::uint64_t at_ps) const {
    const tla_hbm_stats s = tla_banked_channels_get_stats(banks_.get());
    const bool with_energy = std::end(of_windows_)[-1].is_watched(); // costly
    return {s.activates, s.read_commands, s.write_commands, with_energy ? energy_fj_at(at_ps) : 0};
}

// 1 fJ in a ps is 1 mW. An energy can shrink, because rows count as open until the run that finds them closed
// (tla_banked_channels_stats_at); the next window makes up for it.
void hbm_slice::show_windows(std::uint64_t until_ps) {
    if (!watches_windows()) return;
    for (; window_end_ps_ <= until_ps; window_end_ps_ += waveform::window_ps) {
        const totals now = totals_at(window_end_ps_);
        for (std::size_t i = 0; i < now.size(); i++) {
            const bool is_energy = i + 1 == now.size();
            const std::uint64_t change = now[i] - window_start_[i];
            const std::uint64_t grown = static_cast<std::int64_t>(change) < 0 ? 0 : change;
            window_start_[i] += grown;
            of_windows_[i].set(window_end_ps_, grown / (is_energy ? waveform::window_ps : 1));
        }
    }
}

std::uint64_t hbm_slice::word_ps(bool write) const {
    return banks_ ? tla_banked_channels_latency_ps(banks_.get(), write ? TLA_HBM_WRITE : TLA_HBM_READ) : burst_ps_;
}

hbm_slice::statistics hbm_slice::get_statistics() const {
    time_queue::catch_up_all();
    statistics result{counts_};
    result.corrected = corrected_;
    result.uncorrectable = uncorrectable_;
    result.channel_errors = channel_errors_;
    if (!banks_) {
        result.busy_ps = tla_flat_channels_busy_ps(channels_.get());
        return result;
    }
    const tla_hbm_stats s = tla_banked_channels_get_stats(banks_.get());
    const tla_hbm_stats now =
        tla_banked_channels_stats_at(banks_.get(), time_queue::of_simulation().now_ps(), &result.open_time);
    result.busy_ps = tla_banked_channels_busy_ps(banks_.get());
    result.row_hits = s.row_hits;
    result.row_misses = s.row_misses;
    result.row_conflicts = s.row_conflicts;
    result.refreshes = s.refreshes;
    result.activates = s.activates;
    result.idle_refreshes = now.refreshes - s.refreshes;
    result.precharges = now.precharges + now.precharges_all;
    result.read_commands = s.read_commands;
    result.write_commands = s.write_commands;
    for (const int op : {TLA_HBM_READ, TLA_HBM_WRITE}) {
        std::copy(std::begin(s.commands_for[op]), std::end(s.commands_for[op]), result.commands_for[op]);
        std::copy(std::begin(s.activates_for[op]), std::end(s.activates_for[op]), result.activates_for[op]);
    }
    return result;
}

tla_dram_activity hbm_slice::activity() const {
    time_queue::catch_up_all();
    return banks_ ? activity_at(time_queue::of_simulation().now_ps()) : tla_dram_activity{};
}

tla_dram_activity hbm_slice::activity_at(std::uint64_t at_ps) const {
    tla_dram_activity result{};
    result.stats = tla_banked_channels_stats_at(banks_.get(), at_ps, &result.open_time);
    result.pseudo_channel_ps = at_ps * config_.pseudo_channels;
    return result;
}

std::vector<statistics_group> hbm_slice::list_statistics() const {
    const statistics s = get_statistics();
    statistics_group all = list_accesses();
    const auto add = [&all](const statistic &row) { all.statistics.push_back(row); };
    add({"busy_ps", s.busy_ps, "ps", "busy time, summed over the pseudo-channels"});
    add({"corrected", s.corrected, "bit errors", "in reads, corrected by ECC"});
    add({"uncorrectable", s.uncorrectable, "bit errors", "in reads, not correctable by ECC"});
    add({"channel_errors", s.channel_errors, "accesses", "to a failed pseudo-channel or bank"});
    if (!has_banks()) return {all};
    add({"row_hits", s.row_hits, "bursts", "to an open row"});
    add({"row_misses", s.row_misses, "bursts", "to a bank without an open row"});
    add({"row_conflicts", s.row_conflicts, "bursts", "to a bank with another row open"});
    add({"refreshes", s.refreshes, "commands", "refreshes"});
    add({"idle_refreshes", s.idle_refreshes, "commands", "refreshes since the last burst"});
    add({"activates", s.activates, "commands", "activates of a row"});
    add({"precharges", s.precharges, "commands", "precharges of a bank or of all"});
    add({"read_commands", s.read_commands, "commands", "reads of a burst"});
    add({"write_commands", s.write_commands, "commands", "writes of a burst"});
    add({"all_closed_ps", s.open_time.all_closed_ps, "ps", "without an open row, summed over the pseudo-channels"});
    add({"open_bank_ps", s.open_time.open_bank_ps, "ps", "with an open row, summed over the banks"});
    return {all};
}

} // namespace tlmalloc
