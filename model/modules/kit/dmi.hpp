// Direct memory access on its way through a module that changes addresses.
#ifndef TLMALLOC_MODULES_KIT_DMI_HPP
#define TLMALLOC_MODULES_KIT_DMI_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <tlm>
#include <vector>

namespace tlmalloc {

// Both ends inclusive, as everywhere in DMI.
struct byte_range {
    std::uint64_t first, last;
};

// A module that shows bytes [from, from + nbytes) of a target at `to`; nbytes > 0.
struct address_view {
    std::uint64_t from, nbytes, to;

    // Returns the initiator's view of a range of the target; nothing if they do not touch.
    std::optional<byte_range> translate(const byte_range &target) const;
};

// The addresses for which an initiator may hold pointers or remember declined requests, with the target's addresses.
class dmi_record {
  public:
    // Records that `seen` leads to the target's addresses from `to` on, and forgets earlier records of `seen`.
    void add(const byte_range &seen, std::uint64_t to);
    void forget(const byte_range &seen);
    // The initiator's addresses that lead to a range of the target, ascending; they are forgotten.
    std::vector<byte_range> take(const byte_range &target);

  private:
    struct stretch {
        std::uint64_t last, to;
    };
    std::map<std::uint64_t, stretch> stretches_; // by first address; they do not overlap
};

// Grants [0, size) for reads and writes.
void grant_dmi(tlm::tlm_dmi &dmi, std::uint8_t *memory, std::uint64_t size, std::uint64_t read_latency_ps,
               std::uint64_t write_latency_ps);

// Refuses reads and writes of a range; every member is set. Returns false, as get_direct_mem_ptr is to.
bool refuse_dmi(tlm::tlm_dmi &dmi, const byte_range &range = {0, UINT64_MAX});

// Turns a target's answer (granted or declined) into the initiator's: the region and pointer are clipped to the view,
// and the latency is added to both. Returns `granted`; false for a region outside the view.
bool translate_dmi(tlm::tlm_dmi &dmi, bool granted, const address_view &view, std::uint64_t latency_ps);

} // namespace tlmalloc
#endif
