"""The static inventory of atomic sites: what the scanner finds in a header, and how it compares with what ran."""

from __future__ import annotations

import re
import unittest

from apiary_cli.verify import inventory

HEADER = '''// a.load(std::memory_order_seq_cst) in a comment
#include <apiary/sync/real_sync.hpp>
namespace apiary {
template <class Sync = real_sync>
class [[nodiscard]] box {
public:
    box() : limit_{3}, used_(0) { word_.store(0, std::memory_order_relaxed); }
    ~box() {
        if (word_.load(std::memory_order_relaxed) != 0) Sync::fail("word_.load(std::memory_order_acquire)");
    }
    bool take(unsigned i) {
        word seen{slots_[index(i, 1)].value.load(std::memory_order_acquire)};
        while (!this->word_.compare_exchange_weak(seen, next(seen),  // why
                                                  std::memory_order_acq_rel, std::memory_order_relaxed)) {
            Sync::fence(std::memory_order_seq_cst);
        }
        auto later = [&](int n) { return word_.load(std::memory_order_relaxed) + n; };
        return word_.load(std::memory_order_relaxed) != 0 && Sync::recheck("box.word");
    }
    void add(unsigned n) {
        word_.store(word_.load(std::memory_order_relaxed) + n, std::memory_order_release);
    }

private:
    typename Sync::template atomic<word> word_;
    unsigned old = std::exchange(used_, 1);
};
}  // namespace apiary
'''


def scanned(text: str, file: str = "impl/box.hpp") -> list[inventory.Item]:
    items, wrong = inventory.scan(file, text)
    if wrong:
        raise AssertionError(wrong)
    return items


class Scanning(unittest.TestCase):
    def test_every_operation_is_found_with_its_place_order_and_function(self) -> None:
        found = [(i.line, i.operation, i.order, i.function) for i in scanned(HEADER)]
        self.assertEqual(found, [
            (7, "store", "relaxed", "box::box"),
            (9, "load", "relaxed", "box::~box"),
            (12, "load", "acquire", "box::take"),
            (13, "compare_exchange_weak", "acq_rel", "box::take"),
            (13, "compare_exchange_weak.failure", "relaxed", "box::take"),
            (15, "fence", "seq_cst", "box::take"),
            (17, "load", "relaxed", "box::take"),
            (18, "load", "relaxed", "box::take"),
            (18, "recheck", "kept", "box::take"),
            (21, "store", "release", "box::add"),
            (21, "load", "relaxed", "box::add"),
        ])

    def test_the_column_is_that_of_the_parenthesis(self) -> None:
        lines = HEADER.splitlines()
        for item in scanned(HEADER):
            self.assertEqual(lines[item.line - 1][item.column - 1], "(")

    def test_a_call_is_known_by_its_text_and_its_number_in_the_function(self) -> None:
        codes = [i.code for i in scanned(HEADER)]
        self.assertIn("slots_[index(i, 1)].value.load(std::memory_order_acquire)", codes)
        self.assertIn("this->word_.compare_exchange_weak(seen, next(seen), std::memory_order_acq_rel, "
                      "std::memory_order_relaxed)", codes)
        self.assertEqual(codes.count("word_.load(std::memory_order_relaxed) #2"), 1)

    def test_lines_above_do_not_change_what_a_site_is_known_by(self) -> None:
        def known(text: str) -> list[tuple]:
            return [(i.function, i.code, i.operation) for i in scanned(text)]

        self.assertEqual(known(HEADER), known("\n\n// more\n" + HEADER.replace("    void add", "\n\n    void add")))

    def test_what_no_engine_can_run_is_left_out_by_rule(self) -> None:
        self.assertTrue(all(i.real_only for i in scanned("#include <thread>\n" + HEADER)))
        real = HEADER.replace("class [[nodiscard]] box", "    requires(!Sync::checked)\nclass box")
        self.assertTrue(all(i.real_only for i in scanned(real)))
        for policy in ("Sync", "sync"):     # a parameter of the template, or a name for its parameter's policy
            branch = HEADER.replace("while (", f"if constexpr (!{policy}::checked) {{ word_.store(1, std::memory_order_relaxed); }} while (")
            self.assertEqual([i.operation for i in scanned(branch) if i.real_only], ["store"], policy)
            alone = branch.replace("{ word_.store(1, std::memory_order_relaxed); }", "word_.store(1, std::memory_order_relaxed);")
            self.assertNotEqual(alone, branch)
            self.assertEqual([i.operation for i in scanned(alone) if i.real_only], ["store"], policy)
        self.assertEqual(scanned("std::atomic<int> own_{0}, more_{0};\nint f() { return more_.load(std::memory_order_relaxed)"
                                 " + own_.exchange(1, std::memory_order_relaxed); }\n"), [])

    def test_asymmetric_fences_are_sites_whose_name_is_their_order(self) -> None:
        found = scanned("void f() {\n    Sync::fence_light();\n    S::fence_heavy();\n    fence_lighter();\n}\n")
        self.assertEqual([(i.line, i.column, i.operation, i.order, i.code) for i in found], [
            (2, 22, "fence_light", "seq_cst", "Sync::fence_light()"), (3, 19, "fence_heavy", "seq_cst", "S::fence_heavy()")])
        for item in found:
            self.assertEqual(inventory.parse(item.name), (item.file, item.line, item.column, item.operation))

    def test_macros_and_unnamed_rechecks_are_wrong(self) -> None:
        for text, told in (("#define LOAD(a) a.load(std::memory_order_relaxed)\n", "in a macro"),
                           ("bool f() { return Sync::recheck(name); }\n", "is one literal"),
                           ("void f() { Sync::fence(order); }\n", "needs 1 written memory order")):
            with self.subTest(told):
                self.assertIn(told, " ".join(inventory.scan("impl/x.hpp", text)[1]))

    def test_the_real_headers_are_read_whole(self) -> None:
        items, wrong = inventory.read()
        self.assertEqual(wrong, [])
        self.assertGreater(len(items), 50)
        self.assertEqual([item for item in items if not item.function], [], "every site stands in a function")
        pattern = re.compile(r"(?:\.|->)(?:load|store|exchange|fetch_\w+|compare_exchange_\w+)\([^;]*memory_order")
        for path in inventory.headers():
            text = inventory.blanked(path.read_text())
            count = sum(1 for item in items if item.file.endswith("/" + path.name) and item.operation not in
                        ("fence", "recheck") and not item.operation.endswith(inventory.FAILURE))
            if "std::atomic" not in text:
                self.assertGreaterEqual(count, len(pattern.findall(text)), path.name)


