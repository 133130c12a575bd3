// Loads of links in buckets of time.
#include "events/link_buckets.hpp"

#include <algorithm>

namespace tlmalloc {

void link_buckets::make_room(std::uint64_t end_ps) {
    while (end_ps / loads_.width_ps >= most) {
        loads_.width_ps *= 2;
        for (std::vector<link_bucket> &row : loads_.buckets) {
            for (std::size_t i = 0; i < row.size(); i++) {
                link_bucket &to = row[i / 2];
                const link_bucket from = row[i];
                if (i % 2 == 0) to = {};
                to.nbytes += from.nbytes;
                to.messages += from.messages;
                to.busy_ps += from.busy_ps;
                to.waited_ps += from.waited_ps;
            }
            row.resize((row.size() + 1) / 2);
        }
    }
}

link_bucket &link_buckets::at(std::vector<link_bucket> &row, std::uint64_t ps) const {
    const std::size_t i = ps / loads_.width_ps;
    if (row.size() <= i) row.resize(i + 1);
    return row[i];
}

void link_buckets::spread(std::vector<link_bucket> &row, std::uint64_t begin_ps, std::uint64_t end_ps,
                          std::uint64_t link_bucket::*figure) const {
    while (begin_ps < end_ps) {
        const std::uint64_t until_ps = std::min(end_ps, (begin_ps / loads_.width_ps + 1) * loads_.width_ps);
        at(row, begin_ps).*figure += until_ps - begin_ps;
        begin_ps = until_ps;
    }
}

void link_buckets::add(const tla_fabric_passage &passage) {
    const std::uint64_t waited_until_ps = passage.arrival_ps + passage.waited_ps;
    make_room(std::max(passage.end_ps, waited_until_ps));
    std::vector<link_bucket> &row = loads_.buckets[passage.link];
    link_bucket &first = at(row, passage.start_ps);
    first.nbytes += passage.nbytes;
    first.messages += passage.opens;
    spread(row, passage.start_ps, passage.end_ps, &link_bucket::busy_ps);
    spread(row, passage.arrival_ps, waited_until_ps, &link_bucket::waited_ps);
}

} // namespace tlmalloc
