// Linked into bad: as instrumented as its program is, or not.
void count_unseen();
void count_unseen() {
    static int count;
    ++count;
}
