// The cases of a platform, and their transfers.
#include "topology/probe_cases.hpp"

#include "cli/main_stack.hpp"
#include "cli/message.h"
#include "cli/report_words.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace tlmalloc {

namespace {

struct destroy_fabric {
    void operator()(tla_fabric *fabric) const { tla_fabric_destroy(fabric); }
};

// The ways of a platform.
class ways {
  public:
    explicit ways(const tla_config &config) : config_(config), links_(fabric_config(config)) {
        tla_fabric *made = nullptr;
        tla_fabric_create(links_.nodes.data(), static_cast<std::uint32_t>(links_.nodes.size()), links_.links.data(),
                          links_.links.size(), links_.flit, &made);
        fabric_.reset(made);
    }

    bool exist() const { return fabric_ != nullptr; }

    std::uint32_t slice_of(const pe_location &l) const {
        tla_paddr pa{};
        tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, config_.hbm.capacity, &pa);
        return node_at(pa);
    }
    std::uint32_t pe(const pe_location &l) const {
        tla_paddr pa{};
        tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &pa);
        return node_at(pa);
    }
    std::uint32_t host_memory() const {
        tla_paddr pa{};
        tla_paddr_host_memory(0, &pa);
        return node_at(pa);
    }
    // The end point of SIP 0 is the initiator behind the host and the VA manager (topology.cpp).
    std::uint32_t end_point() const { return links_.sources[2]; }

    std::uint64_t latency_ps(std::uint32_t from, std::uint32_t to) const {
        std::uint64_t ps = UINT64_MAX;
        std::uint32_t count = 0;
        tla_fabric_path(fabric_.get(), from, to, &ps, &count);
        return ps;
    }

    void describe(probe_case &c, std::uint32_t from, std::uint32_t to) const {
        c.overhead_ps = links_.nodes[from].overhead_ps;
        c.bandwidth = UINT64_MAX;
        std::uint64_t ps = 0;
        tla_fabric_path(fabric_.get(), from, to, &ps, &c.links);
        std::vector<std::uint32_t> numbers(c.links);
        tla_fabric_path_links(fabric_.get(), from, to, numbers.data());
        for (const std::uint32_t number : numbers) {
            const tla_fabric_link &link = links_.links[number];
            c.wire_ps += link.latency_ps;
            c.bandwidth = std::min(c.bandwidth, link.bandwidth_bytes_per_s);
            c.overhead_ps += links_.nodes[link.to].overhead_ps;
        }
    }

  private:
    std::uint32_t node_at(tla_paddr pa) const {
        for (const interconnect::window &w : links_.windows)
            if (w.base == pa.value) return links_.targets[w.target];
        return 0;
    }

    const tla_config &config_;
    const interconnect::config links_;
    std::unique_ptr<tla_fabric, destroy_fabric> fabric_;
};

// Returns the slice of a SIP's cubes from `first` on that is the nearest to a PE, or the farthest; ties: the first.
pe_location choose(const ways &paths, const tla_config &c, const pe_location &from, unsigned sip, unsigned first,
                   bool farthest) {
    pe_location best{sip, first, 0};
    std::uint64_t best_ps = farthest ? 0 : UINT64_MAX;
    const unsigned cubes = c.system.cube_mesh_width * c.system.cube_mesh_height;
    for (unsigned cube = first; cube < cubes; cube++)
        for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++) {
            const std::uint64_t ps = paths.latency_ps(paths.pe(from), paths.slice_of({sip, cube, pe}));
            if (farthest ? ps <= best_ps : ps >= best_ps) continue;
            best = {sip, cube, pe};
            best_ps = ps;
        }
    return best;
}

} // namespace

std::uint64_t probe_case::formula_ps(std::uint64_t nbytes) const {
    return wire_ps + overhead_ps + tla_transfer_ps(nbytes, bandwidth);
}

std::string probe_case::target_name() const {
    return memory == TLA_HOST_MEMORY ? "host.memory" : to_string(target);
}

