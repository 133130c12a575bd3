// The book of resident pages when the host's memory ends: a page that is refused is not there, all else stays.
#include "host_memory/failing.hpp"
#include "model/kernel/resident_pages.h"

#include <memory>

namespace {

struct book {
    tla_resident_pages *pages = nullptr;
    ~book() { tla_resident_pages_destroy(pages); }
};

// With as many pages in memory 0 as it has room for.
std::unique_ptr<book> full_book() {
    auto made = std::make_unique<book>();
    BOOST_REQUIRE_EQUAL(tla_resident_pages_create(TLA_EVICTION_LRU, &made->pages), TLA_OK);
    for (std::uint64_t i = 0; i < 16; i++)
        BOOST_REQUIRE_EQUAL(tla_resident_pages_add(made->pages, 0, {i * 4096}), TLA_OK);
    return made;
}

std::string look(const book &b) {
    return std::to_string(tla_resident_pages_count(b.pages));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_page_without_host_memory_is_not_in_the_book) {
    for (const std::uint32_t memory : {0u, 1u})
        BOOST_CHECK_GT(host_memory::exhaust(
                           "a page more", full_book,
                           [=](book &b) { return tla_resident_pages_add(b.pages, memory, {1 << 20}); }, look),
                       0u);
}

BOOST_AUTO_TEST_CASE(a_book_without_host_memory_is_not_created) {
    host_memory::fail_from(0, true);
    tla_resident_pages *made = nullptr;
    const tla_status status = tla_resident_pages_create(TLA_EVICTION_CLOCK, &made);
    host_memory::stop();
    BOOST_CHECK_EQUAL(status, TLA_NO_HOST_MEMORY);
    BOOST_CHECK(!made);
}
