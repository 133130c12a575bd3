// `tlmalloc reproduce`: findings in experiments, their names, and the files of plots.
#include "platform/experiment_figures.hpp"

namespace {

const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments";

void check_refused(const std::string &text, const std::string &finding) {
    scratch_directory scratch;
    const std::string path = scratch.write("e.yaml", text);
    const command_result run = run_tlmalloc({"reproduce", path});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_EQUAL(run.err, path + finding + "\n");
}

} // namespace

BOOST_AUTO_TEST_CASE(long_experiments_run_only_when_named) {
    scratch_directory scratch;
    const std::string text = stream("note: x");
    scratch.write("quick.yaml", text);
    scratch.write("slow.yaml", "long: true\n" + text);
    const auto out = [&](const std::vector<std::string> &more) {
        std::vector<std::string> words = {"reproduce", "--from", scratch.path("")};
        words.insert(words.end(), more.begin(), more.end());
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.err);
        return run.out;
    };
    const std::string all = out({}), named = out({"slow"});
    BOOST_CHECK_MESSAGE(contains(all, "Long experiments, which run only when named: s\n"), all);
    BOOST_CHECK_EQUAL(all.substr(0, all.find("Long experiments")), named);
    BOOST_CHECK_EQUAL(out({"quick"}), named);
}

BOOST_AUTO_TEST_CASE(a_plot_leaves_its_data_and_its_script) {
    scratch_directory scratch;
    const std::string path = scratch.write("e.yaml", stream("published: 10, source: none"));
    const command_result run = run_tlmalloc({"reproduce", path, "--plot", scratch.path("plots")});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(read_text(scratch.path("plots/s.dat")).substr(0, 4), "\"a\" ");
    BOOST_CHECK(contains(read_text(scratch.path("plots/s.gp")), "set terminal svg"));
    if (std::system("command -v gnuplot >/dev/null 2>&1") == 0)
        BOOST_CHECK(contains(read_text(scratch.path("plots/s.svg")), "<svg"));
}

// As for every output: what a file stands in must be there.
BOOST_AUTO_TEST_CASE(a_plot_makes_its_directory_and_not_the_one_above) {
    scratch_directory scratch;
    const std::string path = scratch.write("e.yaml", stream("published: 10, source: none"));
    const command_result run = run_tlmalloc({"reproduce", path, "--plot", scratch.path("a/b")});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.err, scratch.path("a/b") + ": cannot write: No such file or directory"), run.err);
    BOOST_CHECK(!std::filesystem::exists(scratch.path("a")));
    const command_result file = run_tlmalloc({"reproduce", path, "--plot", path});
    BOOST_CHECK_EQUAL(file.status, 1);
    BOOST_CHECK_MESSAGE(contains(file.err, path + ": not a directory: name a directory\n"), file.err);
}

