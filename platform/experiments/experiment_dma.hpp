// The common part of experiments that move data by the DMA engine of PE 0.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_DMA_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_DMA_HPP

#include "experiments/experiment.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

inline std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

// A tensor in the slice of PE 0, and its DMA engine.
class dma_run : public platform_run {
  public:
    dma_run(const char *name, const tla_config &config) : platform_run(name, config) {
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

  protected:
    virtual tla_status run() = 0;

    tla_status make(const char *name, std::uint64_t nbytes, tensor **made) {
        return platform_.host().create_tensor(name, nbytes, 1, {{{0, 0, 0}}}, made, &failure_);
    }

    // Loads rows into the TCM from its beginning on; ends when the last byte has arrived.
    tla_status load(std::uint64_t va, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t pitch) {
        tla_paddr tile{};
        tla_paddr_pe_tcm(0, 0, 0, 0, &tile);
        sc_core::sc_time delay;
        const tla_status status =
            platform_.pes()[0]->dma.transfer({pe_dma::direction::read, {va}, tile, rows, row_bytes, pitch}, delay);
        sc_core::wait(delay);
        return status ? tla_error_set(&failure_, status, "DMA from va 0x%llx: %s", static_cast<unsigned long long>(va),
                                      tla_status_text(status))
                      : TLA_OK;
    }
};

// The state in which a trace leaves a PE's slice when most is in use, for npu::age; `compacted`: after the moves that
// gather its free bytes (experiment_heap.cpp).
tla_status use_slice(const tla_config &config, const std::string &path, bool compacted, std::string &snapshot,
                     tla_error *error);

experiment_workload all_reduces();              // experiment_all_reduce.cpp
experiment_workload allocator_traffic();        // experiment_allocator.cpp
experiment_workload compactions();              // experiment_compaction.cpp
experiment_workload composites();               // experiment_composite.cpp
experiment_workload energies();                 // experiment_energy.cpp
experiment_workload first_touches();            // experiment_first_touch.cpp
experiment_workload mooncake_tables();          // experiment_mooncake.cpp
experiment_workload messages();                 // experiment_message.cpp
experiment_workload networks();                 // experiment_network.cpp
experiment_workload oversubscription();         // experiment_oversubscription.cpp
experiment_workload programs();                 // experiment_program.cpp
experiment_workload transformer();              // experiment_transformer.cpp
experiment_workload transformer_beside_moves(); // experiment_transformer_moves.cpp
experiment_workload transformer_heaps();        // experiment_transformer.cpp
experiment_workload segments_with_replicas();   // experiment_segments.cpp
experiment_workload training();                 // experiment_training.cpp
experiment_workload transfers();                // experiment_transfers.cpp

} // namespace tlmalloc
#endif
