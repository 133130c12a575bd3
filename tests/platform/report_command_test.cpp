// `tlmalloc report`: pages in one file, and bad input. What pages do in a browser: tests/browser.
#include "platform/run_report.hpp"
#include "sanitized.hpp"

#include <fstream>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// A run, its report in a file, and pages of it.
struct reported_run {
    scratch_directory scratch;
    std::string file = scratch.path("report.json"), page = scratch.path("page.html");

    explicit reported_run(const std::string &key = "workload.kernel=dma_read") {
        const command_result result = run_tlmalloc({"run", npu_small, "--json", file, "--set", key});
        BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    }

    command_result report(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"report", file, "-o", page});
        return run_tlmalloc(more);
    }

    void write(const std::string &text) const { std::ofstream(file, std::ios::trunc) << text; }

    // Refused with this status and text, and without a page.
    void refuses(const std::vector<std::string> &more, int status, const std::string &says) const {
        const command_result result = report(more);
        BOOST_CHECK_EQUAL(result.status, status);
        BOOST_CHECK_EQUAL(result.out, "");
        BOOST_CHECK_MESSAGE(contains(result.err, says), says << " is not in " << result.err);
        BOOST_CHECK(!std::filesystem::exists(page));
    }
};

std::size_t count(const std::string &text, const std::string &part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}

// An event log of a run as short as can be: a header of one PE and an end.
struct log_text {
    std::string header =
        R"({"format":"tlmalloc events","version":1,"columns":{"memory":["module","op","arrival","start","done","port",)"
        R"("sender","correlation","status","service","channel","object","address","bytes","block","free","largest",)"
        R"("free_blocks"],)"
        R"("mapping":["module","op","arrival","start","done","port","sender","correlation","status","request",)"
        R"("ranges"],)"
        R"("launch":["module","op","arrival","start","done","port","sender","correlation","status","request","began",)"
        R"("took"],"access":["module","what","at","va","bytes","access","asid"],)"
        R"("interval":["who","kind","begin","end","place","unit"],"transfer":["pe","engine","start","end","bytes",)"
        R"("status","for_message","address","physical","tile","block","tile_block","memories"],)"
        R"("message":["from","to","bytes","sent","received"],"tensor":["object","name","va","bytes"]},)"
        R"("kernel":"k","pes":["a","b","c","d"],"modules":["m"],"nodes":["n"],"links":[]})";
    std::string rows = "[\"interval\",1,\"bank\",1,2,null,null]\n[\"later\",{}]\n";
    std::string end;

    explicit log_text(const std::string &report) {
        const std::size_t at = report.find("\"sim_time_ps\": ") + 15;
        end = "[\"end\"," + report.substr(at, report.find(',', at) - at) + ",\"TLA_OK\",0,{},{}]\n";
    }