class Comparing(unittest.TestCase):
    def compared(self, executed: dict[str, set[str]]):
        return inventory.compare(scanned(HEADER), executed)

    def executed(self) -> dict[str, set[str]]:
        return {item.name: {item.order} for item in scanned(HEADER)}

    def test_all_that_stands_there_ran(self) -> None:
        ran, never, wrong = self.compared(self.executed())
        self.assertEqual((len(ran), never, wrong), (len(scanned(HEADER)), [], []))

    def test_a_site_that_no_check_executes_is_told(self) -> None:
        executed = self.executed()
        executed.pop(next(name for name in executed if name.endswith(":fence")))
        executed.pop("recheck:box.word")
        _, never, _ = self.compared(executed)
        self.assertEqual([item.operation for item in never], ["fence", "recheck"])

    def test_an_executed_site_that_is_not_there_is_told(self) -> None:
        executed = self.executed() | {"impl/box.hpp:22:9:store": {"relaxed"}, "impl/box.hpp:23:9:park": {"relaxed"},
                                      "model_check/x.cpp:1:1:load": {"relaxed"}, "recheck:a_check.own": {"kept"}}
        _, _, wrong = self.compared(executed)
        self.assertEqual(wrong, ["impl/box.hpp:22:9:store is executed, and the inventory does not know it"])

    def test_two_operations_at_one_place_are_told(self) -> None:
        executed = self.executed()
        name = next(name for name in executed if name.endswith(":fence"))
        for more in ({name.replace("fence", "load"): {"relaxed"}}, {name: {"seq_cst", "release"}}):
            _, _, wrong = self.compared(executed | more)
            self.assertTrue(any("two operations at one place" in sentence for sentence in wrong), wrong)

    def test_another_compilers_columns_are_matched_by_their_order(self) -> None:
        shifted = {}
        for name, orders in self.executed().items():
            if name.startswith("impl/"):
                file, line, column, operation = name.rsplit(":", 3)
                name = f"{file}:{line}:{int(column) - 5}:{operation}"
            shifted[name] = orders
        ran, never, wrong = self.compared(shifted)
        self.assertEqual((len(ran), never, wrong), (len(scanned(HEADER)), [], []))


if __name__ == "__main__":
    unittest.main()
