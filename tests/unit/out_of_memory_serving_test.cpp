// Requests on a host without memory: read, or refused for want of memory and for nothing else.
#include "host_memory/failing.hpp"
#include "scratch_directory.hpp"
#include "serving/requests.h"

namespace {

const std::string measured = R"({"id":0,"arrival_s":0.0,"input":40,"output":9,"blocks":[7,8,9]})"
                             "\n"
                             R"({"id":1,"arrival_s":0.265091,"input":1,"output":2,"blocks":[]})";
const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 23:59:59.6805900,374,44\n";

} // namespace

BOOST_AUTO_TEST_CASE(requests_without_host_memory_are_read_or_refused_at_every_allocation) {
    const scratch_directory scratch;
    for (const std::string &text : {measured, azure}) {
        const std::string path = scratch.write("requests", text);
        const std::size_t before = host_memory::live();
        std::size_t refused = 0;
        for (bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                tla_serving_requests requests;
                host_memory::fail_from(n, all_later);
                const tla_status status = tla_serving_requests_read(path.c_str(), &requests, nullptr);
                failed = host_memory::stop();
                BOOST_CHECK_EQUAL(tla_status_name(status), tla_status_name(status ? TLA_NO_HOST_MEMORY : TLA_OK));
                BOOST_CHECK_EQUAL(requests.count > 0, status == TLA_OK);
                tla_serving_requests_free(&requests);
                BOOST_REQUIRE_EQUAL(host_memory::live(), before);
                refused += status != TLA_OK;
            }
        BOOST_CHECK_GT(refused, 4u);
    }
}
