// The load of links over time, in a bounded number of buckets.
#ifndef TLMALLOC_PLATFORM_EVENTS_LINK_BUCKETS_HPP
#define TLMALLOC_PLATFORM_EVENTS_LINK_BUCKETS_HPP

#include "events/event_sink.hpp"
#include "tlmalloc/fabric/fabric.h"

namespace tlmalloc {

// Buckets are as wide as need be: when a time lies behind the last, two become one, of all links.
class link_buckets {
  public:
    static constexpr std::size_t most = 256;          // of a link
    static constexpr std::uint64_t least_ps = 10'000; // width in the beginning

    explicit link_buckets(std::size_t links) : loads_{least_ps, std::vector<std::vector<link_bucket>>(links)} {}

    // Its time on the link, and its wait, count where they lie; bytes and messages where it began to cross.
    void add(const tla_fabric_passage &passage);

    const link_loads &loads() const { return loads_; }

  private:
    void make_room(std::uint64_t end_ps);
    link_bucket &at(std::vector<link_bucket> &row, std::uint64_t ps) const;
    void spread(std::vector<link_bucket> &row, std::uint64_t begin_ps, std::uint64_t end_ps,
                std::uint64_t link_bucket::*figure) const;

    link_loads loads_;
};

} // namespace tlmalloc
#endif
