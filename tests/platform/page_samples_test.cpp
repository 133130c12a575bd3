// Samples and figures on the first page and on the pages of commands: what the commands print.
#include "platform/run_report.hpp"

#include <cmath>
#include <sstream>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/", small = source + "configs/npu_small.yaml";

std::string without_host_time(std::string line) {
    const std::size_t begin = line.find(" simulated in ");
    if (begin != std::string::npos) line.erase(begin, line.find(';', begin) - begin);
    return line;
}

// Compares the indented lines of a page, from the line `first` to the next line that is not indented, with a command's
// output; a line "..." stands for any lines.
void check_sample(const std::string &page, const std::string &first, const std::string &out) {
    std::istringstream lines(read_text(source + page)), printed(out);
    std::string line, all = "\n";
    while (std::getline(printed, line))
        all += without_host_time(line) + "\n";
    while (std::getline(lines, line) && line != "    " + first)
        continue;
    std::size_t shown = 0;
    do {
        if (line.empty() || line == "    ...") continue;
        if (line.rfind("    ", 0) != 0) break;
        shown++;
        BOOST_CHECK_MESSAGE(contains(all, "\n" + without_host_time(line.substr(4)) + "\n"), page << ": " << line);
    } while (std::getline(lines, line));
    BOOST_CHECK_GT(shown, 4u);
}

// A page's text with single blanks.
std::string words_of(const std::string &page) {
    std::string words, word;
    for (std::istringstream text(read_text(source + page)); text >> word;)
        words += (words.empty() ? "" : " ") + word;
    return words;
}

std::string with_digits(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// The figures of a row of platform/results.md, whose rows allocator_felt_test compares with the experiment.
std::string row_of(const std::string &label) {
    const std::string page = read_text(source + "platform/results.md"), row = "\n| " + label + " | ";
    const std::size_t at = page.find(row);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, label);
    return page.substr(at + row.size(), page.find(" |\n", at + 1) - at - row.size());
}

double kernel_of(const std::string &label) {
    return std::stod(row_of(label));
}

std::string energy_of(const std::string &label) {
    const std::string row = row_of(label);
    return row.substr(row.rfind("| ") + 2);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_of_run_shows_what_the_quickstart_prints) {
    check_sample("platform/run/README.md",
                 "qkv_gemm               start us       end us   alloc us     map us     dma us compute us",
                 run_tlmalloc({"run", small}).out);
}

BOOST_AUTO_TEST_CASE(the_page_of_explain_shows_what_it_prints) {
    const scratch_directory scratch;
    const command_result both = run_shell("cd '" + scratch.path("") + "' && \"$tlmalloc\" run '" + small +
                                          "' --kernel gemm --json report.json --set mmu.walk=memory --set "
                                          "mmu.page_size='4 KiB' && \"$tlmalloc\" explain report.json");
    BOOST_REQUIRE_MESSAGE(both.status == 0, both.err);
    const std::string begin = "report.json: gemm, ";
    const std::size_t at = both.out.find(begin);
    BOOST_REQUIRE_NE(at, std::string::npos);
    check_sample("platform/explain/README.md", both.out.substr(at, both.out.find('\n', at) - at), both.out);
}

BOOST_AUTO_TEST_CASE(the_page_of_topology_shows_the_terms_of_a_path) {
    check_sample("platform/topology/README.md",
                 "ns                                         overhead           fill           wire   link",
                 run_tlmalloc({"topology", source + "configs/kernbench.yaml", "--path", "sip0.cube0.pe0",
                               "sip0.cube0.hbm_ctrl.pe0", "--bytes", "16 KiB"})
                     .out);
}

BOOST_AUTO_TEST_CASE(the_first_page_says_how_long_a_gemm_takes_on_fresh_and_on_aged_heaps) {
    const scratch_directory scratch;
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", source + "configs/traces/lm_train.csv.gz", "--capacity", "6 GiB",
                                      "--events", "peak", "--output", scratch.path("aged.arena")})
                            .status,
                        0);
    const auto kernel_us = [&](const std::vector<std::string> &more) {
        std::vector<std::string> arguments{"--kernel", "gemm", "--set", "hbm.timing=hbm3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return with_digits(double(number(run(small, arguments).list("critical_path"), "kernel_ps")) / 1e6, 1) + " us";
    };
    const std::string fresh = kernel_us({}), aged = kernel_us({"--from", scratch.path("aged.arena")});
    const std::string first = words_of("README.md"), report_page = words_of("platform/report/README.md");
    BOOST_CHECK_MESSAGE(contains(first, aged + " on heaps as a training leaves them, and " + fresh + " on fresh heaps"),
                        "README.md: expected " << aged << " and " << fresh);
    BOOST_CHECK_MESSAGE(contains(report_page, fresh + " on fresh heaps and " + aged + " on aged heaps"),
                        "platform/report/README.md: expected " << fresh << " and " << aged);
}

BOOST_AUTO_TEST_CASE(the_first_page_has_figures_of_the_table_of_results) {
    const auto us = [](const std::string &label) { return with_digits(kernel_of(label), 2) + " us"; };
    const std::string said = us("hbm3, 2 MiB, fresh, rtl_list_1c") + " on fresh heaps and " +
                             us("hbm3, 2 MiB, aged, rtl_list_1c") + " on aged heaps, and " +
                             us("hbm3, 2 MiB, fresh, fw_list") + " with an allocator in firmware";
    BOOST_CHECK_MESSAGE(contains(words_of("README.md"), said), "README.md does not say: " << said);
    const std::string energies = energy_of("hbm3, 2 MiB, fresh, rtl_list_1c") + ", " +
                                 energy_of("hbm3, 2 MiB, aged, rtl_list_1c") + " and " +
                                 energy_of("hbm3, 2 MiB, fresh, fw_list") + " uJ meanwhile, and " +
                                 energy_of("hbm3, 2 MiB, fresh, driver") + " uJ with a host driver";
    BOOST_CHECK_MESSAGE(contains(words_of("README.md"), energies), "README.md does not say: " << energies);

    double least = INFINITY, most = 0;
    for (const std::string memory : {"channels", "hbm3"})
        for (const std::string heap : {"fresh", "aged"}) {
            const double ratio = kernel_of(memory + ", 4 KiB, " + heap + ", rtl_list_1c") /
                                 kernel_of(memory + ", 2 MiB, " + heap + ", rtl_list_1c");
            least = std::min(least, ratio);
            most = std::max(most, ratio);
        }
    const std::string pages = with_digits(least, 1) + " to " + with_digits(most, 1) + " times as long";
    BOOST_CHECK_MESSAGE(contains(words_of("platform/results.md"), pages), "the page does not say: " << pages);

    const double on_channels = kernel_of("channels, 2 MiB, fresh, rtl_list_1c") /
                               kernel_of("channels, 2 MiB, fresh, rtl_list_1c, aligned"),
                 on_hbm3 =
                     kernel_of("hbm3, 2 MiB, aged, rtl_list_1c") / kernel_of("hbm3, 2 MiB, aged, rtl_list_1c, aligned");
    const std::string alignment = with_digits(std::min(on_channels, on_hbm3), 1) + " to " +
                                  with_digits(std::max(on_channels, on_hbm3), 1) + " times as long";
    BOOST_CHECK_MESSAGE(contains(words_of("platform/results.md"), alignment),
                        "platform/results.md does not say: " << alignment);
}
