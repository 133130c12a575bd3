// The report of a run: its table, its JSON, its warnings.
#include "run/run_report.hpp"

#include "cli/config_json.h"
#include "run/energy_report.hpp"
#include "run/link_report.hpp"
#include "run/time_report.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/version.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tlmalloc {

namespace {

json_t *number(std::uint64_t value) {
    return json_integer(static_cast<json_int_t>(value));
}

void set(json_t *object, std::initializer_list<std::pair<const char *, std::uint64_t>> values) {
    for (const auto &[name, value] : values)
        json_object_set_new(object, name, number(value));
}

void set(json_t *object, const char *name, const char *text) {
    json_object_set_new(object, name, json_string(text));
}

// Times of a kernel's chain: its tensors' allocation and mapping, which the launch waited for, and its own work.
struct chain {
    std::uint64_t alloc_ps, map_ps, dma_ps, compute_ps;
};

chain chain_of(const pe_unit &pe, const workload &work) {
    const processing_element::run &run = pe.element.last_run();
    return {work.tensor_alloc_ps() + run.alloc_ps, work.tensor_map_ps(), run.dma_ps, run.compute_ps};
}

json_t *kernels_json(const npu &platform, const workload &work) {
    json_t *list = json_array();
    for (const pe_unit *pe : platform.pes()) {
        const processing_element::run &run = pe->element.last_run();
        const chain times = chain_of(*pe, work);
        json_t *row = json_object();
        set(row, "name", work.kernel().name);
        set(row, "pe", to_string(pe->where).c_str());
        set(row, {{"start_ps", run.start_ps},
                  {"end_ps", run.end_ps},
                  {"late_ps", run.late_ps},
                  {"alloc_ps", times.alloc_ps},
                  {"map_ps", times.map_ps},
                  {"dma_ps", times.dma_ps},
                  {"compute_ps", times.compute_ps},
                  {"message_ps", run.message_ps},
                  {"device_alloc_ps", run.alloc_ps},
                  {"composites", run.composites},
                  {"composite_ps", run.composite_end_ps - run.composite_begin_ps},
                  {"retries", run.retries},
                  {"correlation_id", pe->element.launched().correlation_id},
                  {"request_id", pe->element.launched().request_id}});
        set(row, "status", tla_status_name(run.status));
        // A kernel without outputs has nothing that could be verified.
        json_object_set_new(row, "verified",
                            tl_kernel_can_verify(&work.kernel()) ? json_boolean(work.verified()) : json_null());
        json_object_set_new(row, "went", kernel_time_json(platform, *pe));
        json_array_append_new(list, row);
    }
    return list;
}

// Adds the statistics of a module, or of a part of it: its own list.
void set(json_t *row, const statistics_group &part) {
    for (const statistic &s : part.statistics)
        json_object_set_new(row, s.name, number(s.value));
}

// A row for each part of the modules of this kind.
json_t *rows_of(const npu &platform, const std::string &kind) {
    json_t *rows = json_array();
    for (const instrumented *module : platform.modules()) {
        if (module->kind() != kind) continue;
        for (const statistics_group &part : module->list_statistics()) {
            json_t *row = json_object();
            set(row, "name", module->name());
            if (part.kind) set(row, part.kind, part.name);
            set(row, part);
            json_array_append_new(rows, row);
        }
    }
    return rows;
}

json_t *va_manager_json(const npu &platform) {
    json_t *object = json_object();
    for (const statistics_group &part : platform.addresses().list_statistics())
        set(object, part);
    set(object, {{"not_restored", platform.mapping_statistics().not_restored}}); // with the command processors'
    return object;
}

json_t *pool_json(const npu &platform) {
    const host::pool_counts counts = platform.host().pool_statistics();
    json_t *object = json_object();
    set(object, {{"hits", counts.hits},
                 {"misses", counts.misses},
                 {"driver_frees", counts.driver_frees},
                 {"cached_bytes", counts.cached_bytes},
                 {"peak_reserved_bytes", counts.peak_reserved_bytes}});
    return object;
}

json_t *paging_json(const npu &platform) {
    const host::paging_counts counts = platform.host().paging_statistics();
    json_t *object = json_object();
    set(object, {{"evictions", counts.evictions},
                 {"write_backs", counts.write_backs},
                 {"fetches", counts.fetches},
                 {"prefetches", counts.prefetches},
                 {"bits_read", counts.bits_read},
                 {"written_bytes", counts.written_bytes},
                 {"fetched_bytes", counts.fetched_bytes}});
    return object;
}

json_t *order_json(const npu &platform) {
    const time_queue::late_figures order = time_queue::get_late();
    json_t *object = json_object();
    set(object, {{"late", order.late},
                 {"displaced_ps", order.displaced_ps},
                 {"worst_ps", order.worst_ps},
                 {"transfer_latency_ps", platform.transfer_latency_ps()}});
    return object;
}

bool has_messages(const npu &platform) {
    const std::vector<pe_unit *> &pes = platform.pes();
    return std::any_of(pes.begin(), pes.end(), [](const pe_unit *pe) { return pe->ipcq.was_used(); });
}

// All that the message units have counted, summed.
json_t *message_sums_json(const npu &platform) {
    json_t *object = json_object();
    for (const pe_unit *pe : platform.pes())
        for (const statistics_group &part : pe->ipcq.list_statistics())
            for (const statistic &s : part.statistics) {
                const json_int_t before = json_integer_value(json_object_get(object, s.name));
                json_object_set_new(object, s.name, number(static_cast<std::uint64_t>(before) + s.value));
            }
    return object;
}

json_t *message_paths_json(const npu &platform) {
    json_t *list = json_array();
    for (const message_ledger::path &p : platform.messages().paths()) {
        json_t *row = json_object();
        set(row, "from", to_string(p.from).c_str());
        set(row, "to", to_string(p.to).c_str());
        set(row, {{"messages", p.messages},
                  {"bytes", p.nbytes},
                  {"latency_least_ps", p.least_ps},
                  {"latency_mean_ps", p.sum_ps / p.messages},
                  {"latency_most_ps", p.most_ps}});
        json_array_append_new(list, row);
    }
    return list;
}

json_t *tensors_json(const workload &work) {
    json_t *list = json_array();
    for (const workload::tensor_report &t : work.tensors()) {
        json_t *row = json_object();
        set(row, "name", t.name.c_str());
        set(row, {{"va", t.va.value},
                  {"bytes", t.nbytes},
                  {"shards", t.shards},
                  {"pieces", t.pieces},
                  {"alloc_ps", t.alloc_ps},
                  {"map_ps", t.map_ps}});
        json_array_append_new(list, row);
    }
    return list;
}

json_t *critical_path_json(const npu &platform, const workload &work) {
    const workload::critical_path path = work.path();
    json_t *object = json_object();
    set(object, {{"tensor_alloc_ps", path.tensor_alloc_ps},
                 {"tensor_map_ps", path.tensor_map_ps},
                 {"kernel_ps", path.kernel_ps},
                 {"device_alloc_ps", path.device_alloc_ps}});
    json_object_set_new(object, "alloc_and_map_pct", json_real(100 * path.alloc_and_map()));
    add_critical_path(object, platform, work);
    return object;
}

double us(std::uint64_t ps) {
    return static_cast<double>(ps) / 1e6;
}

} // namespace

