// Bits of use of an MMU's pages, as accessed and dirty bits of page-table entries are.
#ifndef TLMALLOC_MODULES_TRANSLATION_PAGE_MARKS_HPP
#define TLMALLOC_MODULES_TRANSLATION_PAGE_MARKS_HPP

#include "tlmalloc/vm/mmu.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace tlmalloc {

class page_marks {
  public:
    enum mark : std::uint8_t { referenced = 1, dirty = 2 };

    explicit page_marks(std::uint64_t page) : page_(page) {} // bytes, a power of two; 0: keeps none

    std::uint64_t page() const { return page_; }

    // An access that is translated.
    void note(const tla_mmu_access &access) {
        if (page_ == 0) return;
        const std::uint64_t last = (access.va.value + (access.nbytes - 1)) / page_;
        for (std::uint64_t number = access.va.value / page_; number <= last; number++)
            marks_[{access.asid, number}] |= access.access & TLA_WRITE ? referenced | dirty : referenced;
    }

    // Bit i: the page in which entry i begins has the mark.
    std::uint64_t read(const tla_map_entry *entries, std::size_t count, mark which) const {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < std::min<std::size_t>(count, 64) && page_ > 0; i++) {
            const auto found = marks_.find({entries[i].asid, entries[i].va.value / page_});
            bits |= std::uint64_t{found != marks_.end() && (found->second & which)} << i;
        }
        return bits;
    }

    void clear(const tla_map_entry *entries, std::size_t count, unsigned marks) {
        for (std::size_t i = 0; i < count && page_ > 0; i++) {
            const std::uint64_t nbytes = entries[i].nbytes, first = nbytes ? entries[i].va.value : 0; // 0: all
            const std::uint64_t last = nbytes ? first + (nbytes - 1) : UINT64_MAX;
            const auto end = marks_.upper_bound({entries[i].asid, last / page_});
            for (auto m = marks_.lower_bound({entries[i].asid, first / page_}); m != end; ++m)
                m->second &= static_cast<std::uint8_t>(~marks);
        }
    }

    void forget() { marks_.clear(); }

  private:
    const std::uint64_t page_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint8_t> marks_; // by address space and number
};

} // namespace tlmalloc
#endif