BOOST_AUTO_TEST_CASE(findings_in_an_experiment_stand_at_their_place) {
    check_refused("name: s\nunit: GB/s\nwork: stream\n", ":3:1: error: unknown key \"work\", expected name, about, "
                                                         "unit, platform, set, workload, with, figures, long or "
                                                         "rows");
    check_refused(
        stream("lable: x"),
        ":7:16: error: unknown key \"lable\", expected label, figure, unit, set, with, published, closed_form, input, "
        "bound, at_most, fitted, source, note or relative_to, did you mean \"label\"?");
    check_refused(stream("note: x, note: y"), ":7:25: error: note: found the key again, expected it once (line 7)");
    check_refused(stream("set: {mmu.walk: flat, mmu.walk: flat}"),
                  ":7:38: error: mmu.walk: found the key again, expected it once (line 7)");
    check_refused(stream("set: [mmu.walk]"), ":7:21: error: set: found a sequence, expected a mapping");
    check_refused(stream("set: {mmu.walk: [flat]}"), ":7:32: error: mmu.walk: found a sequence, expected one value");
    check_refused(stream("note: &a x"), ":7:22: error: found the anchor \"a\", expected none");
    check_refused("name: s\nunit: u\nworkload: stream\nrows: [x]\n",
                  ":4:8: error: rows: found \"x\", expected a mapping with keys such as label");
    check_refused("name: s\nworkload: streams\n",
                  ":2:11: error: workload: found \"streams\", expected one of stream, "
                  "gemm_tiles, map_ahead, map_visibility, allocator_traffic, "
                  "transfers, all_reduce, message, compaction, composite, energy, engine, first_touch, mooncake_rows, "
                  "oversubscription, segments, "
                  "transformer_block, "
                  "transformer_beside_moves, "
                  "transformer_heaps, training, network, program, "
                  "prefix_cache, prefix_eviction, kv_memory, layer_types, serving, serving_rules, measured_run, "
                  "serving_blocks, engine_requests, did you "
                  "mean \"stream\"?");
    check_refused(stream("set: {mmu.walks: flat}"),
                  ":7:33: error: \"mmu.walks=flat\": unknown key \"mmu.walks\", did you mean \"mmu.walk\"?");
    check_refused(stream("with: {bytes: 1}"),
                  ":7:30: error: bytes: found \"1\", which has no unit, expected a size with a unit (B, KiB, MiB, GiB, "
                  "TiB, KB, MB, GB, TB)");
    check_refused(stream("published: 5"), ":7:5: error: row with a published value and no source");
    check_refused(stream("bound: 5"), ":7:5: error: row with a bound and no reference value");
    check_refused(stream("input: 5"), ":7:5: error: row with a reference value and no source");
    check_refused(stream("at_most: 5"), ":7:5: error: row with at_most and no source");
    check_refused(
        stream("published: 5, at_most: 5, source: x"),
        ":7:39: error: at_most: the row has a reference value too: remove one, as the figure is already a deviation");
    check_refused("long: yes\n" + stream("set: {}"), ":1:7: error: long: found \"yes\", expected false or true");
    check_refused(stream("published: 5, input: 5, source: x"),
                  ":7:37: error: input: found a second reference value, expected one");
    check_refused(stream("relative_to: a"), ":7:29: error: relative_to: figures of stream are not relative");
    check_refused(stream("published: -5, source: x"),
                  ":7:27: error: published: found \"-5\", expected a number from 0 on");
    check_refused("figures: all\n" + stream("set: {}"),
                  ":1:10: error: figures: workload stream does not support all: set figure in each row");
    check_refused("figures: some\n" + stream("set: {}"), ":1:10: error: figures: found \"some\", expected all");
    check_refused("name: s\nunit: u\nworkload: stream\nrows: []\n",
                  ":4:7: error: rows: found none, expected a sequence of at least one row");
    check_refused("name: 'a\n",
                  ":2:1: error: not YAML: found unexpected end of stream, while scanning a quoted scalar");
    check_refused("", ":1:1: error: found an empty file, expected an experiment");
}

BOOST_AUTO_TEST_CASE(a_name_is_also_what_others_have_before_an_underscore) {
    scratch_directory scratch;
    for (const char *name : {"s", "s_more", "sound"}) {
        std::string text = stream("note: x");
        scratch.write(std::string(name) + ".yaml", text.replace(0, 7, std::string("name: ") + name));
    }
    const command_result run = run_tlmalloc({"reproduce", "s", "--from", scratch.path("")});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.out, "s: ") && contains(run.out, "s_more: ") && !contains(run.out, "sound"),
                        run.out);
    BOOST_CHECK_EQUAL(run_tlmalloc({"reproduce", "s_", "--from", scratch.path("")}).status, 2);
}

BOOST_AUTO_TEST_CASE(a_name_that_no_experiment_has_is_bad_usage_and_a_file_that_is_not_there_is_not) {
    scratch_directory scratch;
    const command_result name = run_tlmalloc({"reproduce", "nothing", "--from", experiments});
    BOOST_CHECK_EQUAL(name.status, 2);
    BOOST_CHECK_MESSAGE(contains(name.err, "found 'nothing', expected an experiment of " + experiments + ": "),
                        name.err);
    const command_result file = run_tlmalloc({"reproduce", scratch.path("nothing.yaml")});
    BOOST_CHECK_EQUAL(file.status, 1);
    BOOST_CHECK_MESSAGE(contains(file.err, "nothing.yaml: cannot be read"), file.err);
    const command_result none = run_tlmalloc({"reproduce", "nothing", "--from", scratch.path("")});
    BOOST_CHECK_EQUAL(none.status, 1);
    BOOST_CHECK_MESSAGE(contains(none.err, " has no experiments: "), none.err);
}
