// The model's side of the comparison of the whole NPU with KernBench: DMA from PEs to slices, and the host's writes and
// reads.
#include "experiments/experiment_dma.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

// Issuer k is PE first + k and writes (or reads) `bytes` of the slice of PE target + k * step. All begin at one time
// and do not use the TCM, as KernBench's PeDmaMsg: by physical address, or with `mapped` by the virtual address of a
// tensor there. With `host` the only issuer is the PCIe end point of SIP 0, as for its MemoryWriteMsg and
// MemoryReadMsg.
class transfers_run : public platform_run {
  public:
    transfers_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config), p_(p), slice_bytes_(config.hbm.capacity) {
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

  private:
    // The same offset in every slice, aligned to the interleaving of pseudo-channels: all issuers begin with the first
    // channel.
    static constexpr std::uint64_t begin = 0x1000;

    std::uint64_t issuers() const { return p_.at("host") ? 1 : p_.at("issuers"); }
    std::uint64_t target_of(std::uint64_t issuer) const { return p_.at("target") + issuer * p_.at("step"); }

    tla_status check() {
        const std::uint64_t pes = platform_.pes().size();
        if (p_.at("host") && p_.at("mapped"))
            return tla_error_set(&failure_, TLA_INVALID_ARGUMENT,
                                 "host and mapped exclude each other: messages of the host have physical addresses");
        if (p_.at("bytes") == 0) return tla_error_set(&failure_, TLA_INVALID_ARGUMENT, "bytes must be at least 1");
        if (issuers() == 0 || issuers() > pes)
            return tla_error_set(&failure_, TLA_INVALID_ARGUMENT, "issuers must be 1 .. %llu, the number of PEs",
                                 static_cast<unsigned long long>(pes));
        for (std::uint64_t i = 0; i < issuers(); i++)
            if (target_of(i) >= pes || (!p_.at("host") && p_.at("first") + i >= pes))
                return tla_error_set(&failure_, TLA_INVALID_ARGUMENT,
                                     "issuer %llu or its target is not a PE: the platform has %llu PEs",
                                     static_cast<unsigned long long>(i), static_cast<unsigned long long>(pes));
        return TLA_OK;
    }

    // Where the issuers' bytes are. Tensors begin as aligned as `begin`.
    tla_status find_places() {
        for (std::uint64_t i = 0; i < issuers(); i++) {
            const pe_location to = platform_.pes()[target_of(i)]->where;
            std::uint64_t &place = places_[target_of(i)];
            tla_paddr pa{};
            tensor *made = nullptr;
            if (place) continue;
            const tla_status status =
                p_.at("mapped") ? platform_.host().create_tensor("target", p_.at("bytes"), 1, {{to}}, &made, &failure_)
                                : tla_paddr_pe_hbm(to.sip, to.cube, to.pe, begin, slice_bytes_, &pa);
            if (status)
                return tla_error_set(&failure_, status, "no free memory in the slice of %s", to_string(to).c_str());
            place = made ? made->va.value : pa.value;
        }
        return TLA_OK;
    }

    tla_status transfer(std::uint64_t issuer) {
        const std::uint64_t nbytes = p_.at("bytes"), place = places_.at(target_of(issuer));
        if (p_.at("host")) {
            std::vector<std::uint8_t> bytes(nbytes);
            const tlm::tlm_command command = p_.at("reads") ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND;
            return platform_.end_point_of(0).move(command, place, bytes.data(), nbytes);
        }
        pe_dma::request what{};
        what.way = p_.at("reads") ? pe_dma::direction::read : pe_dma::direction::write;
        what.va.value = place;
        what.rows = 1;
        what.row_bytes = what.pitch = nbytes;
        what.has_tile = false;
        sc_core::sc_time delay;
        const tla_status status = platform_.pes()[p_.at("first") + issuer]->dma.transfer(what, delay);
        sc_core::wait(delay);
        return status;
    }

    tla_status run() {
        if (const tla_status status = check()) return status;
        if (const tla_status status = find_places()) return status;
        const std::uint64_t start = now_ps(), count = issuers();
        std::uint64_t left = count, sum = 0;
        sc_core::sc_event all_done;
        for (std::uint64_t i = 0; i < count; i++)
            sc_core::sc_spawn(
                [&, i] {
                    if (const tla_status status = transfer(i))
                        tla_error_set(&failure_, status, "the transfer of issuer %llu: %s",
                                      static_cast<unsigned long long>(i), tla_status_text(status));
                    sum += now_ps() - start;
                    if (--left == 0) all_done.notify();
                },
                sc_core::sc_gen_unique_name("issuer"));
        sc_core::wait(all_done);
        const double ns = static_cast<double>(now_ps() - start) / 1e3, issued = static_cast<double>(count);
        results_ = {ns, issued * static_cast<double>(p_.at("bytes")) / ns, static_cast<double>(sum) / 1e3 / issued};
        return failure_.status;
    }

    const experiment_parameters p_;
    const std::uint64_t slice_bytes_;
    std::map<std::uint64_t, std::uint64_t> places_; // by the number of the target
};

} // namespace

experiment_workload transfers() {
    return {"transfers",
            {{"bytes", TLA_VALUE_SIZE},
             {"first", TLA_VALUE_COUNT},
             {"issuers", TLA_VALUE_COUNT},
             {"target", TLA_VALUE_COUNT},
             {"step", TLA_VALUE_COUNT},
             {"reads", TLA_VALUE_BOOLEAN},
             {"host", TLA_VALUE_BOOLEAN},
             {"mapped", TLA_VALUE_BOOLEAN}},
            {"makespan", "bandwidth", "mean"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<transfers_run>(name, config, p); }};
}

} // namespace tlmalloc