tla_status probe_cases(const tla_config &config, std::vector<probe_case> &cases) {
    const ways paths(config);
    if (!paths.exist()) return TLA_NO_HOST_MEMORY;
    const pe_location first{0, 0, 0};
    const unsigned pes = config.system.pes_per_cube;
    const unsigned cubes = config.system.cube_mesh_width * config.system.cube_mesh_height;
    const auto add = [&](const char *name, const char *about, probe_kind kind, pe_location target, bool inside,
                         bool exists, const char *lacking) {
        probe_case c{name, about, kind, target, TLA_HBM, exists ? "" : lacking, inside};
        if (exists)
            paths.describe(c, kind == probe_kind::pe_write ? paths.pe(first) : paths.end_point(),
                           paths.slice_of(target));
        cases.push_back(c);
    };
    const probe_kind pe = probe_kind::pe_write;
    add("h2d", "host to device", probe_kind::host_write, first, true, true, "");
    add("d2h", "device to host", probe_kind::host_read, first, false, true, "");
    add("local", "PE 0 to its own slice", pe, first, true, true, "");
    add("same_half", "PE 0 to the slice of PE 1", pe, {0, 0, 1}, true, pes > 2, "a half of a cube has one PE");
    add("cross_half", "PE 0 to the other half of its cube", pe, {0, 0, (pes + 1) / 2}, true, pes > 1,
        "a cube has one PE");
    add("cross_cube_best", "PE 0 to the nearest slice of another cube", pe,
        cubes > 1 ? choose(paths, config, first, 0, 1, false) : first, true, cubes > 1, "a SIP has one cube");
    add("cross_cube_worst", "PE 0 to the farthest slice of its SIP", pe,
        cubes > 1 ? choose(paths, config, first, 0, 1, true) : first, true, cubes > 1, "a SIP has one cube");
    add("cross_sip", "PE 0 to the nearest slice of SIP 1", pe,
        config.system.sips > 1 ? choose(paths, config, first, 1, 0, false) : first, false, config.system.sips > 1,
        "the platform has one SIP");
    const bool has_room = config.host_memory.capacity >= 1 << 20; // the longest transfer
    probe_case to_host{"to_host", "PE 0 to the host's memory", pe, first, TLA_HOST_MEMORY, "", false};
    if (has_room)
        paths.describe(to_host, paths.pe(first), paths.host_memory());
    else
        to_host.skipped =
            config.host_memory.capacity ? "the host's memory has less than 1 MiB" : "the host has no memory";
    cases.push_back(to_host);
    return TLA_OK;
}

// --- in a process of its own -----------------------------------------------------------------------------------------

namespace {

// Modules' reports go to stderr; an error ends the measurement, and is reported with its result.
void report(const sc_core::sc_report &r, const sc_core::sc_actions &actions) {
    if (actions & sc_core::SC_THROW) throw r;
    if (r.get_severity() >= sc_core::SC_WARNING)
        print_message("tlmalloc probe: warning: %s: %s", r.get_msg_type(), r.get_msg());
}

class measurement {
  public:
    measurement(const tla_config &config, const probe_case &what, std::uint64_t nbytes)
        : what_(what), nbytes_(nbytes), platform_("npu", config, {}) {
        platform_.host().main = [this] {
            tla_error error{};
            result_.status = run(error);
            if (result_.status) std::snprintf(result_.text, sizeof result_.text, "%s", error.text);
            sc_core::sc_pause();
        };
    }

    probe_result simulate() {
        sc_core::sc_start();
        restore_main_stack();
        return result_;
    }

  private:
    tla_status run(tla_error &error) {
        tensor *bytes = nullptr;
        if (const tla_status status = platform_.host().create_tensor(
                "probe", nbytes_, 1, {{what_.target}, spread::split, what_.memory}, &bytes, &error))
            return status;
        const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
        const tla_status status = transfer(*bytes);
        result_.duration_ps = to_ps(sc_core::sc_time_stamp()) - start;
        return status ? tla_error_set(&error, status, "the transfer failed: %s", tla_status_text(status)) : TLA_OK;
    }

    tla_status transfer(const tensor &to) {
        if (what_.kind != probe_kind::pe_write) {
            const std::uint64_t pa = to.shards.front().pa.value;
            std::vector<std::uint8_t> buffer(nbytes_);
            if (what_.kind == probe_kind::host_read) fill(pa, buffer);
            return platform_.end_point_of(0).move(what_.kind == probe_kind::host_write ? tlm::TLM_WRITE_COMMAND
                                                                                       : tlm::TLM_READ_COMMAND,
                                                  pa, buffer.data(), nbytes_);
        }
        pe_dma::request request{};
        request.way = pe_dma::direction::write;
        request.va = to.va;
        request.rows = 1;
        request.row_bytes = request.pitch = nbytes_;
        request.has_tile = false;
        sc_core::sc_time delay;
        const tla_status status = platform_.pes()[0]->dma.transfer(request, delay);
        sc_core::wait(delay);
        return status;
    }

