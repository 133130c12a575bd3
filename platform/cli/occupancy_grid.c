/* A picture of occupancy over time. Whole numbers only, so that every machine draws the same. */
#include "cli/occupancy_grid.h"

#include "model/base/escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 600,
    ROWS = 300,
    CELL_PIXELS = 2,
    SUBCELLS = 256, /* edges are placed on this fraction of a cell */
    LEVELS = 8,     /* shades of occupation */
    LEFT = 90,      /* of the plot in the picture, pixels */
    TOP = 60,
    WIDTH = LEFT + COLUMNS * CELL_PIXELS + 30,
    HEIGHT = TOP + ROWS * CELL_PIXELS + 60
};

static const char *const shades[LEVELS] = {"#e3eef9", "#cfe1f2", "#b5d4e9", "#93c3df",
                                           "#6daed5", "#4b97c9", "#2f7ebc", "#08519c"};

static map_axis make_axis(uint64_t begin, uint64_t end) {
    map_axis made = {.begin = begin, .span = end > begin ? end - begin : 1};
    while (made.span >> made.shift >= UINT64_C(1) << 45)
        made.shift++;
    return made;
}

tla_status occupancy_grid_create(uint64_t first_ns, uint64_t last_ns, uint64_t lowest, uint64_t highest,
                                 occupancy_grid *grid, tla_error *error) {
    *grid = (occupancy_grid){.time = make_axis(first_ns, last_ns), .place = make_axis(lowest, highest)};
    grid->covered = calloc((size_t)COLUMNS * ROWS, sizeof *grid->covered);
    grid->marked = calloc(COLUMNS, sizeof *grid->marked);
    if (grid->covered && grid->marked) return TLA_OK;
    occupancy_grid_clear(grid);
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the map");
}

void occupancy_grid_clear(occupancy_grid *grid) {
    free(grid->covered);
    free(grid->marked);
    *grid = (occupancy_grid){0};
}

/* Where a value lies on an axis of `cells` cells, in subcells. */
static uint32_t subcell(const map_axis *axis, uint64_t value, uint32_t cells) {
    return (uint32_t)(((value - axis->begin) >> axis->shift) * cells * SUBCELLS / (axis->span >> axis->shift));
}

/* How much of cell i lies in [begin, end), in subcells. */
static uint32_t overlap(uint32_t i, uint32_t begin, uint32_t end) {
    uint32_t low = i * SUBCELLS > begin ? i * SUBCELLS : begin;
    uint32_t high = (i + 1) * SUBCELLS < end ? (i + 1) * SUBCELLS : end;
    return high > low ? high - low : 0;
}

void occupancy_grid_cover(occupancy_grid *grid, uint64_t low, uint64_t high, uint64_t from_ns, uint64_t to_ns) {
    uint32_t left = subcell(&grid->time, from_ns, COLUMNS), right = subcell(&grid->time, to_ns, COLUMNS);
    uint32_t bottom = subcell(&grid->place, low, ROWS), top = subcell(&grid->place, high, ROWS);
    for (uint32_t row = bottom / SUBCELLS; row < ROWS && row * SUBCELLS < top; row++) {
        uint32_t height = overlap(row, bottom, top);
        for (uint32_t column = left / SUBCELLS; column < COLUMNS && column * SUBCELLS < right; column++)
            grid->covered[row * COLUMNS + column] += height * overlap(column, left, right);
    }
}

void occupancy_grid_mark(occupancy_grid *grid, uint64_t time_ns) {
    uint32_t column = subcell(&grid->time, time_ns, COLUMNS) / SUBCELLS;
    grid->marked[column < COLUMNS ? column : COLUMNS - 1] = true;
    grid->marks++;
}

/* 0 for nothing, else 1 .. LEVELS. */
static uint32_t level_of(uint32_t covered) {
    if (covered == 0) return 0;
    uint32_t level = 1 + covered / (SUBCELLS * SUBCELLS / LEVELS);
    return level < LEVELS ? level : LEVELS;
}

/* One path a shade, made of rectangles one cell high. */
static void write_cells(FILE *out, const occupancy_grid *m) {
    fprintf(out, "<g transform=\"translate(%d %d) scale(%d -%d)\" shape-rendering=\"crispEdges\">\n", LEFT,
            TOP + ROWS * CELL_PIXELS, CELL_PIXELS, CELL_PIXELS);
    for (uint32_t level = 1; level <= LEVELS; level++) {
        fprintf(out, "<path fill=\"%s\" d=\"", shades[level - 1]);
        for (uint32_t row = 0; row < ROWS; row++) {
            const uint32_t *cells = m->covered + row * COLUMNS;
            for (uint32_t begin = 0, end; begin < COLUMNS; begin = end) {
                end = begin + 1;
                while (end < COLUMNS && level_of(cells[end]) == level_of(cells[begin]))
                    end++;
                if (level_of(cells[begin]) == level)
                    fprintf(out, "M%" PRIu32 " %" PRIu32 "h%" PRIu32 "v1h-%" PRIu32 "z", begin, row, end - begin,
                            end - begin);
            }
        }
        fputs("\"/>\n", out);
    }
    fputs("</g>\n", out);
}

