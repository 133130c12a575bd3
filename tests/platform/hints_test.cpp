// What the command line says to words that it does not know: what they may have meant.
#include "platform/command_line.hpp"

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string hbm2 = TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml";
const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments";

struct misspelt {
    std::vector<std::string> arguments;
    std::string message;
};

void check_refused(const std::vector<misspelt> &lines, int status = 2) {
    for (const misspelt &m : lines) {
        const command_result run = run_tlmalloc(m.arguments);
        BOOST_CHECK_MESSAGE(run.status == status, "status " << run.status << ": " << run.err);
        BOOST_CHECK_MESSAGE(contains(run.err, m.message), "found " << run.err << "expected " << m.message);
        BOOST_CHECK_EQUAL(run.out, "");
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_misspelt_command_or_option_gets_the_nearest_one) {
    check_refused({
        {{"replya"}, "found 'replya', expected a command: run replay "},
        {{"replya"}, " help, did you mean \"replay\"?\n"},
        {{"--versoin"}, "did you mean \"--version\"?"},
        {{"help", "chekc"}, " help, did you mean \"check\"?\n"},
        {{"help", "run", "age"}, "found a second argument 'age', expected one COMMAND"},
        {{"run", "--jsno", "x"}, "tlmalloc run: unrecognized option '--jsno', did you mean \"--json\"?\n"},
        {{"replay", "t.csv", "--capaticy=3"}, "unrecognized option '--capaticy', did you mean \"--capacity\"?"},
        {{"age", "--ouptut", "x"}, "did you mean \"--output\"?"},
        {{"traffic", "--patern=chase"}, "did you mean \"--pattern\"?"},
        {{"reproduce", "--plott", "x"}, "did you mean \"--plot\"?"},
        {{"check", "--refrence"}, "did you mean \"--reference\"?"},
        {{"check", "--hlep"}, "did you mean \"--help\"?"},
        {{"check", "--nonsense"}, "unrecognized option '--nonsense'\nTry `tlmalloc check --help'"},
        {{"replay", "--s", "1"}, "option '--s' is ambiguous"}, // getopt's own
    });
}

BOOST_AUTO_TEST_CASE(a_word_that_belongs_to_an_option_is_no_option) {
    check_refused({{{"run", npu_small, "--set", "--jsno"}, "\"--jsno\": expected KEY=VALUE"},
                   {{"run", npu_small, "-s", "--jsno"}, "\"--jsno\": expected KEY=VALUE"}});
    // Behind -- it is a file; abbreviations are options.
    check_refused({{{"check", "--", "--jsno"}, "--jsno: error: cannot be read"}}, 1);
    BOOST_CHECK_EQUAL(run_tlmalloc({"check", "--ref"}).status, 0);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--kern=dma_read"}).status, 0);
}

BOOST_AUTO_TEST_CASE(a_misspelt_policy_pattern_mapping_kernel_or_value_gets_the_nearest_one) {
    check_refused({
        {{"replay", "t", "--capacity", "8", "--policy", "bestfit"}, "FRONT/PLACEMENT, did you mean \"best_fit\"?"},
        {{"age", "t", "--policy", "frist_fit"}, "offset_bins_rounded, did you mean \"first_fit\"?"},
        {{"traffic", hbm2, "--pattern", "rand_rd"}, "did you mean \"rand_rd1\"?"},
        {{"traffic", hbm2, "--pattern", "chase", "--map", "m4"}, "did you mean \"m1\"?"},
        {{"traffic", hbm2, "--pattern", "chase", "--map", "bg2,cl5"}, "character 5: expected m1, m2, m3 or one of"},
        {{"traffic", hbm2, "--pattern", "chase", "--map", "bg2,cl5"}, "did you mean \"co\"?"},
        {{"run", npu_small, "--kernel", "vectr_add"},
         "--kernel: found kernel 'vectr_add', expected one of:" + listed_kernels() + ", did you mean \"vector_add\"?"},
        {{"run", npu_small, "--set", "controller.hbm_policy=budy"}, "FRONT/PLACEMENT, did you mean \"buddy\"?"},
        {{"run", npu_small, "--set", "mmu.walk=falt"}, "did you mean \"flat\"?"},
        {{"run", npu_small, "--set", "hbm.timing=hmb2"}, "did you mean \"hbm2\"?"},
        {{"run", npu_small, "--set", "dmi.alow=true"}, "unknown key"},
    });
    check_refused({{{"reproduce", "neumu_ladder", "--from", experiments},
                    "xtrain_scaling_bridge, did you mean \"neummu_ladder\"?"}});
}

BOOST_AUTO_TEST_CASE(a_misspelt_word_in_an_experiment_gets_the_nearest_one) {
    scratch_directory scratch;
    const std::string rows = "rows:\n  - {label: a}\n";
    check_refused({
        {{"reproduce", scratch.write("1.yaml", "nmae: s\n")},
         "unknown key \"nmae\", expected name, about, unit, platform, "
         "set, workload, with, figures, long or rows, did you mean \"name\"?"},
        {{"reproduce", scratch.write("2.yaml", "workload: sream\n")}, "engine_requests, did you mean \"stream\"?"},
        {{"reproduce", scratch.write("3.yaml", "name: s\nunit: u\nworkload: stream\nwith: {byts: 1 KiB}\n" + rows)},
         "unknown parameter byts of workload stream, did you mean \"bytes\"?"},
        {{"reproduce", scratch.write("4.yaml", "name: s\nunit: u\nworkload: stream\nwith: {bytes: 1 KiB}\nrows:\n"
                                               "  - {label: a, publishd: 1}\n")},
         "did you mean \"published\"?"},
        {{"reproduce", scratch.write("5.yaml", "name: a/b\n")},
         ":1:7: error: name: found \"a/b\", expected a file name"},
    });
}

BOOST_AUTO_TEST_CASE(a_tab_in_the_indentation_of_yaml_is_named) {
    scratch_directory scratch;
    const std::string hint = ": found a tab in the indentation, did you mean spaces?\n";
    const std::string plain = scratch.write("1.yaml", "hbm:\n\tburst: 256 B\n");
    check_refused({
        {{"check", plain},
         plain +
             ":2:1: error: not YAML: found character that cannot start any token, while scanning "
             "for the next token" +
             hint},
        {{"check", scratch.write("2.yaml", "hbm:\n  burst: 256 B\n \tpseudo_channels: 8\n")}, hint},
        {{"run", scratch.write("3.yaml", "hbm:\n  \tburst: 256 B\n")}, hint},
        {{"traffic", scratch.write("4.yaml", "\ttck: 1 ns\n"), "--pattern", "chase"}, hint},
        {{"reproduce", scratch.write("5.yaml", "name: s\nrows:\n\t- a\n")}, hint},
    });
    // Elsewhere a tab is YAML.
    BOOST_CHECK_EQUAL(run_tlmalloc({"check", scratch.write("6.yaml", "hbm:\n  burst:\t256 B\t# so\n")}).status, 0);
    const command_result other = run_tlmalloc({"check", scratch.write("7.yaml", "hbm: {\n")});
    BOOST_CHECK_MESSAGE(contains(other.err, "not YAML") && !contains(other.err, "a tab"), other.err);
}

BOOST_AUTO_TEST_CASE(check_rejects_a_missing_kernel_with_its_place) {
    scratch_directory scratch;
    const std::string path = scratch.write("c.yaml", "workload:\n  kernel: vectoradd\nhbm:\n  brust: 1\n");
    const command_result both = run_tlmalloc({"check", path});
    BOOST_CHECK_EQUAL(both.status, 2);
    BOOST_CHECK_EQUAL(both.out, "");
    BOOST_CHECK_EQUAL(both.err, path + ":4:3: error: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?\n" + path +
                                    ":2:11: error: workload.kernel: found kernel 'vectoradd', expected one of:" +
                                    listed_kernels() + ", did you mean \"vector_add\"?\n");
    check_refused({{{"check", npu_small, "--set", "workload.kernel=relu"},
                    "--set: error: \"workload.kernel=relu\": workload.kernel: found kernel 'relu', expected one of"},
                   {{"run", path}, ":2:11: error: workload.kernel"}});
    // A kernel on the command line stands for the configuration's.
    const std::string unknown = scratch.write("u.yaml", "workload:\n  kernel: mine\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", unknown, "--kernel", "dma_read"}).status, 0);
    BOOST_CHECK_EQUAL(run_tlmalloc({"check", npu_small, "--set", "workload.kernel=dma_read"}).status, 0);
}

