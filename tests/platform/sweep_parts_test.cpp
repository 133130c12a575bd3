// `tlmalloc sweep --slurm' and `--merge' without a cluster: scripts, parts that are taken together, and a Slurm that is
// made up where it must misbehave.
#include "platform/sweep_results.hpp"

using namespace sweeps;

namespace {

struct parts {
    scratch_directory scratch;
    std::string file, results = scratch.path("r.sqlite"), folder = results + ".tasks";

    parts() {
        scratch.write("buffers.csv", buffers);
        file = scratch.write("s.yaml", plans(100));
        std::filesystem::create_directories(scratch.path("bin"));
    }

    command_result sweep(std::vector<std::string> more, const std::string &into = "") const {
        std::vector<std::string> words{"sweep", file, "-o", into.empty() ? results : into};
        words.insert(words.end(), more.begin(), more.end());
        return run_tlmalloc(words);
    }

    // A program of the cluster that is none.
    void made_up(const std::string &name, const std::string &text) const {
        const std::string path = scratch.write("bin/" + name, "#!/bin/sh\n" + text);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    command_result sweep_there(const std::string &more) const {
        return run_shell("PATH=" + scratch.path("bin") + ":$PATH exec \"$tlmalloc\" sweep " + file + " -o " + results +
                         " --slurm " + more);
    }

    std::string whole() const {
        const std::string path = scratch.path("whole.sqlite");
        BOOST_REQUIRE_EQUAL(sweep({}, path).status, 0);
        return rows_of(path);
    }
};

// Runs the tasks of a script one after the other; its number is 7.
const std::string runs_tasks =
    "for last do :; done\ntasks=$(sed -n 's/^#SBATCH --array=1-//p' \"$last\")\nexport "
    "SLURM_ARRAY_JOB_ID=7\nfor t in $(seq \"$tasks\"); do SLURM_ARRAY_TASK_ID=$t sh \"$last\" "
    ">/dev/null 2>&1; done\necho 'sbatch: a warning'\necho '7;name'\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_dry_run_prints_a_script_whose_tasks_have_all_points_and_does_nothing) {
    const parts p;
    const command_result run =
        p.sweep({"--slurm", "--dry-run", "--sbatch", "--partition=long", "--task-points", "150", "--jobs", "3"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    for (const char *part : {"#SBATCH --array=1-3\n", "#SBATCH --partition=long\n", "#SBATCH --cpus-per-task=3\n",
                             "\n0-149\n150-299\n300-399\nEND\n", " --resume --jobs 3 --points \"$points\"\n"})
        BOOST_CHECK_MESSAGE(contains(run.out, part), part << " in\n" << run.out);
    BOOST_CHECK(!std::filesystem::exists(p.results) && !std::filesystem::exists(p.folder));
    BOOST_REQUIRE_EQUAL(p.sweep({"--points", "10-19,100"}).status, 0);
    const command_result rest = p.sweep({"--slurm", "--dry-run", "--resume"});
    BOOST_CHECK_MESSAGE(contains(rest.out, "\n0-9,20-99,101-399\nEND\n"), rest.out);
    // Short points: one task has them all. Ten thousand of a second each: a hundred.
    ask(p.results, "UPDATE point SET seconds = 0.5");
    BOOST_CHECK(contains(p.sweep({"--slurm", "--dry-run", "--resume"}).out, "# 200 points per task of 0.5 s each"));
}

BOOST_AUTO_TEST_CASE(parts_of_a_sweep_are_merged_whoever_ran_them) {
    const parts p;
    std::filesystem::create_directories(p.folder);
    const command_result nothing = p.sweep({"--merge"});
    BOOST_CHECK_EQUAL(nothing.status, 1);
    BOOST_CHECK_MESSAGE(
        contains(nothing.err, "400 points have no row yet, and 0 tasks are still writing; continue with --resume"),
        nothing.err);
    BOOST_REQUIRE_EQUAL(p.sweep({"--points", "0-199"}, p.folder + "/7_1.sqlite").status, 0);
    BOOST_REQUIRE_EQUAL(p.sweep({"--points", "150-399"}, p.folder + "/7_2.sqlite").status, 0);
    p.scratch.write("r.sqlite.tasks/7_3.sqlite", ""); // killed before it had made its file
    const command_result run = p.sweep({"--merge"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK(contains(run.out, "plans: 400 points, 400 of them in this run"));
    BOOST_CHECK_EQUAL(cell(p.results, "SELECT count(*) FROM point WHERE point >= 0"), "400");
    BOOST_CHECK(std::filesystem::is_empty(p.folder));
    // What is of another sweep stays where it is, and is told.
    const std::string other = p.scratch.write("other.yaml", plans(3));
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"sweep", other, "-o", p.folder + "/7_4.sqlite"}).status, 0);
    const command_result refused = p.sweep({"--merge"});
    BOOST_CHECK_EQUAL(refused.status, 2);
    BOOST_CHECK_MESSAGE(contains(refused.err, "7_4.sqlite: the results belong to another sweep"), refused.err);
    BOOST_CHECK(std::filesystem::exists(p.folder + "/7_4.sqlite"));
}

BOOST_AUTO_TEST_CASE(a_part_whose_task_was_killed_while_it_wrote_is_merged) {
    const parts p;
    std::filesystem::create_directories(p.folder);
    const std::string part = p.folder + "/7_1.sqlite";
    const running_command task({TLMALLOC_COMMAND, "sweep", p.file, "-o", part, "--jobs", "1"});
    for (int i = 0;
         i < 2000 && !(std::filesystem::exists(part + "-wal") && std::filesystem::file_size(part + "-wal") > 16384);
         i++)
        usleep(1000);
    const command_result during = p.sweep({"--merge"}); // it is being written to
    task.send(SIGKILL);
    task.wait();
    BOOST_CHECK_EQUAL(during.status, 1);
    const command_result after = p.sweep({"--merge"});
    BOOST_CHECK_MESSAGE(after.status == 1 || after.status == 0, after.err);
    BOOST_CHECK_GT(std::stoi(cell(p.results, "SELECT count(*) FROM point WHERE point >= 0")), 0);
    BOOST_CHECK(std::filesystem::is_empty(p.folder));
    BOOST_REQUIRE_EQUAL(p.sweep({"--resume"}).status, 0);
    BOOST_CHECK_EQUAL(rows_of(p.results), p.whole());
}

BOOST_AUTO_TEST_CASE(jobs_are_handed_in_until_every_point_has_a_row) {
    const parts p;
    p.made_up("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n");
    p.made_up("sbatch", runs_tasks);
    const command_result run = p.sweep_there("--task-points 100");
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(rows_of(p.results), p.whole());
    BOOST_CHECK(!std::filesystem::exists(p.folder));
}

BOOST_AUTO_TEST_CASE(a_cluster_that_makes_no_progress_is_reported) {
    const parts p;
    const auto told = [&](const command_result &run, int status, const std::string &why) {
        BOOST_CHECK_EQUAL(run.status, status);
        BOOST_CHECK_MESSAGE(contains(run.err, why), run.err);
    };
    told(run_shell("PATH=/nowhere exec \"$tlmalloc\" sweep " + p.file + " -o " + p.results + " --slurm"), 2,
         "--slurm: sbatch or squeue is missing: install Slurm's commands");
    BOOST_CHECK(!std::filesystem::exists(p.results));
    p.made_up("squeue", "exit 0\n");
    p.made_up("sbatch", "echo 'sbatch: error: no more jobs' >&2; exit 1\n");
    told(p.sweep_there(""), 2, "--slurm: sbatch rejected the job: sbatch: error: no more jobs");
    p.made_up("sbatch", "echo 9\n");
    told(p.sweep_there("--resume"), 1,
         "job 9 wrote no row, and 392 points have no row: read the output of its tasks in ");
    p.made_up("squeue", "echo 'PENDING launch failed requeued held'\n");
    told(p.sweep_there("--resume"), 1, "Slurm does not start job 9 (launch failed requeued held)");
    // The job is known: once it has ended, its points are asked for again.
    p.made_up("squeue", "exit 0\n");
    p.made_up("sbatch", runs_tasks);
    BOOST_CHECK_EQUAL(p.sweep_there("--resume").status, 0);
    BOOST_CHECK_EQUAL(rows_of(p.results), p.whole());
}

BOOST_AUTO_TEST_CASE(invalid_options_of_clusters_are_rejected) {
    const parts p;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--dry-run"}, "--sbatch, --task-points and --dry-run need --slurm"},
        {{"--slurm", "--task-points", "99"}, "--task-points: found '99', expected 100 or more"},
        {{"--slurm", "--sbatch", "short"}, "--sbatch: found 'short', expected an option of sbatch"},
        {{"--slurm", "--sbatch", "--a\nrm x"}, "expected an option of sbatch"},
        {{"--slurm", "--tune", "height"}, "--tune and --slurm exclude"},
        {{"--slurm", "--merge"}, "--merge excludes --tune, --slurm and --retry"},
        {{"--points", "5-3"}, "--points: found \"5-3\", expected points in ascending order"},
        {{"--points", "1,1"}, "--points: found \"1,1\", expected points in ascending order"},
        {{"--points", "1-"}, "--points: found \"1-\", expected points"},
        {{"--points", "3,400"}, "--points: found 400, expected a point below 400"},
    };
    for (const auto &[options, why] : cases) {
        const command_result run = p.sweep(options);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, why), run.err);
    }
    const std::string odd = p.scratch.path("a%b.sqlite");
    BOOST_CHECK_EQUAL(p.sweep({"--slurm", "--dry-run"}, odd).status, 2);
}
