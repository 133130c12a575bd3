// The whole way of an access with and without an MMU in it.
#ifndef TLMALLOC_TESTS_BENCH_MMU_PATH_HPP
#define TLMALLOC_TESTS_BENCH_MMU_PATH_HPP

#include <cstdint>
#include <memory>

// A platform of one PE: bursts of 256 bytes from its DMA engine's socket through fabric and controller into its slice.
class mmu_path {
  public:
    mmu_path(const char *name, bool tlb);
    ~mmu_path();

    // Maps what is accessed; once for all paths, after all of them have been made.
    static void begin();

    // n bursts by virtual address, through the MMU; or by physical address, behind it. Returns a sum of their bytes.
    std::uint64_t with_mmu(std::uint64_t n);
    std::uint64_t without_mmu(std::uint64_t n);
    // Bursts by the pointer that DMI gave: through the MMU, or behind it.
    std::uint64_t dmi_with_mmu(std::uint64_t n);
    std::uint64_t dmi_without_mmu(std::uint64_t n);

  private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

#endif
