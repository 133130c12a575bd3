// Bars of an experiment, by gnuplot.
#include "experiments/experiment_plot.hpp"

#include "cli/gnuplot.h"
#include "cli/output.h"

#include <algorithm>
#include <cmath>

namespace tlmalloc {

namespace {

// The rows of one panel: of one unit, or of one figure.
struct panel {
    std::string unit;
    std::vector<std::size_t> rows;
};

std::vector<panel> panels_of(const experiment &e) {
    std::vector<panel> panels;
    for (std::size_t i = 0; i < e.rows.size(); i++) {
        const std::string unit = (e.all_figures ? e.figure_name(e.rows[i]) + ", " : "") + e.rows[i].unit;
        const auto same = [&](const panel &p) { return p.unit == unit; };
        auto found = std::find_if(panels.begin(), panels.end(), same);
        if (found == panels.end()) found = panels.insert(found, panel{unit, {}});
        found->rows.push_back(i);
    }
    return panels;
}

// A block of lines for each panel.
std::string plot_data(const experiment &e, const std::vector<experiment_result> &results) {
    std::string data;
    for (const panel &p : panels_of(e)) {
        if (!data.empty()) data += "\n\n";
        for (const std::size_t i : p.rows) {
            char line[160];
            std::snprintf(line, sizeof line, "\"%.80s\" %.9g ", e.rows[i].label.c_str(), results[i].model);
            data += line;
            std::snprintf(line, sizeof line, e.rows[i].reference ? "%.9g\n" : "NaN\n", e.rows[i].reference.value_or(0));
            data += line;
        }
    }
    return data;
}

// The axis of values: from 0, or by decades where positive values lie two decades apart; room for the numbers above the
// bars. A zero has no bar on an axis of decades; its number shows it.
std::string plot_axis(const experiment &e, const panel &p, const std::vector<experiment_result> &results) {
    double least = 0, most = 0;
    const auto look = [&](double value) {
        if (!(value > 0)) return; // nothing to draw, or none
        least = least > 0 ? std::min(least, value) : value;
        most = std::max(most, value);
    };
    for (const std::size_t i : p.rows) {
        look(results[i].model);
        look(e.rows[i].reference.value_or(0));
    }
    char text[160];
    if (most <= 0)
        std::snprintf(text, sizeof text, "floor = 0\nset yrange [0:1]\n");
    else if (most < 100 * least)
        std::snprintf(text, sizeof text, "floor = 0\nset yrange [0:%.9g]\n", 1.15 * most);
    else
        std::snprintf(text, sizeof text, "set logscale y\nfloor = %.9g\nset yrange [floor:%.9g]\n",
                      std::pow(10, std::floor(std::log10(least / 1.5))), 3 * most);
    return text;
}

// `to`: a command for the destination of the picture; `from`: the place of the data.
std::string plot_script(const experiment &e, const std::vector<experiment_result> &results, const std::string &to,
                        const std::string &from) {
    const std::vector<panel> panels = panels_of(e);
    std::size_t most = 0;
    for (const panel &p : panels)
        most = std::max(most, p.rows.size());
    const std::size_t bar = e.all_figures ? 60 : 110, height = e.all_figures ? 420 : 560;
    const std::size_t width = std::max<std::size_t>(900, 160 + bar * most);
    const auto numbers = [](const std::string &index, const char *column, const char *aside) {
        return ", ''" + index + " using ($0" + aside + "):($" + column + " > floor ? $" + column +
               " : floor):(sprintf('%.4g', $" + column + ")) with labels offset 0,0.6 font ',8' notitle";
    };
    std::string script =
        "set terminal svg size " + std::to_string(width) + "," + std::to_string(height * panels.size()) +
        " noenhanced\n" + to +
        "set style data histogram\nset style histogram clustered gap 1\nset style fill solid 0.6\nset key outside "
        "top center horizontal\n"
        "set xtics rotate by 30 right font ',10'\nset bmargin 10\nset lmargin 16\nset rmargin 4\nset grid ytics\n";
    if (panels.size() > 1) script += "set multiplot layout " + std::to_string(panels.size()) + ",1\n";
    for (std::size_t i = 0; i < panels.size(); i++) {
        const std::string index = " index " + std::to_string(i);
        if (i > 0) script += "unset logscale y\n";
        script += plot_axis(e, panels[i], results) + "set ylabel '" + panels[i].unit + "'\nset title '" + e.name +
                  "'\nplot " + from + index + " using 2:xtic(1) title 'model'" + numbers(index, "2", " - 0.17");
        const auto compared = [&](std::size_t row) { return e.rows[row].reference.has_value(); };
        if (std::any_of(panels[i].rows.begin(), panels[i].rows.end(), compared)) // bars of nothing are an error
            script += ", ''" + index + " using 3 title 'reference'" + numbers(index, "3", " + 0.17");
        script += "\n";
    }
    return script + (panels.size() > 1 ? "unset multiplot\n" : "");
}

} // namespace

tla_status open_plot(const std::string &directory, const experiment &e, bool picture, plot_files &files,
                     tla_error &error) {
    const std::string stem = directory + "/" + e.name;
    tla_status status = output_open("--plot", (stem + ".dat").c_str(), &files.data, &error);
    if (!status) status = output_open("--plot", (stem + ".gp").c_str(), &files.script, &error);
    if (!status && picture) status = output_open("--plot", (stem + ".svg").c_str(), &files.picture, &error);
    return status;
}

// The files for a user name one another; gnuplot, here, gets the data in its script and draws to a pipe.
bool plot(const plot_files &files, const experiment &e, const std::vector<experiment_result> &results) {
    const std::string data = plot_data(e, results);
    std::fputs(data.c_str(), files.data);
    std::fputs(plot_script(e, results, "set output '" + e.name + ".svg'\n", "'" + e.name + ".dat'").c_str(),
               files.script);
    if (!files.picture) {
        std::fprintf(stderr, "tlmalloc reproduce: gnuplot is missing: %s.dat and .gp are written, .svg is not\n",
                     e.name.c_str());
        return true;
    }
    const std::string script = "$data << END_OF_DATA\n" + data + "END_OF_DATA\n" + plot_script(e, results, "", "$data");
    const bool good = gnuplot_draw(script.c_str(), files.picture);
    if (!good) {
        output_drop(files.picture);
        std::fprintf(stderr, "tlmalloc reproduce: gnuplot failed on %s.gp\n", e.name.c_str());
    }
    return good;
}

} // namespace tlmalloc