    std::string text() const { return header + "\n" + rows + end; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_page_is_one_file_that_loads_nothing) {
    const reported_run run;
    const command_result result = run.report();
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    BOOST_CHECK_MESSAGE(contains(result.out, "page.html: 0."), result.out);
    const std::string page = read_text(run.page);
    BOOST_CHECK_EQUAL(page.substr(0, 15), "<!DOCTYPE html>");
    BOOST_CHECK(contains(page, "default-src 'none'"));
    for (const char *const loads : {"<script src", "<img", "@import", "url(", "<iframe", "<link rel=\"stylesheet\""})
        BOOST_CHECK_MESSAGE(!contains(page, loads), loads);
    // The library with its licence, and our parts.
    BOOST_CHECK(contains(page, "version:\"3.5.") || contains(page, "version: \"3.5."));
    BOOST_CHECK(contains(page, "Redistribution and use in source and binary forms"));
    BOOST_CHECK(contains(page, "class KernelsView"));
    BOOST_CHECK_EQUAL(count(page, "<script"), count(page, "</script>"));
    // The same page again.
    BOOST_REQUIRE_EQUAL(run.report().status, 0);
    BOOST_CHECK(read_text(run.page) == page);
    // To standard output.
    const command_result out = run_tlmalloc({"report", run.file, "-o", "-"});
    BOOST_CHECK(out.out == page && contains(out.err, "-: 0."));
}

BOOST_AUTO_TEST_CASE(data_cannot_end_the_element_that_they_stand_in) {
    const reported_run run;
    json_t *const json = json_load_file(run.file.c_str(), 0, nullptr);
    json_object_set_new(json, "message", json_string("</script><script>alert(1)</script><!--<b>"));
    BOOST_REQUIRE_EQUAL(json_dump_file(json, run.file.c_str(), 0), 0);
    json_decref(json);
    BOOST_REQUIRE_EQUAL(run.report().status, 0);
    const std::string page = read_text(run.page);
    BOOST_CHECK(!contains(page, "<script>alert"));
    BOOST_CHECK(contains(page, "\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\\u003cb>"));
}

BOOST_AUTO_TEST_CASE(reports_of_other_versions_are_rejected) {
    const reported_run run;
    const std::string report = read_text(run.file), version = "\"version\": \"";
    const std::size_t at = report.find(version) + version.size();
    run.write(report.substr(0, at) + "9" + report.substr(at));
    run.refuses({}, 2, "report.json: found a report of version 90.1.0, expected version 0.1.0: run again");
    run.write(report.substr(0, at - version.size()) + "\"v\": \"" + report.substr(at));
    run.refuses({}, 2, "report.json: found a report of no version, expected version 0.1.0: run again");
    run.write("{\"coffee\": 1}");
    run.refuses({}, 2, "report.json: found JSON of no command, expected a report (--json)");
    run.write("[]");
    run.refuses({}, 2, "report.json: found JSON of no command");
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, report.size() / 2, report.size() - 4}) {
        run.write(report.substr(0, length));
        run.refuses({}, 2, "expected a complete report");
    }
    run.write("tlmalloc");
    run.refuses({}, 2, "report.json:1:");
    run.write(log_text(report).text());
    run.refuses({}, 2,
                "report.json: found an event log, expected a report: name the report of the run and pass the log as "
                "--events LOG");
    run.write("\x1f\x8b\b");
    run.refuses({}, 2,
                "report.json: found a compressed file, expected a report: pass a compressed event log as --events LOG");
    run.write("SQLite format 3");
    run.refuses({}, 2,
                "report.json: found results of a sweep, expected a report: write a report of them with `tlmalloc study "
                "--json'");
    std::filesystem::remove(run.file);
    run.refuses({}, 1, "report.json: cannot be read: No such file");
}

BOOST_AUTO_TEST_CASE(reports_of_two_commands_have_no_page_together) {
    const reported_run run;
    const std::string other = run.scratch.path("probe.json");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"probe", npu_small, "--case", "local", "--json", other}).status, 0);
    run.refuses(
        {other}, 2,
        "probe.json: found a report of `tlmalloc probe', expected one of `tlmalloc run', like the first report");
    run.refuses({other, other}, 2, "found a third argument");
}