    // In no time: a guard rejects reads of bytes that were never written.
    void fill(std::uint64_t pa, std::vector<std::uint8_t> &bytes) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(pa);
        payload.set_data_ptr(bytes.data());
        payload.set_data_length(static_cast<unsigned>(bytes.size()));
        payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
        platform_.end_point_of(0).out->transport_dbg(payload);
    }

    const probe_case what_;
    const std::uint64_t nbytes_;
    npu platform_;
    probe_result result_{TLA_NOT_FOUND, 0, "the simulation ended before the transfer completed"};
};

} // namespace

probe_result probe_measure(const tla_config &config, const probe_case &what, std::uint64_t nbytes) {
    probe_result result{TLA_IO, 0, "cannot start a process for a simulation"};
    int ends[2];
    if (pipe(ends)) return result;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        probe_result measured{TLA_NO_HOST_MEMORY, 0, "the simulation failed"};
        sc_core::sc_report_handler::set_handler(report);
        try {
            measured = measurement(config, what, nbytes).simulate();
        } catch (const sc_core::sc_report &r) {
            std::snprintf(measured.text, sizeof measured.text, "%s", words_of(r).c_str());
        } catch (const std::exception &e) {
            std::snprintf(measured.text, sizeof measured.text, "%s", e.what());
        }
        const bool told = write(ends[1], &measured, sizeof measured) == static_cast<ssize_t>(sizeof measured);
        _exit(told ? 0 : 1); // outputs that are open are the parent's
    }
    close(ends[1]);
    probe_result received{};
    if (child > 0 && read(ends[0], &received, sizeof received) == static_cast<ssize_t>(sizeof received))
        result = received;
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return result;
}

// --- stages ----------------------------------------------------------------------------------------------------------

namespace {

std::uint64_t chunk_of(const tla_config &config, const probe_case &what) {
    return what.kind == probe_kind::pe_write ? config.dma.chunk : end_point::config().chunk;
}

std::uint64_t round_up(std::uint64_t number, std::uint64_t divisor) {
    return number / divisor + (number % divisor > 0);
}

// The bursts of all chunks, over all channels; 0 where bursts take no time.
std::uint64_t channels_ps(const tla_config &config, const probe_case &what, std::uint64_t nbytes) {
    const hbm_slice::config slice = slice_config(config, what.target);
    const std::uint64_t burst = slice.timing ? slice.timing->burst_bytes : slice.burst;
    const std::uint64_t burst_ps = slice.timing ? std::uint64_t{slice.timing->burst_cycles} * slice.timing->tck_ps
                                                : tla_transfer_ps(burst, slice.pseudo_channel_bandwidth);
    const std::uint64_t chunk = chunk_of(config, what);
    return round_up(nbytes, chunk) * round_up(chunk, burst) * burst_ps / slice.pseudo_channels;
}

// The chunks of a window, each of which is issued when an earlier one is back.
tla_status window_ps(const tla_config &config, const probe_case &what, std::uint64_t nbytes, std::uint64_t &ps,
                     tla_error &error) {
    const std::uint64_t chunk = config.dma.chunk, outstanding = config.dma.outstanding;
    if (chunk * outstanding >= nbytes) return TLA_OK;
    tla_config one = config;
    one.dma.outstanding = 1;
    std::uint64_t taken_ps[2] = {};
    for (std::uint64_t i = 0; i < 2; i++) {
        const probe_result result = probe_measure(one, what, chunk * (i + 1));
        if (result.status) return tla_error_set(&error, result.status, "%s", result.text);
        taken_ps[i] = result.duration_ps;
    }
    ps = round_up(nbytes, chunk) * (taken_ps[1] - taken_ps[0]) / outstanding;
    return TLA_OK;
}

} // namespace

tla_status probe_slowest_stage(const tla_config &config, const probe_case &what, std::uint64_t nbytes,
                               probe_case::stage &slowest, tla_error &error) {
    slowest = {"its slowest link", tla_transfer_ps(nbytes, what.bandwidth)};
    const auto add = [&](const char *name, std::uint64_t ps) {
        if (ps > slowest.ps) slowest = {name, ps};
    };
    if (what.memory == TLA_HBM) add("the channels of its slice", channels_ps(config, what, nbytes));
    if (what.kind != probe_kind::pe_write) return TLA_OK;
    add("dma.bandwidth", tla_transfer_ps(nbytes, config.dma.bandwidth));
    std::uint64_t ps = 0;
    const tla_status status = window_ps(config, what, nbytes, ps, error);
    add("dma.outstanding", ps);
    return status;
}

} // namespace tlmalloc