BOOST_AUTO_TEST_CASE(help_of_a_command_is_what_its_option_says) {
    const command_result all = run_tlmalloc({"help"});
    BOOST_CHECK_EQUAL(all.status, 0);
    BOOST_CHECK_EQUAL(all.out, run_tlmalloc({"--help"}).out);
    BOOST_CHECK_EQUAL(all.out, run_tlmalloc({"help", "help"}).out);
    for (const std::string name : {"run", "replay", "age", "explain", "traffic", "reproduce", "check"}) {
        BOOST_CHECK_MESSAGE(contains(all.out, "\n  " + name), all.out);
        const command_result run = run_tlmalloc({"help", name});
        BOOST_CHECK_EQUAL(run.status, 0);
        BOOST_CHECK_EQUAL(run.err, "");
        BOOST_CHECK_EQUAL(run.out, run_tlmalloc({name, "--help"}).out);
        BOOST_CHECK_MESSAGE(run.out.rfind("Usage: tlmalloc " + name, 0) == 0, run.out);
    }
}

BOOST_AUTO_TEST_CASE(a_key_without_its_section_gets_every_key_that_ends_with_it) {
    check_refused({{{"run", npu_small, "--set", "page_size=4 KiB"},
                    "unknown key \"page_size\", did you mean \"mmu.page_size\" or \"va.page_size\"?\n"},
                   {{"run", npu_small, "--set", "burst=512 B"}, "did you mean \"hbm.burst\"?\n"}});
}
