// A run of the kernel transformer_block on a platform whose slices are fresh or used.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_TRANSFORMER_RUN_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_TRANSFORMER_RUN_HPP

#include "experiments/experiment_dma.hpp"
#include "run/workload.hpp"

namespace tlmalloc {

// The state of the slices before the kernel (experiment_heap.cpp).
enum class slices { fresh, aged, compacted };

class transformer_run : public platform_run {
  public:
    enum { KERNEL_US, ALLOC_AND_MAP, PIECES, ROW_HITS, TLB_MISSES, ENERGY_UJ }; // figures

    transformer_run(const char *name, const tla_config &config, const experiment_parameters &p, slices before);

    // The parameters of the kernel, by its names, behind these.
    static std::vector<experiment_parameter> with_those_of_the_kernel(std::vector<experiment_parameter> parameters);
    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error);

  protected:
    // What the host does before the run, and what is to be measured after it.
    virtual tla_status prepare() { return TLA_OK; }
    virtual void measure();

    std::unique_ptr<workload> work_;

  private:
    void run();
    double row_hits() const;
    double tlb_misses() const;

    const tla_config config_;
    kernel_choice choice_;
};

} // namespace tlmalloc
#endif