BOOST_AUTO_TEST_CASE(a_page_above_the_limit_and_a_missing_library_are_rejected) {
    const reported_run run;
    run.refuses({"--limit", "100 KiB"}, 2, "the page would have ");
    run.refuses({"--limit", "100 KiB"}, 2, " bytes, more than the limit of 102400: raise --limit");
    run.refuses({"--limit", "0"}, 2, "--limit: found '0'");
    const std::string folder = run.scratch.path("d3");
    run.refuses({"--d3", folder}, 1,
                "d3/d3.min.js: cannot be read: No such file or directory: install Debian's package libjs-d3, or name "
                "its folder with --d3 DIR");
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/d3.min.js") << "var d3={version:\"7.0.0\"};";
    run.refuses({"--d3", folder}, 1, "d3/copyright: cannot be read");
    std::ofstream(folder + "/copyright") << "nobody's <b>";
    run.refuses({"--d3", folder}, 2, "not d3 version 3.5: install Debian's package libjs-d3");
    std::ofstream(folder + "/d3.min.js") << "var d3={version:\"3.5.9\"};'</script><!--'";
    BOOST_REQUIRE_EQUAL(run.report({"--d3", folder}).status, 0);
    BOOST_CHECK(contains(read_text(run.page), "'<\\/script><\\!--'"));
    BOOST_CHECK(contains(read_text(run.page), "nobody's &lt;b>"));
}

BOOST_AUTO_TEST_CASE(a_page_does_not_overwrite_its_report) {
    const reported_run run;
    const std::string report = read_text(run.file);
    const command_result result = run_tlmalloc({"report", run.file, "-o", run.file});
    BOOST_CHECK_EQUAL(result.status, 2);
    BOOST_CHECK_MESSAGE(contains(result.err, "--output"), result.err);
    BOOST_CHECK(read_text(run.file) == report);
    BOOST_CHECK_EQUAL(run_tlmalloc({"report"}).status, 2);
}

// The fabric stands in the page as `topology` numbers it; where its file has gone the page says so.
BOOST_AUTO_TEST_CASE(the_fabric_stands_in_the_page) {
    const reported_run run;
    BOOST_REQUIRE_EQUAL(run.report().status, 0);
    BOOST_CHECK(contains(read_text(run.page), "[\"sip0.cube0.r0c0\",\"router\","));
    const scratch_directory scratch;
    const std::string yaml = scratch.path("fabric.yaml");
    std::ofstream(yaml) << run_tlmalloc({"topology", npu_small, "--yaml"}).out;
    const reported_run listed("system.topology_file=" + yaml);
    BOOST_REQUIRE_EQUAL(listed.report().status, 0);
    BOOST_CHECK(contains(read_text(listed.page), "\"topology\":{\"nodes\""));
    std::filesystem::remove(yaml);
    BOOST_REQUIRE_EQUAL(listed.report().status, 0);
    BOOST_CHECK(contains(read_text(listed.page), "\"topology\":null"));
}

BOOST_AUTO_TEST_CASE(a_log_stands_in_the_page_plain_or_compressed) {
    const reported_run run;
    const log_text log(read_text(run.file));
    const std::string file = run.scratch.path("run.events");
    std::ofstream(file) << log.text();
    BOOST_REQUIRE_EQUAL(run.report({"--events", file}).status, 0);
    const std::string page = read_text(run.page);
    BOOST_CHECK(contains(page, "<script type=\"text/plain\" id=\"tlmalloc-events-0\">eJ"));
    BOOST_CHECK(contains(page, "\"interval\":{\"rows\":1,\"columns\":[[\"who\",1],"));
    BOOST_REQUIRE_EQUAL(run_shell("gzip '" + file + "'").status, 0);
    BOOST_REQUIRE_EQUAL(run.report({"--events", file + ".gz"}).status, 0);
    BOOST_CHECK(read_text(run.page) == page);
}

BOOST_AUTO_TEST_CASE(a_log_too_large_for_the_host_fails_and_leaves_no_page) {
    const reported_run run;
    log_text log(read_text(run.file));
    for (int i = 0; i < 50000; i++)
        log.rows += "[\"tensor\"," + std::to_string(i) + ",\"tensor " + std::to_string(i) + "\",0,64]\n";
    const std::string file = run.scratch.write("run.events", log.text());
    const unsigned most = is_sanitized() ? 0 : 44'000; // a sanitizer alone reserves terabytes: nothing starts
    std::size_t failed = 0;
    for (unsigned kib = 20'000; kib < most; kib += 4'000) {
        std::filesystem::remove(run.page);
        const command_result found = run_shell("ulimit -v " + std::to_string(kib) + "; exec \"$tlmalloc\" report '" +
                                               run.file + "' --events '" + file + "' -o '" + run.page + "'");
        if (found.status == 0) continue;
        failed++;
        BOOST_CHECK_EQUAL(found.status, 1);
        BOOST_CHECK_MESSAGE(contains(found.err, "tlmalloc report: ") && contains(found.err, "no host memory\n"),
                            found.err);
        BOOST_CHECK(!std::filesystem::exists(run.page));
    }
    BOOST_CHECK_EQUAL(failed > 0, !is_sanitized());
}

BOOST_AUTO_TEST_CASE(a_truncated_or_invalid_log_is_rejected_with_its_line) {
    const reported_run run;
    const std::string report = read_text(run.file), file = run.scratch.path("run.events");
    const log_text whole(report);
    const auto refused = [&](const std::string &text, const std::string &says, int status = 2) {
        std::ofstream(file, std::ios::trunc) << text;
        run.refuses({"--events", file}, status, says);
    };
    const auto with = [&](std::string text, const std::string &from, const std::string &to) {
        const std::size_t at = text.find(from);
        BOOST_REQUIRE(at != std::string::npos);
        return text.replace(at, from.size(), to);
    };
    const std::string text = whole.text(), head = whole.header + "\n";
    refused("", "run.events:1: found no event log header, expected a log that `tlmalloc run --events' wrote");
    refused(report, "run.events:1: found no event log header");
    refused(with(text, "\"version\":1", "\"version\":2"), ":1: found an event log of version 2, expected 1");
    refused(with(text, "\"arrival\"", "\"departure\""), ":1: the log has no column arrival of ");
    refused(with(text, "\"nodes\"", "\"noodles\""), ":1: the header has no list of names (nodes)");
    refused(head + whole.rows, ":4: found the end of the file, expected more rows: the log is truncated");
    refused(text.substr(0, text.size() - 1), ":4: incomplete line: the log is truncated");
    for (std::size_t length = head.size(); length + 1 < text.size(); length += 7)
        refused(text.substr(0, length), "the log is truncated");
    refused(text + whole.rows, ":5: found a row of kind interval after the end row");
    refused(head + "\n" + whole.rows + whole.end, ":2: found no list that begins with its kind");
    refused(with(text, "[\"later\"", "{\"later\""), ":3: found no list that begins with its kind");
    refused(with(text, "1,2,null,null", "1,2"), ":2: the row has only 4 columns of interval");
    refused(with(text, "1,2,null", "-1,2,null"), ":2: found an invalid value, expected a text or a number from 0 on");
    refused(with(text, "[\"interval\",1", "[\"interval\",5"), ":2: who of interval: found 5, expected less than 5");
    refused(with(text, "\"bank\"", "7"), ":2: kind of interval: found a number, expected a text");
    refused(with(text, "\"bank\",1", "\"bank\",\"x\""), ":2: begin of interval: found a text, expected a number");
    refused(with(text, "1,2,null", "1,2,1"), ":2: place of interval: found 1, expected less than 1");
    refused(with(text, "\"links\":[", "\"links\":[[0,1]"), ":1: the header has no list of links between nodes (links)");
    refused(with(text, "\"pes\":[\"a\"", "\"pes\":[1"), ":1: the header has no list of names (pes)");
    refused(with(text, "\"interval\":[\"who\"", "\"interval\":[1"), ":1: the log has no column who of interval");
    refused(with(text, whole.end, "[\"end\",17,\"TLA_OK\",0,{},{}]\n"),
            "run.events: the log belongs to another run than ");
    std::filesystem::remove(file);
    run.refuses({"--events", file}, 1, "run.events: cannot be read: No such file or directory");
    std::ofstream(file) << text;
    run.refuses({"--events", file, "--events", file}, 2, "--events: expected at most one log for each REPORT");
    BOOST_REQUIRE_EQUAL(run_shell("gzip '" + file + "' && head -c 200 '" + file + ".gz' >'" + file + "'").status, 0);
    run.refuses({"--events", file}, 2, "run.events:");
    const std::string probe = run.scratch.path("probe.json");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"probe", npu_small, "--case", "local", "--json", probe}).status, 0);
    const command_result other = run_tlmalloc({"report", probe, "--events", file, "-o", run.page});
    BOOST_CHECK_EQUAL(other.status, 2);
    BOOST_CHECK_MESSAGE(contains(other.err, "found a report of `tlmalloc probe', expected one of `tlmalloc run'"),
                        other.err);
}
