// Pieces cut into accesses; whenever one ends the next begins.
#include "bulk_transfer.hpp"

#include <algorithm>
#include <functional>

namespace tlmalloc {

std::size_t bulk_transfer::move(tlm::tlm_command command, const std::vector<piece> &pieces, std::uint64_t start_ps) {
    scatter accesses(out);
    std::size_t refused = pieces.size(), at = 0;
    std::uint64_t moved = 0;
    tla_transaction *transaction = nullptr; // of the piece
    // One more access, for which the one before need not be over; the rest begins when others end.
    const std::function<void(std::uint64_t)> next = [&](std::uint64_t begins_ps) {
        while (at < pieces.size() && moved == pieces[at].nbytes) {
            at++;
            moved = 0;
        }
        if (at == pieces.size()) return;
        if (refused < pieces.size() || of->in_reset()) { // as if nothing were left of the piece, also of a later one
            if (transaction && moved > 0) tla_transaction_end(transaction, begins_ps);
            at = pieces.size();
            return;
        }
        const piece &p = pieces[at];
        const auto nbytes = static_cast<std::uint32_t>(std::min(chunk - (p.pa + moved) % chunk, p.nbytes - moved));
        if (moved == 0) transaction = accesses.transaction(outstanding, true);
        if (transaction) tla_transaction_issue(transaction, moved + nbytes == p.nbytes);
        accesses.access(command, p.pa + moved, p.bytes + moved, nbytes, begins_ps, who, transaction,
                        [&, begins_ps, number = at](bool ok, std::uint64_t ended_ps) {
                            if (!ok) refused = std::min(refused, number);
                            latency_ps += ended_ps - begins_ps;
                            next(ended_ps);
                        });
        moved += nbytes;
    };
    for (std::uint64_t i = 0; i < outstanding; i++)
        next(start_ps);
    end_ps = accesses.gather();
    return refused;
}

} // namespace tlmalloc
