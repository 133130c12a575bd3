// Messages in slots: what goes, what waits, what is whole, beside a queue of bytes.
#include "seeded_random.hpp"
#include "tlmalloc/kernel/message_queue.h"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <string>
#include <vector>

namespace {

// Both ends, and what is on its way between them.
struct direction {
    direction(std::uint32_t slots, std::uint64_t slot_size) {
        BOOST_REQUIRE_EQUAL(tla_message_sender_init(&sender, slots, slot_size), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_message_receiver_init(&receiver, slots, slot_size), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_message_credit(&sender, slots), TLA_OK);
    }

    struct moving {
        tla_message_piece piece;
        std::uint64_t left; // bytes of it that have not arrived
    };

    void check_slots() const {
        std::uint32_t not_begun = 0; // pieces of which nothing has arrived: their slots are free still
        for (const moving &m : pieces)
            not_begun += m.left == m.piece.nbytes;
        BOOST_REQUIRE_EQUAL(sender.credits + not_begun + tla_message_taken(&receiver) + credits, sender.slots);
    }

    tla_message_sender sender{};
    tla_message_receiver receiver{};
    std::vector<moving> pieces;
    std::uint32_t credits = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_message_takes_as_many_slots_as_it_is_long) {
    direction d(4, 100);
    tla_message_piece piece{};
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 450), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 1), TLA_BUSY);
    for (std::uint32_t i = 0; i < 4; i++) {
        BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_OK);
        BOOST_CHECK_EQUAL(piece.slot, i);
        BOOST_CHECK_EQUAL(piece.offset, 100 * i);
        BOOST_CHECK_EQUAL(piece.nbytes, 100u);
        BOOST_CHECK(!tla_message_piece_is_last(&piece));
    }
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_message_credit(&d.sender, 1), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_OK);
    BOOST_CHECK_EQUAL(piece.slot, 0u);
    BOOST_CHECK_EQUAL(piece.nbytes, 50u);
    BOOST_CHECK(tla_message_piece_is_last(&piece));
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_NOT_FOUND);
}

BOOST_AUTO_TEST_CASE(a_piece_is_there_when_all_its_bytes_are_and_not_before_those_in_front_of_it) {
    direction d(2, 8);
    tla_message_piece first{}, second{}, front{};
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 12), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &first), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &second), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &second, 4, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_front(&d.receiver, &front), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &first, 7, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_front(&d.receiver, &front), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(tla_message_release(&d.receiver), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &first, 1, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_front(&d.receiver, &front), TLA_OK);
    BOOST_CHECK_EQUAL(front.offset, 0u);
    BOOST_CHECK_EQUAL(tla_message_release(&d.receiver), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_front(&d.receiver, &front), TLA_OK);
    BOOST_CHECK_EQUAL(front.offset, 8u);
    BOOST_CHECK_EQUAL(tla_message_release(&d.receiver), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_taken(&d.receiver), 0u);
}

BOOST_AUTO_TEST_CASE(an_impossible_piece_is_rejected_with_a_text_and_changes_nothing) {
    tla_message_sender sender{};
    tla_message_receiver receiver{};
    for (const std::uint32_t slots : {0u, TLA_MESSAGE_SLOTS_MAX + 1u}) {
        BOOST_CHECK_EQUAL(tla_message_sender_init(&sender, slots, 8), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_message_receiver_init(&receiver, slots, 8), TLA_INVALID_ARGUMENT);
    }
    BOOST_CHECK_EQUAL(tla_message_sender_init(&sender, 1, 0), TLA_INVALID_ARGUMENT);
    direction d(2, 8);
    BOOST_CHECK_EQUAL(tla_message_credit(&d.sender, 1), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 0), TLA_INVALID_ARGUMENT);
    const auto refused = [&d](const tla_message_piece &piece, std::uint64_t nbytes, tla_status status,
                              const std::string &words) {
        const std::uint32_t taken = tla_message_taken(&d.receiver);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &piece, nbytes, &error), status);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(words) != std::string::npos, error.text);
        BOOST_CHECK_EQUAL(tla_message_taken(&d.receiver), taken);
    };
    refused({0, 8, 0, 8, 2}, 8, TLA_INVALID_ARGUMENT,
            "for slot 2: must be inside the message and one of 2 slots of 8 bytes");
    refused({0, 9, 0, 9, 0}, 9, TLA_INVALID_ARGUMENT, "a piece of 9 bytes");
    refused({0, 8, 8, 1, 0}, 1, TLA_INVALID_ARGUMENT, "at 8 of a message of 8");
    refused({0, 8, UINT64_MAX, 8, 0}, 1, TLA_INVALID_ARGUMENT, "at 18446744073709551615 of a message of 8");
    refused({0, 8, 0, 0, 0}, 0, TLA_INVALID_ARGUMENT, "a piece of 0 bytes");
    const tla_message_piece piece{0, 8, 0, 8, 0}, other{1, 8, 0, 8, 0};
    refused(piece, 9, TLA_OUT_OF_RANGE, "9 more bytes of a piece of 8 bytes, but 0 have already arrived");
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &piece, 5, nullptr), TLA_OK);
    refused(piece, 4, TLA_OUT_OF_RANGE, "4 more bytes of a piece of 8 bytes, but 5 have already arrived");
    refused(other, 1, TLA_OVERLAP, "a piece of message 1 for slot 0: the slot still holds a piece of message 0");
    // A sender that does not go on where it was.
    const tla_message_piece stray{3, 8, 0, 8, 1};
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &piece, 3, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_arrived(&d.receiver, &stray, 8, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_release(&d.receiver), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_release(&d.receiver), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_message_taken(&d.receiver), 1u);
}

