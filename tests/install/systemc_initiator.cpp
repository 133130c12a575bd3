// SystemC's LT example: its traffic generator writes and reads back 64 words at each of two base addresses.
#define REPORT_DEFINE_GLOBALS // the example wants one file to define its reporting switches
#include "reporting.h"

#include "initiator_top.h"
#include "tlmalloc/modules/hbm_slice.hpp"

#include <cstdio>

int sc_main(int, char **) {
    REPORT_ENABLE_ALL_REPORTING();
    initiator_top initiator("initiator", 101, 0, 4096);
    tlmalloc::hbm_slice slice{"slice", {}};
    initiator.top_initiator_socket(slice.in);
    sc_core::sc_start();
    const tlmalloc::hbm_slice::statistics s = slice.get_statistics();
    std::printf("writes %llu reads %llu errors %llu\n", static_cast<unsigned long long>(s.writes),
                static_cast<unsigned long long>(s.reads), static_cast<unsigned long long>(s.errors));
    const bool clean = sc_core::sc_report_handler::get_count(sc_core::SC_ERROR) == 0;
    return clean && s.errors == 0 && s.writes > 0 && s.writes == s.reads ? 0 : 1;
}