json_t *run_json(const npu &platform, const workload &work, const tla_config &config) {
    json_t *report = json_object();
    json_object_set_new(report, "sim_time_ps", number(to_ps(sc_core::sc_time_stamp())));
    json_object_set_new(report, "version", json_string(tla_version()));
    json_object_set_new(report, "status", json_string(tla_status_name(work.failure().status)));
    json_object_set_new(report, "message", json_string(work.failure().text));
    json_object_set_new(report, "config", config_to_json(&config));
    json_object_set_new(report, "kernels", kernels_json(platform, work));
    json_object_set_new(report, "tensors", tensors_json(work));
    json_object_set_new(report, "critical_path", critical_path_json(platform, work));
    json_object_set_new(report, "va_manager", va_manager_json(platform));
    if (config.host.driver.kind != TLA_HOST_DRIVER_NONE)
        json_object_set_new(report, "host_driver", rows_of(platform, "host_driver"));
    if (config.host.pool != TLA_HOST_POOL_NONE) json_object_set_new(report, "host_pool", pool_json(platform));
    if (config.host.eviction != TLA_EVICTION_OFF) json_object_set_new(report, "paging", paging_json(platform));
    json_object_set_new(report, "elements", rows_of(platform, "processing_element"));
    json_object_set_new(report, "controllers", rows_of(platform, "memory_controller"));
    json_object_set_new(report, "mmus", rows_of(platform, "pe_mmu"));
    json_object_set_new(report, "slices", rows_of(platform, "hbm_slice"));
    json_object_set_new(report, "tcms", rows_of(platform, "tcm"));
    json_object_set_new(report, "srams", rows_of(platform, "sram"));
    json_object_set_new(report, "m_cpu_memories", rows_of(platform, "m_cpu_memory"));
    if (platform.memory_of_host()) json_object_set_new(report, "host_memory", rows_of(platform, "host_memory"));
    if (has_messages(platform)) {
        json_object_set_new(report, "messages", rows_of(platform, "pe_ipcq"));
        json_object_set_new(report, "message_sums", message_sums_json(platform));
        json_object_set_new(report, "message_paths", message_paths_json(platform));
    }
    if (json_t *const energy = energy_json(platform, config)) json_object_set_new(report, "energy", energy);
    json_object_set_new(report, "links", links_json(platform));
    json_object_set_new(report, "link_kinds", link_kinds_json(platform));
    json_object_set_new(report, "order", order_json(platform));
    json_object_set_new(report, "host_retries", number(platform.host().retries()));
    json_object_set_new(report, "leaks", number(platform.leaks()));
    return report;
}