BOOST_AUTO_TEST_CASE(a_dropped_message_is_not_sent_and_the_next_message_is) {
    direction d(2, 8);
    tla_message_piece piece{};
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 100), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_OK);
    tla_message_drop(&d.sender);
    BOOST_CHECK(!tla_message_is_under_way(&d.sender));
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(tla_message_begin(&d.sender, 8), TLA_OK);
    BOOST_CHECK_EQUAL(tla_message_next(&d.sender, &piece), TLA_OK);
    BOOST_CHECK_EQUAL(piece.message, 1u);
}

// Beside a queue of messages that holds what was sent and not read: 1e5 operations of random sizes, pieces whose bytes
// arrive in parts and out of order.
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_in_order_and_once) {
    seeded_random random(23);
    for (int round = 0; round < 20; round++) {
        const auto slots = static_cast<std::uint32_t>(random.between(1, round % 2 ? 5 : TLA_MESSAGE_SLOTS_MAX));
        const std::uint64_t slot_size = random.between(1, round % 3 ? 40 : 5000);
        direction d(slots, slot_size);
        std::deque<std::uint64_t> expected; // bytes of the messages that were begun and are not read
        std::uint64_t begun = 0, read = 0, read_bytes = 0;
        for (int step = 0; step < 10000; step++) {
            switch (random.between(0, 4)) {
            case 0: {
                const std::uint64_t nbytes = random.between(1, 6 * slot_size);
                const bool busy = tla_message_is_under_way(&d.sender);
                BOOST_REQUIRE_EQUAL(tla_message_begin(&d.sender, nbytes), busy ? TLA_BUSY : TLA_OK);
                if (busy) break;
                expected.push_back(nbytes);
                begun++;
                break;
            }
            case 1: {
                tla_message_piece piece{};
                const bool any = tla_message_is_under_way(&d.sender);
                const tla_status status = tla_message_next(&d.sender, &piece);
                BOOST_REQUIRE_EQUAL(status, !any ? TLA_NOT_FOUND : status == TLA_LIMIT ? TLA_LIMIT : TLA_OK);
                if (status == TLA_LIMIT) BOOST_REQUIRE_EQUAL(d.sender.credits, 0u);
                if (status) break;
                BOOST_REQUIRE_EQUAL(piece.message, begun - 1);
                d.pieces.push_back({piece, piece.nbytes});
                break;
            }
            case 2: { // some bytes of any piece
                if (d.pieces.empty()) break;
                const std::uint64_t which = random.between(0, d.pieces.size() - 1);
                direction::moving &m = d.pieces[which];
                const std::uint64_t nbytes = random.between(1, m.left);
                BOOST_REQUIRE_EQUAL(tla_message_arrived(&d.receiver, &m.piece, nbytes, nullptr), TLA_OK);
                m.left -= nbytes;
                if (m.left == 0) d.pieces.erase(d.pieces.begin() + static_cast<std::ptrdiff_t>(which));
                break;
            }
            case 3: {
                tla_message_piece piece{};
                const tla_status status = tla_message_front(&d.receiver, &piece);
                BOOST_REQUIRE_EQUAL(tla_message_release(&d.receiver), status);
                if (status) break;
                BOOST_REQUIRE_EQUAL(piece.message, read);
                BOOST_REQUIRE_EQUAL(piece.total, expected.front());
                BOOST_REQUIRE_EQUAL(piece.offset, read_bytes);
                read_bytes += piece.nbytes;
                d.credits++;
                if (read_bytes < piece.total) break;
                BOOST_REQUIRE(tla_message_piece_is_last(&piece));
                expected.pop_front();
                read++;
                read_bytes = 0;
                break;
            }
            default: {
                const auto count = static_cast<std::uint32_t>(random.between(0, d.credits));
                BOOST_REQUIRE_EQUAL(tla_message_credit(&d.sender, count), TLA_OK);
                d.credits -= count;
            }
            }
            d.check_slots();
        }
        BOOST_CHECK_GT(read, 10u);
        BOOST_CHECK_EQUAL(begun - read, expected.size());
    }
}
