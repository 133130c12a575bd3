/* The same on a host. */
#include <stdio.h>

void print(const char *text, unsigned length);
int run(void);

void print(const char *text, unsigned length) {
    fwrite(text, 1, length, stdout);
}

int main(void) {
    return run();
}