static void write_marks(FILE *out, const occupancy_grid *m) {
    fprintf(out, "<path stroke=\"#c0392b\" stroke-width=\"%d\" d=\"", CELL_PIXELS);
    for (uint32_t column = 0; column < COLUMNS; column++)
        if (m->marked[column])
            fprintf(out, "M%" PRIu32 " %dv-8", LEFT + column * CELL_PIXELS + CELL_PIXELS / 2, TOP - 2);
    fputs("\"/>\n", out);
}

static void write_text(FILE *out, const char *from_outside) {
    char shown[1024];
    tla_escape(from_outside, strlen(from_outside), shown, sizeof shown);
    for (const char *text = shown; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else
            fputc(*text, out);
    }
}

/* A step of 1, 2 or 5 times a power of ten, so that there are at most ten on the span. */
static uint64_t decimal_step(uint64_t span) {
    uint64_t step = 1;
    for (;;) {
        for (uint64_t factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3) /* 1, 2, 5 */
            if (span / (step * factor) < 10) return step * factor;
        step *= 10;
    }
}

static uint64_t binary_step(uint64_t span) {
    uint64_t step = 1;
    while (span / step >= 10)
        step *= 2;
    return step;
}

typedef struct tick_unit {
    uint64_t size;
    const char *name;
} tick_unit;

static const tick_unit time_units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
static const tick_unit byte_units[] = {
    {UINT64_C(1) << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};

static const tick_unit no_unit = {1, ""};

/* The largest unit that a step is a multiple of. */
static const tick_unit *unit_of(const tick_unit *units, uint64_t step) {
    while (step % units->size)
        units++;
    return units;
}

/* Time counts from the first event, places from 0. */
static void write_ticks(FILE *out, const occupancy_grid *m, bool bytes) {
    uint64_t step = decimal_step(m->time.span);
    const tick_unit *u = unit_of(time_units, step);
    int bottom = TOP + ROWS * CELL_PIXELS;
    for (uint64_t n = 0; n <= m->time.span / step; n++) { /* n * step does not wrap, whatever the span */
        uint64_t t = n * step;
        uint32_t x = LEFT + subcell(&m->time, m->time.begin + t, COLUMNS) * CELL_PIXELS / SUBCELLS;
        fprintf(out,
                "<path d=\"M%" PRIu32 " %dv6\" stroke=\"black\"/><text x=\"%" PRIu32
                "\" y=\"%d\" text-anchor=\"middle\">%" PRIu64 " %s</text>\n",
                x, bottom, x, bottom + 20, t / u->size, u->name);
    }
    step = bytes ? binary_step(m->place.span) : decimal_step(m->place.span);
    u = bytes ? unit_of(byte_units, step) : &no_unit;
    uint64_t first = (m->place.begin + step - 1) / step * step;
    for (uint64_t a = first; a - m->place.begin <= m->place.span; a += step) {
        uint32_t y = (uint32_t)bottom - subcell(&m->place, a, ROWS) * CELL_PIXELS / SUBCELLS;
        fprintf(out,
                "<path d=\"M%d %" PRIu32 "h-6\" stroke=\"black\"/><text x=\"%d\" y=\"%" PRIu32
                "\" text-anchor=\"end\">%" PRIu64 "%s%s</text>\n",
                LEFT, y, LEFT - 10, y + 4, a / u->size, *u->name ? " " : "", u->name);
    }
}

static void write_legend(FILE *out, const char *mark) {
    int x = LEFT + COLUMNS * CELL_PIXELS - 320, y = 26;
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">occupied: 0 %%</text>\n", x - 6, y + 10);
    for (int level = 0; level < LEVELS; level++)
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"16\" height=\"12\" fill=\"%s\"/>\n", x + 16 * level, y,
                shades[level]);
    fprintf(out, "<text x=\"%d\" y=\"%d\">100 %%</text>\n", x + 16 * LEVELS + 6, y + 10);
    if (mark)
        fprintf(out, "<path stroke=\"#c0392b\" stroke-width=\"2\" d=\"M%d %dv10\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                x + 200, y + 1, x + 208, y + 10, mark);
}

static void write_frame(FILE *out, const occupancy_grid *m, const occupancy_labels *labels) {
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"black\"/>\n", LEFT, TOP,
            COLUMNS * CELL_PIXELS, ROWS * CELL_PIXELS);
    fprintf(out, "<text x=\"%d\" y=\"20\" font-size=\"15\">", LEFT);
    write_text(out, labels->title);
    fputs("</text>\n", out);
    write_ticks(out, m, labels->bytes);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", LEFT + COLUMNS * CELL_PIXELS / 2,
            HEIGHT - 16, labels->time);
    fprintf(out, "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            TOP + ROWS * CELL_PIXELS / 2, labels->place);
    write_legend(out, m->marks ? labels->mark : NULL);
}

void occupancy_grid_write(FILE *out, const occupancy_grid *grid, const occupancy_labels *labels) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\" stroke=\"none\">\n<rect width=\"%d\" height=\"%d\" "
            "fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    write_cells(out, grid);
    write_marks(out, grid);
    write_frame(out, grid, labels);
    fputs("</svg>\n", out);
}