// Prints the times of messages of the first pairs of PEs.
static void print_messages(std::FILE *out, const npu &platform) {
    if (!has_messages(platform)) return;
    pe_ipcq::statistics sum;
    for (const pe_unit *pe : platform.pes()) {
        const pe_ipcq::statistics &s = pe->ipcq.get_statistics();
        sum.received += s.received;
        sum.received_bytes += s.received_bytes;
        sum.credit_wait_ps += s.credit_wait_ps;
        sum.data_wait_ps += s.data_wait_ps;
    }
    std::fprintf(out, "%llu messages, %llu bytes; PEs waited %.3f us for credits, %.3f us for messages\n",
                 static_cast<unsigned long long>(sum.received), static_cast<unsigned long long>(sum.received_bytes),
                 us(sum.credit_wait_ps), us(sum.data_wait_ps));
    const std::size_t shown = 8;
    const std::vector<message_ledger::path> paths = platform.messages().paths();
    for (std::size_t i = 0; i < std::min(shown, paths.size()); i++)
        std::fprintf(out, "  %s -> %s: %llu of %llu bytes, %.3f to %.3f ns each\n", to_string(paths[i].from).c_str(),
                     to_string(paths[i].to).c_str(), static_cast<unsigned long long>(paths[i].messages),
                     static_cast<unsigned long long>(paths[i].nbytes), static_cast<double>(paths[i].least_ps) / 1e3,
                     static_cast<double>(paths[i].most_ps) / 1e3);
    if (paths.size() > shown)
        std::fprintf(out, "  ... and %zu more pairs of PEs (--json has all)\n", paths.size() - shown);
}

void print_waits(std::FILE *out, const npu &platform) {
    for (const message_ledger::wait &wait : platform.messages().deadlocked())
        std::fprintf(out, "tlmalloc run: deadlock: %s\n", message_ledger::text(wait).c_str());
}

void print_run(std::FILE *out, const npu &platform, const workload &work, double host_s) {
    const std::size_t shown = 8, count = platform.pes().size();
    std::fprintf(out, "%-18s %12s %12s %10s %10s %10s %10s\n", work.kernel().name, "start us", "end us", "alloc us",
                 "map us", "dma us", "compute us");
    for (std::size_t i = 0; i < std::min(shown, count); i++) {
        const pe_unit &pe = *platform.pes()[i];
        const processing_element::run &run = pe.element.last_run();
        const chain times = chain_of(pe, work);
        std::fprintf(out, "%-18s %12.3f %12.3f %10.3f %10.3f %10.3f %10.3f\n", to_string(pe.where).c_str(),
                     us(run.start_ps), us(run.end_ps), us(times.alloc_ps), us(times.map_ps), us(times.dma_ps),
                     us(times.compute_ps));
    }
    if (count > shown) std::fprintf(out, "... and %zu more PEs (--json has all)\n", count - shown);
    std::uint64_t allocs = 0, nodes = 0, faults = 0, fallbacks = 0;
    const auto count_commands = [&](const memory_controller &controller) {
        for (const tla_memory_kind kind : controller.memory_kinds()) {
            const memory_controller::statistics s = controller.get_statistics(kind);
            allocs += s.allocs;
            nodes += s.nodes_visited;
        }
    };
    for (const cube_memory *memory : platform.cube_memories())
        count_commands(memory->controller);
    if (platform.memory_of_host()) count_commands(platform.memory_of_host()->controller);
    for (const pe_unit *pe : platform.pes()) {
        count_commands(pe->controller);
        faults += pe->mmu.get_statistics().faults;
        fallbacks += pe->mmu.get_statistics().pa_fallbacks;
    }
    std::fprintf(out, "%zu PEs, %.3f us simulated in %.2f s; %llu allocations, %llu nodes visited, %llu faults", count,
                 us(to_ps(sc_core::sc_time_stamp())), host_s, static_cast<unsigned long long>(allocs),
                 static_cast<unsigned long long>(nodes), static_cast<unsigned long long>(faults));
    if (fallbacks) std::fprintf(out, ", %llu PA fallbacks", static_cast<unsigned long long>(fallbacks));
    const host::paging_counts paging = platform.host().paging_statistics();
    if (paging.evictions)
        std::fprintf(out, ", %llu evictions, %llu write-backs", static_cast<unsigned long long>(paging.evictions),
                     static_cast<unsigned long long>(paging.write_backs));
    const char *verdict = !tl_kernel_can_verify(&work.kernel()) ? "nothing to verify"
                          : work.verified()                     ? "verified"
                                                                : "NOT VERIFIED";
    std::fprintf(out, "; result %s; leaks %llu\n", verdict, static_cast<unsigned long long>(platform.leaks()));
    print_messages(out, platform);
    print_links(out, platform);
}

void warn_of_lost_mappings(std::FILE *out, const npu &platform) {
    const va_manager::statistics s = platform.mapping_statistics();
    if (s.posted_failures)
        std::fprintf(out,
                     "tlmalloc run: warning: %llu mapping commands failed after their acknowledgement (va.map_ack: "
                     "posted): set va.map_ack to visible to make the command itself fail\n",
                     static_cast<unsigned long long>(s.posted_failures));
    if (s.not_restored)
        std::fprintf(
            out,
            "tlmalloc run: warning: %llu mapping commands completed in some MMUs only and could not be undone there\n",
            static_cast<unsigned long long>(s.not_restored));
}

} // namespace tlmalloc
