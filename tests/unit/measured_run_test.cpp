// What was measured of a serving engine: its tables, and a run beside it, by hand.
#include "scratch_directory.hpp"
#include "serving/measured_run.h"

#include <vector>

namespace {

const std::string seconds_header = "until_s,prompt_tokens,generated_tokens,running,waiting,kv_cache_pct\n",
                  requests_header = "id,queued_s,scheduled_s,first_token_s,last_token_s\n";

struct measurement : tla_measured_run {
    measurement(const std::string &seconds_table, const std::string &requests_table) {
        const scratch_directory scratch;
        status = tla_measured_run_read(scratch.write("seconds.csv", seconds_table).c_str(),
                                       scratch.write("requests.csv", requests_table).c_str(), this, &error);
    }
    measurement(const measurement &) = delete;
    measurement &operator=(const measurement &) = delete;
    ~measurement() { tla_measured_run_clear(this); }

    tla_status status;
    tla_error error{};
};

void check_refused(const std::string &seconds, const std::string &requests, const std::string &text) {
    const measurement read(seconds, requests);
    BOOST_CHECK_EQUAL(read.status, TLA_SYNTAX);
    BOOST_CHECK_MESSAGE(std::string(read.error.text).find(text) != std::string::npos, read.error.text);
    BOOST_CHECK(!read.seconds && !read.requests && !read.second_count && !read.request_count);
}

tla_serving_requests requests_of(std::vector<tla_serving_request> &items) {
    tla_serving_requests requests{};
    requests.items = items.data();
    requests.count = items.size();
    return requests;
}

} // namespace

// Steps of 10, 20, 30 and 40 % of the cache with a token each end at 1, 2, 6 and 7 s. A row is half a second late.
BOOST_AUTO_TEST_CASE(a_run_is_compared_by_equal_work_and_by_the_clock) {
    const measurement measured(seconds_header + "4,9,1,1,0,50\n5,0,1,1,0,20.5\n6,0,0,3,2,20\n7,0,2,1,1,47\n",
                               requests_header + "7,0.5,0.5,2,9\n3,1,1,4,9\n");
    BOOST_REQUIRE_MESSAGE(!measured.status, measured.error.text);
    std::vector<tla_served_step> steps;
    for (const std::uint64_t s : {1u, 2u, 6u, 7u})
        steps.push_back({s * 1000000000, 0, 1, 1, 0, static_cast<std::uint32_t>(10 * (steps.size() + 1)), 100});
    std::vector<tla_serving_request> items(2);
    items[0].id = 7;
    items[1].id = 3;
    const tla_serving_requests requests = requests_of(items);
    std::vector<tla_served> served(2);
    served[0].queued_ns = 0;
    served[0].first_ns = 1750000000; // 1.75 s, measured 1.5
    served[1].queued_ns = 1000000000;
    served[1].first_ns = 3000000000; // 2 s, measured 3
    tla_measured_deviation d{};
    tla_error error{};
    BOOST_REQUIRE(
        !tla_measured_run_compare(&measured, 0.5, steps.data(), steps.size(), &requests, served.data(), &d, &error));
    // From 5 s on 2, 2 and 4 tokens have been made: 20, 20 and 40 %, where 20.5, 20 and 47 were measured.
    BOOST_CHECK_CLOSE(d.equal_work_median, 0.5, 1e-9);
    BOOST_CHECK_CLOSE(d.equal_work_mean, 2.5, 1e-9);
    // Before 3.5, 4.5, 5.5 and 6.5 s 2, 2, 2 and 3 steps were over: 20, 20, 20 and 30 %.
    BOOST_CHECK_CLOSE(d.use, (30 + 0.5 + 0 + 17) / 4, 1e-9);
    BOOST_CHECK_CLOSE(d.running, 2.0 / 4, 1e-9);
    BOOST_CHECK_CLOSE(d.waiting, 3.0 / 4, 1e-9);
    BOOST_CHECK_CLOSE(d.ttft_median_s, 0.625, 1e-9);
}

BOOST_AUTO_TEST_CASE(requests_that_differ_from_the_measured_requests_are_rejected) {
    const measurement measured(seconds_header + "5,0,1,1,0,20\n", requests_header + "0,0,0,1,2\n1,0,0,1,2\n");
    BOOST_REQUIRE(!measured.status);
    std::vector<tla_serving_request> items(2);
    const tla_serving_requests requests = requests_of(items);
    const tla_served_step step{1, 0, 1, 1, 0, 1, 2};
    std::vector<tla_served> served(2);
    tla_measured_deviation d{};
    const auto refused = [&](const tla_serving_requests &of, std::size_t steps) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_measured_run_compare(&measured, 0, &step, steps, &of, served.data(), &d, &error),
                          TLA_INVALID_ARGUMENT);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refused(requests, 1),
                      "measured request 1 has id 1, the request of the trace 0: give both the same order");
    items[1].id = 1;
    BOOST_CHECK_EQUAL(refused(requests, 0), "the run has no steps");
    items.pop_back();
    BOOST_CHECK_EQUAL(refused(requests_of(items), 1),
                      "the run has 2 requests, the trace 1: compare a run of this trace");
}

BOOST_AUTO_TEST_CASE(tables_of_a_measurement_are_rejected_with_their_place) {
    const std::string second = "5,0,1,1,0,20\n", request = "0,0,0,1,2\n";
    check_refused("until_s\n", requests_header + request, "seconds.csv:1:1: ");
    check_refused(seconds_header, requests_header + request, "seconds.csv: the file has no per-second rows");
    check_refused(seconds_header + "5,0,1,1,0,x\n", requests_header, "seconds.csv:2:11: found 'x', expected a number");
    check_refused(seconds_header + "5,0,-1,1,0,2\n", requests_header, "seconds.csv:2:5: found '-1', expected a number");
    check_refused(seconds_header + second + second, requests_header,
                  "seconds.csv:3:1: found '5', expected a time after the previous line's");
    check_refused(seconds_header + second, requests_header + "0,0,0,1\n", "requests.csv:2:");
    check_refused(seconds_header + second, requests_header + "-1,0,0,1,2\n",
                  "requests.csv:2:1: found '-1', expected an id");
    check_refused(seconds_header + second, requests_header + "0,3,3,1,2\n",
                  "requests.csv:2:7: found '1', expected a time not before queued_s");
}
