// `tlmalloc sweep --slurm' on a real Slurm of one node, which each test starts for itself: munged, slurmctld and
// slurmd. Skipped where they are not installed (slurm-wlm, munge; tests/run --slurm).
#include "platform/sweep_results.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

using namespace sweeps;

namespace {

bool has_slurm() {
    const bool here =
        run_shell("for c in munged slurmctld slurmd sbatch squeue; do command -v $c || exit 1; done").status == 0;
    if (!here) BOOST_TEST_MESSAGE("test skipped: Slurm is not here");
    return here;
}

void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

class cluster {
  public:
    cluster() {
        std::string conf = read_text(TLMALLOC_SOURCE_DIR "/tests/platform/slurm.conf");
        const int port = 20000 + 2 * (getpid() % 10000);
        const std::pair<std::string, std::string> words[] = {{"CONTROLLER_PORT", std::to_string(port)},
                                                             {"NODE_PORT", std::to_string(port + 1)},
                                                             {"NODE", line("hostname -s")},
                                                             {"USER", line("id -un")},
                                                             {"RUN", run_.path(".")}};
        // the remark at its beginning stays as it is
        const std::size_t begin = conf.find("\nClusterName");
        for (const auto &[word, text] : words)
            for (std::size_t at = begin; (at = conf.find(word, at)) != std::string::npos; at += text.size())
                if (word != "NODE" || conf.compare(at, 8, "NodeName") != 0) conf.replace(at, word.size(), text);
        setenv("SLURM_CONF", run_.write("slurm.conf", conf).c_str(), 1);
        shell("cd " + run_.path(".") +
              " && mkdir munge state spool && chmod 711 . munge && "
              "head -c 128 /dev/urandom > munge/key && chmod 600 munge/key && munged --force --key-file=$PWD/munge/key "
              "--socket=$PWD/munge/socket --pid-file=$PWD/munge/pid --log-file=$PWD/munge/log "
              "--seed-file=$PWD/munge/seed && slurmctld -c");
        start_node();
    }
    cluster(const cluster &) = delete;
    cluster &operator=(const cluster &) = delete;
    ~cluster() {
        run_shell("scancel --user=$(id -un); sleep 1");
        lose_node();
        for (const char *name : {"slurmctld.pid", "munge/pid"})
            end_process(run_.path(name));
    }

    // These tests need no control groups, and a container has none. slurmd then needs a plugin that starts without
    // them; its name depends on the version: cgroup/v1 or disabled.
    void start_node() {
        run_.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n");
        if (run_shell("slurmd").status != 0) {
            run_.write("cgroup.conf", "CgroupPlugin=disabled\n");
            shell("slurmd || { tail -n 5 " + run_.path("slurmd.log") + "; false; }");
        }
        wait_for("idle");
    }

    // Until the node is so; something else that it may be is for the test to find.
    static void wait_for(const std::string &state) {
        for (int i = 0; i < 150 && line("sinfo --noheader --format=%t") != state; i++)
            sleep_ms(100);
    }

    // slurmd, its steps and what runs in them, all at once: as if its machine had lost its power.
    void lose_node() {
        end_process(run_.path("slurmd.pid"));
        for (const auto &entry : std::filesystem::directory_iterator("/proc"))
            if (belongs(entry.path())) kill(std::stoi(entry.path().filename().string()), SIGKILL);
    }

    // Every process that has this word in its command line, as those of a task have the name of its file.
    static int kill_all_with(const std::string &word) {
        int killed = 0;
        for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") == std::string::npos &&
                contains(file_of(entry.path() / "cmdline"), word) && std::stoi(name) != getpid())
                killed += kill(std::stoi(name), SIGKILL) == 0;
        }
        return killed;
    }

    static std::string line(const std::string &command) {
        std::string out = run_shell(command).out;
        return out.substr(0, out.find_first_of(" \n"));
    }

  private:
    static void shell(const std::string &command) {
        const command_result done = run_shell(command);
        BOOST_REQUIRE_MESSAGE(done.status == 0, command + "\n" + done.out + done.err);
    }
    static std::string file_of(const std::filesystem::path &path) {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // A process that slurmd has started, by the configuration in its environment.
    bool belongs(const std::filesystem::path &process) const {
        const std::string name = process.filename().string();
        return name.find_first_not_of("0123456789") == std::string::npos && std::stoi(name) != getpid() &&
               (contains(file_of(process / "cmdline"), "slurmstepd") ||
                contains(file_of(process / "environ"), "SLURM_JOB_ID=")) &&
               contains(file_of(process / "environ"), run_.path("slurm.conf"));
    }
    static void end_process(const std::string &pid_file) {
        const std::string text = file_of(pid_file);
        if (!text.empty()) kill(std::stoi(text), SIGKILL);
    }
    scratch_directory run_;
};

