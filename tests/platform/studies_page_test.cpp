// configs/studies/README.md says what `tlmalloc study' says of the sweeps beside it.
#include "platform/command_line.hpp"

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

void is_in_the_page(const std::string &name, const std::vector<std::string> &options) {
    scratch_directory scratch;
    const std::string results = scratch.path("r.sqlite");
    const command_result sweep = run_tlmalloc({"sweep", source + "configs/studies/" + name + ".yaml", "-o", results});
    BOOST_REQUIRE_MESSAGE(sweep.status == 0 && contains(sweep.out, "; 0 failed"), sweep.out + sweep.err);
    std::vector<std::string> words{"study", results};
    words.insert(words.end(), options.begin(), options.end());
    const command_result study = run_tlmalloc(words);
    BOOST_REQUIRE_MESSAGE(study.status == 0, study.err);
    BOOST_CHECK_MESSAGE(contains(read_text(source + "configs/studies/README.md"), "```text\n" + study.out + "```\n"),
                        study.out);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_says_what_the_study_of_walkers_says) {
    is_in_the_page("walkers", {"--pareto", "time_ps,walks"});
}

BOOST_AUTO_TEST_CASE(the_page_says_what_the_study_of_policies_says) {
    is_in_the_page("policies", {});
}

BOOST_AUTO_TEST_CASE(the_page_says_what_the_study_of_prices_says) {
    is_in_the_page("prices", {});
}

BOOST_AUTO_TEST_CASE(the_page_says_what_the_study_of_energy_says) {
    is_in_the_page("energy", {"--pareto", "time_ps,energy_fj"});
}
