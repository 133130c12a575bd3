// Pages on demand that leave a full memory for the host's memory, and return: mmu.eviction.
#ifndef TLMALLOC_MODULES_PLATFORM_RUNTIME_PAGER_HPP
#define TLMALLOC_MODULES_PLATFORM_RUNTIME_PAGER_HPP

#include "kernel/resident_pages.h"
#include "tlmalloc/modules/runtime.hpp"

#include <memory>
#include <vector>

namespace tlmalloc {

class runtime::pager {
  public:
    explicit pager(runtime &of); // throws std::bad_alloc without host memory

    // The page fault that is served.
    struct service {
        std::uint32_t correlation_id;
        std::uint64_t &at_ps;
        tla_error &why;
    };

    // Brings a page, and pages behind it. Evicts others where the memory is full.
    tla_status bring(tensor &t, const shard &page, const service &s);

    // All pages of a tensor on demand have a place in the host's memory from the tensor's creation on: a page that
    // leaves needs no memory. Other tensors have none.
    tla_status reserve_home(tensor &t, std::uint32_t correlation_id, tla_error *error);
    tla_status free_home(const tensor &t, std::uint32_t correlation_id, tla_error *error);

    void keep(const tensor &t); // no page of it leaves any more: it is freed
    void forget_all();
    std::vector<shard> list_places(tensor &t, bool write) const;
    paging_counts statistics() const;

  private:
    std::vector<shard> list_wanted(const tensor &t, const shard &page) const;
    tla_status allocate(const tensor &t, shard &page, const service &s);
    tla_status fetch(const tensor &t, const std::vector<shard> &pages, const service &s);
    tla_status map(const tensor &t, const std::vector<shard> &pages, const service &s);
    tla_status evict(tla_memory_kind memory, const pe_location &where, const service &s);
    tla_status choose(tla_memory_kind memory, const pe_location &where, tla_vaddr &victim, const service &s);
    tla_status leave(tensor &t, const shard &page, const service &s);
    tla_status write_back(tensor &t, const shard &page, const service &s);
    tla_status command(tla_opcode opcode, const std::vector<tla_map_entry> &entries, std::uint64_t &value,
                       const service &s);
    void free_block(const tensor &t, const shard &page, const service &s);
    std::size_t number_of(const shard &page) const { return page.offset / of_.settings_.page_size; }

    runtime &of_;
    std::unique_ptr<tla_resident_pages, void (*)(tla_resident_pages *)> book_{nullptr, tla_resident_pages_destroy};
    paging_counts counts_;
};

} // namespace tlmalloc
#endif