// Points of some milliseconds, a seed each.
std::string points(int count, int reads) {
    std::string seeds;
    for (int i = 1; i <= count; i++)
        seeds += (i > 1 ? ", " : "") + std::to_string(i);
    return "name: reads\ncommand: traffic\nplatform: " TLMALLOC_SOURCE_DIR
           "/configs/timing/hbm2.yaml\nset: {--pattern: rand_rd1, --count: " +
           std::to_string(reads) + "}\nkeys: [{key: --seed, values: [" + seeds +
           "]}]\nfigures: {bandwidth: bandwidth_gb_s, hits: row_hits}\n";
}

command_result sweep(const std::string &file, const std::string &results, std::vector<std::string> more) {
    std::vector<std::string> words{"sweep", file, "-o", results};
    words.insert(words.end(), more.begin(), more.end());
    return run_tlmalloc(words);
}

// Waits until a task has written rows, so that something is lost and something stays.
void wait_for_rows(const std::string &results) {
    for (int i = 0; i < 400; i++, sleep_ms(50)) {
        std::error_code ignored;
        for (const auto &entry : std::filesystem::directory_iterator(results + ".tasks", ignored))
            if (contains(entry.path().string(), ".sqlite") && entry.file_size(ignored) > 8192) return;
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_sweep_on_slurm_has_the_rows_of_one_on_this_machine) {
    if (!has_slurm()) return;
    const cluster one;
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", points(400, 1000)), here = scratch.path("here.sqlite"),
                      there = scratch.path("there.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, here, {"--jobs", "2"}).status, 0);
    const command_result refused = sweep(file, there, {"--slurm", "--sbatch", "--partition=none"});
    BOOST_CHECK_EQUAL(refused.status, 2);
    BOOST_CHECK_MESSAGE(contains(refused.err, "the job is refused: sbatch: error: invalid partition specified: none"),
                        refused.err);
    const command_result run =
        sweep(file, there, {"--resume", "--slurm", "--task-points", "100", "--sbatch", "--partition=short"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_MESSAGE(contains(run.out, "reads: 400 points, 392 of them in this run in "),
                        run.out); // 8 were measured before
    BOOST_CHECK_EQUAL(rows_of(there), rows_of(here));
    BOOST_CHECK(!std::filesystem::exists(there + ".tasks"));
}

BOOST_AUTO_TEST_CASE(killed_tasks_a_node_that_goes_away_and_a_command_that_is_killed_lose_no_row) {
    if (!has_slurm()) return;
    cluster one;
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", points(500, 20000)), here = scratch.path("here.sqlite"),
                      there = scratch.path("there.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, here, {"--jobs", "2"}).status, 0);
    std::vector<std::string> words{TLMALLOC_COMMAND, "sweep", file, "-o", there, "--slurm", "--task-points", "100"};
    {
        const running_command first(words);
        wait_for_rows(there);
        BOOST_CHECK_GT(cluster::kill_all_with("_1.sqlite"), 0); // seen by its points, which have no row
        first.send(SIGKILL);                                    // the job goes on
        first.wait();
    }
    words.emplace_back("--resume");
    const running_command second(words); // waits for that job
    sleep_ms(1000);
    one.lose_node();
    one.wait_for("down*"); // Slurm gives it up, and what ran there waits for another
    BOOST_CHECK_EQUAL(cluster::line("sinfo --noheader --format=%t"), "down*");
    one.start_node();
    const command_result run = second.wait();
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(rows_of(there), rows_of(here));
    BOOST_CHECK(!std::filesystem::exists(there + ".tasks"));
}

BOOST_AUTO_TEST_CASE(two_thousand_points_are_the_same_rows_however_they_are_run) {
    if (!has_slurm()) return;
    const cluster one;
    scratch_directory scratch;
    const std::string file = scratch.write("s.yaml", points(2000, 3000)), here = scratch.path("here.sqlite"),
                      there = scratch.path("there.sqlite"), parts = scratch.path("parts.sqlite");
    BOOST_REQUIRE_EQUAL(sweep(file, here, {"--jobs", "2"}).status, 0);
    for (const int signal : {SIGINT, SIGTERM}) { // interrupted and resumed, twice
        const running_command run({TLMALLOC_COMMAND, "sweep", file, "-o", parts, "--jobs", "2", "--resume"});
        sleep_ms(1000);
        run.send(signal);
        BOOST_CHECK_EQUAL(run.wait().status, 1000 + signal);
    }
    BOOST_CHECK_LT(std::stoi(cell(parts, "SELECT count(*) FROM point")), 2000);
    BOOST_REQUIRE_EQUAL(sweep(file, parts, {"--resume", "--jobs", "2"}).status, 0);
    BOOST_CHECK(rows_of(parts) == rows_of(here));
    const running_command run({TLMALLOC_COMMAND, "sweep", file, "-o", there, "--slurm", "--task-points", "250"});
    wait_for_rows(there);
    BOOST_CHECK_GT(cluster::kill_all_with("_1.sqlite"), 0);
    const command_result ended = run.wait();
    BOOST_CHECK_MESSAGE(ended.status == 0, ended.err);
    BOOST_CHECK(rows_of(there) == rows_of(here));
}
