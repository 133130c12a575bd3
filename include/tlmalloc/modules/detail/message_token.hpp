// What travels with the bytes that PEs send each other: an extension of the generic payload.
#ifndef TLMALLOC_MODULES_DETAIL_MESSAGE_TOKEN_HPP
#define TLMALLOC_MODULES_DETAIL_MESSAGE_TOKEN_HPP

#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/types.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>

namespace tlmalloc {

// The sender's. A write to a PE's message window (pe_ipcq.hpp) that has none is refused there. A write may come in
// several accesses, each of which brings the same token: what it says holds when its last byte is there.
struct message_token : tlm::tlm_extension<message_token> {
    enum class kind {
        piece,   // the access writes bytes of a piece
        connect, // a program wants to send: slots are to be allocated
        credit,  // slots are free
        refused, // there are no slots
        gone     // the program receives nothing any more
    };

    kind what = kind::piece;
    std::uint32_t launch = 0;       // the correlation id of the programs' launch
    std::uint32_t from = 0, to = 0; // programs: that sends this, that it is for
    tla_message_piece piece{};      // piece
    tl_dtype dtype = TL_F16;        // piece: of the elements
    std::uint64_t sent_ps = 0;      // piece, credit: when the kernel sent it; 0: it was not the kernel
    std::uint64_t number = 0;       // no piece: which write of the sender this is
    std::uint32_t nbytes = 0;       // no piece: bytes of the write
    std::uint32_t credits = 0;      // credit: how many
    // credit: of slots that were allocated, when that was asked for, served and done
    std::uint64_t asked_ps = 0, served_ps = 0, done_ps = 0;
    tla_status status = TLA_OK; // refused: of the allocation
    std::uint64_t total_free = 0, largest_free = 0;

    tlm::tlm_extension_base *clone() const override {
        auto *const copy = new message_token;
        copy->copy_from(*this);
        return copy;
    }
    void copy_from(const tlm::tlm_extension_base &other) override { *this = static_cast<const message_token &>(other); }
};

} // namespace tlmalloc
#endif
