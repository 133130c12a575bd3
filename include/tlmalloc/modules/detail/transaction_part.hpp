// Of which transaction an access is a part: an extension of the generic payload that every module may ignore.
#ifndef TLMALLOC_MODULES_DETAIL_TRANSACTION_PART_HPP
#define TLMALLOC_MODULES_DETAIL_TRANSACTION_PART_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/fabric/transaction.h"
#include "tlmalloc/modules/systemc.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace tlmalloc {

// The initiator's; the fabric says that the access has entered it. What makes payloads of its own on behalf of another
// hands it on. Without it an access is a transaction of its own.
struct transaction_part : tlm::tlm_extension<transaction_part> {
    tla_transaction *of = nullptr;
    bool entered = false;
    tla_access_times *times = nullptr; // who keeps accounts (time_account.h) wants to know; of a split access all parts

    transaction_part() = default;
    explicit transaction_part(tla_transaction *transaction) : of(transaction) {}

    // The access has been answered, at at_ps.
    void answered(std::uint64_t at_ps) const {
        if (of && !entered) tla_transaction_lose(of, at_ps);
    }

    // A copy outlives the transaction, perhaps, and is an access of its own.
    tlm::tlm_extension_base *clone() const override { return new transaction_part; }
    void copy_from(const tlm::tlm_extension_base &) override { *this = transaction_part(); }
};

// Where the times of an access are to be noted; null where nobody wants to know.
inline tla_access_times *times_of(const tlm::tlm_generic_payload &payload) {
    const auto *const part = payload.get_extension<transaction_part>();
    return part ? part->times : nullptr;
}

// Of the parts of a split access the last one counts.
inline void note_time(std::uint64_t &noted_ps, std::uint64_t at_ps) {
    noted_ps = std::max(noted_ps, at_ps);
}

struct destroy_transaction {
    void operator()(tla_transaction *transaction) const { tla_transaction_destroy(transaction); }
};
using transaction_ptr = std::unique_ptr<tla_transaction, destroy_transaction>;

// Null without host memory: accesses are transactions of their own then.
inline transaction_ptr new_transaction(std::uint64_t window, bool posted) {
    tla_transaction *made = nullptr;
    tla_transaction_create(window, posted, &made);
    return transaction_ptr(made);
}

} // namespace tlmalloc
#endif
