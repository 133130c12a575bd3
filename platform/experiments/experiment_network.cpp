// A network whose tensors are planned ahead, or allocated as each is made: what that takes of the time, of the memory,
// of TLBs and of open rows; with results that are compared byte for byte.
#include "experiments/experiment_dma.hpp"
#include "network/network.h"

#include <algorithm>
#include <limits>

namespace tlmalloc {

namespace {

enum figure {
    figure_whole,
    figure_kernel,
    figure_allocation,
    figure_mapping,
    figure_freeing,
    figure_peak,
    figure_reserved,
    figure_tlb_misses,
    figure_row_hits,
    figure_count
};

enum memory { memory_plan = NETWORK_PLAN, memory_record_table = NETWORK_RECORD_TABLE, memory_allocate };

constexpr std::uint64_t plan_alignment = 4096; // as TPU-MLIR has on the BM1684X

const char *memory_name(std::uint64_t value) {
    static const char *const names[] = {"plan", "record_table", "allocate"};
    return value < std::size(names) ? names[value] : nullptr;
}

struct owned_network : network {
    owned_network() : network{} {}
    owned_network(const owned_network &) = delete;
    owned_network &operator=(const owned_network &) = delete;
    ~owned_network() { network_clear(this); }
};

tla_status load(const experiment_parameters &p, network &made, tla_error *error) {
    const auto first_finding = [](void *context, const tla_config_finding *finding) {
        auto *const e = static_cast<tla_error *>(context);
        if (!e->status)
            tla_error_set(e, TLA_SYNTAX, "%s:%zu:%zu: %s", finding->file, finding->line, finding->column,
                          finding->text);
    };
    tla_error found{};
    const tla_status status = network_load(p.files.at("network").c_str(), &made, first_finding, &found);
    return status ? tla_error_set(error, status, "%s", found.status ? found.text : tla_status_text(status)) : TLA_OK;
}

class network_run : public platform_run {
  public:
    network_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {kernels, 1}), p_(p) {
        age(config);
        platform_.host().main = [this] {
            tla_status status = failure_.status ? failure_.status : run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

  private:
    static constexpr tl_kernel kernels[] = {network_kernel};

    // The counts so far, of all PEs.
    struct counts {
        std::uint64_t at_ps = 0, tlb_misses = 0, row_hits = 0, row_others = 0;
    };

    void age(const tla_config &config) {
        std::string heap;
        if (p_.at("aged") && !use_slice(config, p_.files.at("trace"), false, heap, &failure_))
            platform_.age(heap, &failure_);
    }

    std::uint64_t programs() const { return platform_.pes().size(); }

    // In use in every PE's slice.
    std::vector<std::uint64_t> used() const {
        std::vector<std::uint64_t> result;
        for (const pe_unit *pe : platform_.pes())
            result.push_back(pe->controller.get_statistics(TLA_HBM).arena.used);
        return result;
    }

    counts look() const {
        counts now;
        now.at_ps = now_ps();
        for (const pe_unit *pe : platform_.pes()) {
            const hbm_slice::statistics slice = pe->slice.get_statistics();
            now.tlb_misses += pe->mmu.get_statistics().misses;
            now.row_hits += slice.row_hits;
            now.row_others += slice.row_misses + slice.row_conflicts;
        }
        return now;
    }

    // ---- tensors ----

    tla_status make(std::size_t t, tensor **made) {
        const network_tensor &wanted = network_.tensors[t];
        const tla_status status = platform_.host().create_tensor(wanted.name, wanted.nbytes * programs(), 1,
                                                                 platform_.host().everywhere(), made, &failure_);
        if (!status) homes_[t] = {(*made)->va.value, wanted.nbytes};
        return status;
    }

    tla_status make_inputs() {
        for (std::size_t t = 0; t < network_.tensor_count; t++) {
            const std::uint64_t part = network_.tensors[t].nbytes;
            tensor *made = nullptr;
            if (!network_.tensors[t].is_input) continue;
            if (const tla_status status = make(t, &made)) return status;
            std::vector<std::uint8_t> bytes(part * programs());
            for (std::uint32_t pe = 0; pe < programs(); pe++)
                network_fill(&network_, t, pe, &bytes[pe * part]);
            if (const tla_status status = platform_.host().write_tensor(*made, bytes.data(), &failure_)) return status;
        }
        return TLA_OK;
    }

    tla_status deploy(network_method method) {
        std::vector<std::uint64_t> offsets(network_.tensor_count);
        std::uint64_t height = 0;
        if (const tla_status status =
                network_place(&network_, method, plan_alignment, offsets.data(), &height, &failure_))
            return status;
        std::vector<planned_tensor> planned;
        std::vector<std::size_t> which;
        for (std::size_t t = 0; t < network_.tensor_count; t++)
            if (!network_.tensors[t].is_input) {
                planned.push_back({network_.tensors[t].name, network_.tensors[t].nbytes, offsets[t]});
                which.push_back(t);
            }
        deployment made;
        if (const tla_status status = platform_.host().deploy(network_.name, height, planned,
                                                              platform_.host().everywhere(), &made, &failure_))
            return status;
        waited(*made.arena);
        for (std::size_t i = 0; i < which.size(); i++) {
            homes_[which[i]] = {made.tensors[i].va.value, height};
            if (network_.tensors[which[i]].is_output) outputs_[which[i]] = made.tensors[i];
        }
        return TLA_OK;
    }

    void waited(const tensor &t) {
        alloc_ps_ += t.alloc_ps;
        map_ps_ += t.map_ps;
    }

    // Memory for what an op makes; a reshape makes nothing.
    tla_status allocate(std::size_t op) {
        const network_op &o = network_.ops[op];
        for (std::size_t i = 0; i < o.output_count; i++) {
            const std::size_t t = o.tensors[o.input_count + i], of = network_.tensors[t].bytes_of;
            if (of == t) {
                if (const tla_status status = make(t, &living_[t])) return status;
                waited(*living_[t]);
            } else
                homes_[t] = homes_[of];
            if (network_.tensors[t].is_output) outputs_[t] = *living_[of];
        }
        return TLA_OK;
    }

    // Frees the tensors that no op reads after this one.
    tla_status free_after(std::size_t op) {
        const std::uint64_t start = now_ps();
        for (auto living = living_.begin(); living != living_.end();) {
            if (network_.tensors[living->first].end != op + 1 || op + 1 == network_.op_count) {
                ++living;
                continue;
            }
            if (const tla_status status = platform_.host().free_tensor(living->second, &failure_)) return status;
            living = living_.erase(living);
        }
        free_ps_ += now_ps() - start;
        return TLA_OK;
    }

    // ---- the run ----

    tla_status launch(std::size_t op) {
        if (network_.ops[op].reshape) return TLA_OK;
        std::vector<std::uint64_t> arguments(NETWORK_ARGUMENTS_MAX);
        arguments.resize(network_arguments(&network_, op, homes_.data(), arguments.data()));
        host::launched done;
        const tla_status status = platform_.host().launch(0, arguments, &failure_, &done);
        kernel_ps_ += done.duration_ps;
        return status;
    }

    tla_status run_ops() {
        const bool allocates = p_.at("memory") == memory_allocate;
        tla_status status = allocates ? TLA_OK : deploy(static_cast<network_method>(p_.at("memory")));
        for (std::size_t op = 0; op < network_.op_count && !status; op++) {
            if (allocates) status = allocate(op);
            if (!status) status = launch(op);
            if (!status) status = free_after(op);
        }
        return status;
    }

    tla_status run() {
        if (const tla_status status = load(p_, network_, &failure_)) return status;
        homes_.resize(network_.tensor_count);
        const std::vector<std::uint64_t> of_heap = used();
        if (const tla_status status = make_inputs()) return status;
        const std::vector<std::uint64_t> with_inputs = used();
        const counts begin = look();
        if (const tla_status status = run_ops()) return status;
        tell(begin, look());
        tell_memory(of_heap, with_inputs);
        return verify();
    }

    void tell(const counts &begin, const counts &end) {
        const auto whole = static_cast<double>(end.at_ps - begin.at_ps);
        const auto hits = static_cast<double>(end.row_hits - begin.row_hits),
                   others = static_cast<double>(end.row_others - begin.row_others);
        const auto percent = [whole](std::uint64_t ps) { return 100 * static_cast<double>(ps) / whole; };
        results_.assign(figure_count, 0);
        results_[figure_whole] = whole / 1e6;
        results_[figure_kernel] = static_cast<double>(kernel_ps_) / 1e6;
        results_[figure_allocation] = percent(alloc_ps_);
        results_[figure_mapping] = percent(map_ps_);
        results_[figure_freeing] = percent(free_ps_);
        results_[figure_tlb_misses] = static_cast<double>(end.tlb_misses - begin.tlb_misses);
        results_[figure_row_hits] =
            hits + others > 0 ? 100 * hits / (hits + others) : std::numeric_limits<double>::quiet_NaN();
    }

    // Reports for the slice that needed most: blocks of the outputs of ops, and all bytes that no other program could
    // have used.
    void tell_memory(const std::vector<std::uint64_t> &of_heap, const std::vector<std::uint64_t> &with_inputs) {
        std::uint64_t peak = 0, reserved = 0;
        for (std::size_t pe = 0; pe < programs(); pe++) {
            const memory_controller::statistics s = platform_.pes()[pe]->controller.get_statistics(TLA_HBM);
            peak = std::max(peak, s.arena.peak_used - with_inputs[pe]);
            reserved = std::max(reserved, std::max(s.arena.peak_used, s.peak_reserved) - of_heap[pe]);
        }
        results_[figure_peak] = static_cast<double>(peak) / 1024;
        results_[figure_reserved] = static_cast<double>(reserved) / 1024;
    }

    // Byte for byte, what stands in the memory of every PE.
    tla_status verify() {
        std::vector<std::vector<std::uint8_t>> found(network_.tensor_count);
        for (const auto &[t, output] : outputs_) {
            found[t].resize(output.nbytes);
            if (const tla_status status = platform_.host().read_tensor(output, found[t].data(), &failure_))
                return status;
        }
        for (std::uint32_t pe = 0; pe < programs(); pe++) {
            std::vector<std::vector<std::uint8_t>> expected(network_.tensor_count);
            std::vector<std::uint8_t *> views;
            for (std::size_t t = 0; t < network_.tensor_count; t++) {
                expected[t].resize(network_.tensors[t].nbytes);
                if (network_.tensors[t].is_input) network_fill(&network_, t, pe, expected[t].data());
                views.push_back(expected[t].data());
            }
            network_compute(&network_, views.data());
            for (const auto &output : outputs_) {
                const std::size_t t = output.first;
                const std::uint8_t *const part = &found[t][pe * expected[t].size()];
                if (!std::equal(expected[t].begin(), expected[t].end(), part))
                    return tla_error_set(&failure_, TLA_WRONG_RESULT, "output %s of PE %u differs from the reference",
                                         network_.tensors[t].name, pe);
            }
        }
        return TLA_OK;
    }

    const experiment_parameters p_;
    owned_network network_;
    std::vector<network_home> homes_;        // of each tensor
    std::map<std::size_t, tensor *> living_; // allocated one by one
    std::map<std::size_t, tensor> outputs_;  // of the network: where they are
    std::uint64_t kernel_ps_ = 0, alloc_ps_ = 0, map_ps_ = 0, free_ps_ = 0;
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    owned_network n;
    return load(p, n, error);
}

} // namespace

experiment_workload networks() {
    return {"network",
            {{"network", TLA_VALUE_TEXT},
             {"memory", TLA_VALUE_NAMED, memory_name},
             {"trace", TLA_VALUE_TEXT},
             {"aged", TLA_VALUE_BOOLEAN}},
            {"whole", "kernel", "allocation", "mapping", "freeing", "peak", "reserved", "tlb_misses", "row_hits"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<network_run>(name, config, p));
            },
            check,
            {"us", "us", "%", "%", "%", "KiB", "KiB", "misses", "% of bursts"}};
}

} // namespace tlmalloc
