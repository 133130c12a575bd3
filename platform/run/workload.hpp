// One run of a kernel on a platform: tensors, inputs, launch, comparison, clean-up.
#ifndef TLMALLOC_PLATFORM_RUN_WORKLOAD_HPP
#define TLMALLOC_PLATFORM_RUN_WORKLOAD_HPP

#include "programs/program.h"
#include "tlmalloc/base/time_account.h"
#include "tlmalloc/modules/npu.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tlmalloc {

// The subject of a run: a kernel, the only one of the platform, its name in messages, and the contents of its tensors'
// files (empty without files).
struct kernel_choice {
    const tl_kernel_info *kernel = nullptr;
    std::string title;
    std::vector<std::vector<std::uint8_t>> files = std::vector<std::vector<std::uint8_t>>(TL_KERNEL_TENSORS_MAX);
};

class workload {
  public:
    struct tensor_report {
        std::string name;
        tla_vaddr va;
        std::uint64_t nbytes;
        std::size_t shards, pieces; // pieces: stretches of addresses that are contiguous physically too, at the end
        std::uint64_t alloc_ps, map_ps;
        std::uint32_t object; // of its blocks' ALLOCs
    };

    // The host's waits until the result, without the copies of inputs and outputs: the tensors' allocations and
    // mappings, then the kernels, from the first that begins to the last that ends.
    struct critical_path {
        std::uint64_t tensor_alloc_ps = 0, tensor_map_ps = 0, kernel_ps = 0;
        std::uint64_t device_alloc_ps = 0; // of the kernel that ends last, in kernel_ps

        // The share of allocations and mappings in all of it, of 1; 0 where nothing ran.
        double alloc_and_map() const;
    };

    // The tensors whose pages come with the first access to them: outputs (mmu.unmapped: demand), or also all tensors
    // in HBM, whose pages can leave again (mmu.eviction).
    enum class on_demand { none, outputs, hbm };
    static on_demand demand_of(const tla_config &config);

    workload(npu &platform, const kernel_choice &what, const tl_workload &size, on_demand which)
        : platform_(platform), what_(what), kernel_(*what.kernel), size_(size), on_demand_(which) {}

    // The whole run, as the host's main thread; the results are below. Pauses the simulation at the end.
    void main();

    const tl_kernel_info &kernel() const { return kernel_; }
    bool finished() const { return finished_; }

    // Before the run: accounts are kept of where the host's time goes until the launch, and of every kernel's.
    void keep_accounts();
    const tla_time_account *account() const { return account_.get(); } // of the host, or null
    tla_time_account *account() { return account_.get(); }             // for who watches it
    const std::vector<tensor_report> &tensors() const { return tensors_; }

    // Why the run failed (allocation, mapping, kernel, clean-up), or why its result is wrong; TLA_OK when neither.
    const tla_error &failure() const { return failure_; }
    const tla_error &wrong_result() const { return wrong_result_; }
    // The PE whose kernel had the first failed call; null if no call failed. Its last_run() has the text.
    const pe_unit *first_failed_call() const;
    bool verified() const { return computed_ && !wrong_result_.status; }

    critical_path path() const;

    // Time the host waited for the allocations, and the mappings, of all tensors.
    std::uint64_t tensor_alloc_ps() const;
    std::uint64_t tensor_map_ps() const;

  private:
    tla_status run();
    tla_status create_tensors(std::vector<tensor *> &made);
    // Runs the functions for the host in the kernel's file, which may fail like the kernel itself.
    tla_status in_file(const char *part, const std::function<tla_status()> &body, tla_error &error);
    tla_status launch(const std::vector<tla_vaddr> &addresses);
    void count_pieces(const std::vector<tensor *> &made);
    tla_status tell_deadlock();
    tla_status find_lost_messages();

    npu &platform_;
    const kernel_choice &what_;
    const tl_kernel_info &kernel_;
    const tl_workload size_;
    const on_demand on_demand_;
    bool finished_ = false, computed_ = false;
    std::vector<tensor_report> tensors_;
    struct destroy_account {
        void operator()(tla_time_account *account) const { tla_time_account_destroy(account); }
    };
    std::unique_ptr<tla_time_account, destroy_account> account_;
    tla_error failure_{}, wrong_result_{};
};

} // namespace tlmalloc
#endif
